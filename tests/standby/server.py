"""The program, loaded once: `python server.py SOCKET` forks it for each call that client.py hands on.

Hundreds of tests type commands, and most of the time of a small command goes into loading numpy, Arrow and scipy. A
child of this process is a process of its own: with the caller's descriptors, environment, folder, group and signals, it
runs `pcatool.cli.main` and ends as that ends. `pytest --real-starts` does without, and `.ci/run` does both.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable

DESCRIPTORS = 200  # more than these are not handed on at a time
ABOVE = 500  # where they are kept until each is put in its place

# What the program loads besides its own modules, where a command asks for it.
MORE = """
    concurrent.futures ctypes difflib json numpy.lib.format numpy.random pandas pyarrow.compute pyarrow.csv pyarrow.fs
    pyarrow.parquet rich.console rich.progress rich.table scipy.linalg scipy.optimize scipy.sparse.linalg
    scipy.spatial.distance scipy.special typer zipfile matplotlib.figure matplotlib.backends.backend_agg
    matplotlib.backends.backend_svg matplotlib.backends.backend_pdf matplotlib.font_manager
"""


def load() -> Callable[[], None]:
    """Everything, and nothing run yet."""
    from pcatool.cli.signals import set_environment

    set_environment()
    import pcatool

    for module in pkgutil.walk_packages(pcatool.__path__, "pcatool."):
        if not module.name.startswith(("pcatool.engines.dask", "pcatool.engines.spark", "pcatool.__main__")):
            importlib.import_module(module.name)
    for name in MORE.split():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    from pcatool.cli import main

    return main


def serve(place: str, main: Callable[[], None]) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(100)
    noticed, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(noticed, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(noticed, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)  # whose end is that of the tests
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    call, _ = listener.accept()
                    child = start(call, main)
                    running[child] = call
                    selector.register(call, selectors.EVENT_READ, child)
                elif key.fileobj is noticed:
                    os.read(noticed, 100)
                elif key.fileobj is sys.stdin:
                    return
                elif key.data in running:  # the caller was killed
                    os.kill(key.data, signal.SIGKILL)
                    selector.unregister(key.fileobj)
            while running:
                child, status = os.waitpid(-1, os.WNOHANG)
                if not child:
                    break
                call = running.pop(child)
                if call in selector.get_map():
                    selector.unregister(call)
                    call.sendall(b"%d\n" % status)
                call.close()


def start(call: socket.socket, main: Callable[[], None]) -> int:
    """A child for a call; it tells the caller its number."""
    head, descriptors, _, _ = socket.recv_fds(call, 1 << 16, DESCRIPTORS)
    size, _, text = head.partition(b"\n")
    while len(text) < int(size):
        text += call.recv(1 << 20)
    assert threading.active_count() == 1, "a process with threads is not forked"
    child = os.fork()
    if child:
        for descriptor in descriptors:
            os.close(descriptor)
        call.sendall(b"%d\n" % child)
        return child
    try:
        become(text.split(b"\0\0"), descriptors)
        main()
    finally:  # of an error that the program did not catch, too
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        os._exit(1)


def become(told: list[bytes], descriptors: list[int]) -> None:
    """What the caller is."""
    numbers, words, environment, folder, ignored, others = (
        [part for part in text.split(b"\0") if part] for text in told
    )
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, ABOVE + number)
    os.closerange(0, ABOVE)
    for number, wanted in enumerate(numbers):
        os.dup2(ABOVE + number, int(wanted))
    os.closerange(ABOVE, ABOVE + len(descriptors))
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in ignored:
        signal.signal(int(number), signal.SIG_IGN)
    group, mask = map(int, others)
    os.setpgid(0, group)
    os.umask(mask)
    os.chdir(folder[0])
    tempfile.tempdir = None
    os.environb.clear()
    os.environb.update(pair.split(b"=", 1) for pair in environment)
    time.tzset()
    sys.argv = [os.fsdecode(word[1:]) for word in words]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, stream(number, getattr(sys, f"__{name}__")))


def stream(number: int, like: io.TextIOWrapper) -> io.TextIOWrapper:
    """A standard stream as Python makes it."""
    raw = io.FileIO(number, "wb" if number else "rb", closefd=False)
    buffer = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
    each = number == 2 or raw.isatty()
    return io.TextIOWrapper(buffer, like.encoding, like.errors, newline="\n", line_buffering=each)  # type: ignore[arg-type]


if __name__ == "__main__":
    serve(sys.argv[1], load())
