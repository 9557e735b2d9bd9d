"""The program at once: a server that has it loaded, and what is found as `pcatool` in its stead."""

from __future__ import annotations

import marshal
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from programs import KERNELS

HERE = Path(__file__).resolve().parent
# What a process reads before it runs a line of ours, or what its libraries read as they are loaded.
EARLY = (*KERNELS, "PYTHON", "LC_", "LANG", "ARROW", "MALLOC", "GLIBC", "LD_", "MPL")
LIMITS = 16  # of Linux, from RLIMIT_CPU on
PATIENCE = 60.0  # seconds until it is loaded, on a busy machine


@contextmanager
def standing_by(folder: Path, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The same environment, with a `pcatool` that starts at once before all others."""
    place = folder / "socket"
    command = [sys.executable, str(HERE / "server.py"), str(place)]
    with subprocess.Popen(command, env=dict(environment), stdin=subprocess.PIPE, process_group=0) as server:
        end = time.monotonic() + PATIENCE
        while not place.exists():
            assert server.poll() is None and time.monotonic() < end, "the program does not load"
            time.sleep(0.02)
        programs = folder / "bin"
        programs.mkdir()
        client = programs / "pcatool"
        client.write_text(f"#!{os.path.realpath(sys.executable)} -IS\n{(HERE / 'client.py').read_text()}")
        client.chmod(0o755)
        client.with_suffix(".known").write_bytes(marshal.dumps(known(place, environment)))
        yield {**environment, "PATH": os.pathsep.join([str(programs), environment["PATH"]])}
        assert server.stdin is not None
        server.stdin.close()


def known(place: Path, environment: Mapping[str, str]) -> tuple[object, ...]:
    """What the client asks whether a call may be handed on: only where the program would come to the same."""
    program = str(Path(sys.executable).with_name("pcatool"))
    early = {name: value for name, value in environment.items() if name.startswith(EARLY)}
    sent = {os.fsencode(name): os.fsencode(value) for name, value in early.items()}
    limits = [resource.getrlimit(number) for number in range(LIMITS)]
    return str(place), program, tuple(map(os.fsencode, EARLY)), sent, limits, os.getsid(0)
