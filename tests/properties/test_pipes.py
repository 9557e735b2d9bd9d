"""The installed program among others: pipes, devices, signals, closed descriptors, terminals, the mode of files."""

from __future__ import annotations

import os
import pty
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np
import pytest

pytestmark = pytest.mark.long

SECONDS = 30

NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")

Shell = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory, plain_environment: dict[str, str]) -> Path:
    """A folder with a table of 40,000 rows, more than any pipe holds, and a model of it."""
    home = tmp_path_factory.mktemp("ready")
    rng = np.random.default_rng(5)
    np.savetxt(home / "big.csv", rng.normal(size=(40_000, 4)), "%.6f", ",", header="a,b,c,d", comments="")
    command = ["pcatool", "fit", "big.csv", "-k", "2", "-o", "big.npz"]
    subprocess.run(command, cwd=home, env=plain_environment, check=True, timeout=SECONDS)
    return home


@pytest.fixture
def work(ready: Path, tmp_path: Path) -> Path:
    for path in ready.iterdir():
        (tmp_path / path.name).hardlink_to(path)
    return tmp_path


@pytest.fixture
def shell(work: Path, plain_environment: dict[str, str]) -> Shell:
    def run(script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", script]
        return subprocess.run(
            command, cwd=work, env=plain_environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS,
        )  # fmt: skip

    return run


def litter(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("big.csv", "big.npz"))


# --- a reader that goes away ---


@pytest.mark.parametrize(
    "command",
    [
        "pcatool transform big.npz big.csv",
        "pcatool transform big.npz big.csv --output-format jsonl",
        "pcatool transform big.npz big.csv --output-format parquet",
        "pcatool transform big.npz big.csv -o /dev/stdout",
        "pcatool reconstruct big.npz big.csv",
        "pcatool fit big.csv -o -",
        "pcatool explain-variance big.npz",
        "pcatool scree big.npz",
        "pcatool fit --help",
        "pcatool --help",
        "pcatool --version",
    ],
)
def test_a_reader_that_has_enough_is_no_error(command: str, shell: Shell) -> None:
    done = shell(f'{command} | true; echo "${{PIPESTATUS[0]}}"')
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_head_of_a_long_output(shell: Shell) -> None:
    done = shell('pcatool transform big.npz big.csv | head -1; echo "${PIPESTATUS[*]}"')
    assert (done.stdout, done.stderr) == ("PC1,PC2\n0 0\n", "")


@pytest.mark.parametrize("threads", [1, 4])
def test_the_head_of_an_output_without_end(threads: int, shell: Shell) -> None:
    done = shell(
        f"(echo a,b,c,d; yes 1,2,3,4) | pcatool transform big.npz --threads {threads} | head -1;"
        'echo "${PIPESTATUS[*]:1}"'
    )
    assert (done.stdout, done.stderr) == ("PC1,PC2\n0 0\n", "")


def test_the_rows_before_an_error_come_out_with_any_number_of_threads(shell: Shell) -> None:
    shell("sed '30002s/.*/1,2,x,4/; 39002s/.*/1,2/' big.csv > bad.csv")
    done = [shell(f"pcatool transform big.npz bad.csv --threads {n}") for n in (1, 2, 4)]
    assert done[0].stdout.count("\n") > 20_000
    assert done[0].stderr.startswith("pcatool: error: bad.csv, line 30002, column 'c': 'x' is not a number;")
    for other in done[1:]:
        assert (other.returncode, other.stderr) == (3, done[0].stderr)
        assert other.stdout == done[0].stdout


# --- a writer that takes its time ---


@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_row_comes_out_before_the_next_goes_in(threads: str, work: Path, plain_environment: dict[str, str]) -> None:
    command = ["pcatool", "transform", "big.npz", "--keep", "a", "--threads", threads]
    with subprocess.Popen(
        command, cwd=work, env=plain_environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"d,c,b,a\n")
        for number in range(3):
            process.stdin.write(b"1,2,3,%d\n" % number)
            lines = 2 if number == 0 else 1  # the header comes with the first
            got = read_lines(process.stdout.fileno(), lines)
            assert got[-1].startswith(b"%d," % number)
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("threads", ["1", "4"])
def test_whole_rows_come_out_while_the_next_is_incomplete(
    threads: str, work: Path, plain_environment: dict[str, str]
) -> None:
    command = ["pcatool", "transform", "big.npz", "--keep", "a", "--no-output-header", "--threads", threads]
    with subprocess.Popen(
        command, cwd=work, env=plain_environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"a,b,c,d\n")
        rows = [b"%d,2,3,4\n" % number for number in range(60)]
        whole = 0
        for count in (1, 1, 3, 20, 1, 30):
            process.stdin.write(b"".join(rows[whole : whole + count])[3 if whole else 0 :] + b"%d,2" % (whole + count))
            got = read_lines(process.stdout.fileno(), count)
            assert [line.split(b",")[0] for line in got] == [b"%d" % i for i in range(whole, whole + count)]
            whole += count
        process.stdin.write(b",3,4")
        process.stdin.close()
        assert process.stdout.read().startswith(b"%d," % whole)
    assert process.returncode == 0


@pytest.mark.parametrize("threads", ["1", "4"])
def test_the_rows_of_one_input_come_out_before_the_next_is_there(
    threads: str, work: Path, plain_environment: dict[str, str]
) -> None:
    (work / "first.csv").write_bytes(b"a,b,c,d\n1,2,3,4\n5,6,7,8\n")
    os.mkfifo(work / "second")
    command = ["pcatool", "transform", "big.npz", "first.csv", "second", "--threads", threads]
    with subprocess.Popen(
        command, cwd=work, env=plain_environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            assert len(read_lines(process.stdout.fileno(), 3, within=5)) == 3
        finally:
            (work / "second").write_bytes(b"a,b,c,d\n9,9,9,9\n")
        assert process.stdout.read().count(b"\n") == 1
    assert process.returncode == 0


def read_lines(descriptor: int, count: int, within: float = SECONDS) -> list[bytes]:
    data = b""
    until = time.monotonic() + within
    while data.count(b"\n") < count:
        assert select.select([descriptor], [], [], max(until - time.monotonic(), 0))[0], f"nothing came after {data!r}"
        data += os.read(descriptor, 1 << 16)
    return data.splitlines()


def test_pauses_in_a_pipe_change_no_byte(shell: Shell) -> None:
    done = shell(
        "head -3001 big.csv > some.csv; pcatool transform big.npz some.csv > whole.csv;"
        "(head -10 some.csv; sleep 0.1; tail -n +11 some.csv | head -1500; sleep 0.1; tail -n +1511 some.csv) |"
        "pcatool transform big.npz > paused.csv; cmp whole.csv paused.csv && wc -l < paused.csv"
    )
    assert (done.stdout.strip(), done.stderr) == ("3001", "")


def test_a_producer_that_fails_leaves_no_model(shell: Shell, work: Path) -> None:
    done = shell("false | pcatool fit -o m.npz")
    assert done.returncode == 3
    assert done.stderr.startswith("pcatool: error: standard input is empty")
    assert litter(work) == []


CUT = (
    "pcatool: note: {} ends in the middle of a line: if the program that writes it failed, the last row may be cut off"
    "\n"
)


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("head -200 big.csv | head -c -3 | pcatool transform big.npz", "standard input"),
        ("head -200 big.csv | head -c -3 | pcatool fit -o m.npz", "standard input"),
        ("head -200 big.csv | head -c -3 | iconv -t utf-16 | pcatool scree --encoding utf-16", "standard input"),
        ("mkfifo p; head -200 big.csv | head -c -3 > p & pcatool transform big.npz p", "p"),
        ("head -200 big.csv | head -c -3 > cut.csv; pcatool transform big.npz cut.csv", None),
        ("head -200 big.csv | head -c -3 > cut.csv; pcatool transform big.npz < cut.csv", None),
        ("head -200 big.csv | head -c -3 | gzip | pcatool transform big.npz", None),
        ("head -n 200 big.csv | pcatool transform big.npz", None),
        ("head -n 200 big.csv | pcatool transform big.npz -q", None),
    ],
)
def test_a_pipe_that_ends_within_a_line_is_mentioned(script: str, name: str | None, shell: Shell) -> None:
    done = shell(script)
    assert (done.returncode, done.stderr) == (0, CUT.format(name) if name else "")


@pytest.mark.parametrize(
    "locale", ["LC_ALL=C", "LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0", "PYTHONIOENCODING=ascii"]
)
def test_names_in_any_locale(locale: str, shell: Shell) -> None:
    done = shell(
        f"printf 'größe,b\\n1,2\\n3,5\\n2,2\\n' > g.csv; export {locale}; pcatool fit g.csv -k 1 -o g.npz &&"
        "pcatool components g.npz | cut -d, -f1; pcatool transform g.npz g.csv --keep-all | head -1;"
        "pcatool scree g.npz >&2"
    )
    assert done.stdout == "column\ngröße\nb\ngröße,b,PC1\n"
    assert "error" not in done.stderr


def test_a_producer_that_is_cut_off_in_gzip_leaves_no_model(shell: Shell, work: Path) -> None:
    done = shell("gzip -c big.csv | head -c 20000 | pcatool fit -o m.npz")
    assert done.returncode == 3
    assert "the gzip data are damaged or cut off" in done.stderr
    assert litter(work) == []


def test_two_that_write_one_model_leave_one_whole(shell: Shell, work: Path) -> None:
    done = shell(
        "pcatool fit big.csv -k 1 -o one.npz && pcatool fit big.csv -k 4 -o four.npz &&"
        "for i in 1 2 3; do for k in 1 4; do pcatool fit big.csv -k $k -o m.npz & done; done; wait"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (work / "m.npz").read_bytes() in ((work / "one.npz").read_bytes(), (work / "four.npz").read_bytes())
    assert litter(work) == ["four.npz", "m.npz", "one.npz"]


def test_an_output_name_of_any_sort(shell: Shell, work: Path) -> None:
    done = shell(
        'mkdir out; cd out; name=$\'a\\nb\\033[1m.npz\'; pcatool fit ../big.csv -v -o "$name" && pcatool scree "$name"'
    )
    assert done.returncode == 0
    assert "model written to a\\nb\\x1b[1m.npz" in done.stderr
    assert litter(work / "out") == ["a\nb\x1b[1m.npz"]
    done = shell("cd out; pcatool fit ../big.csv -o " + "n" * 251 + ".npz; ls | grep -c npz")
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_and_one_that_is_read_only_leave_what_was_there(shell: Shell, work: Path) -> None:
    done = shell(
        "unshare -m bash -c 'mkdir d; mount -t tmpfs -o size=64k tmpfs d || exit 99; echo old > d/out.csv;"
        "pcatool transform big.npz big.csv -o d/out.csv; echo $?; mount -o remount,ro d;"
        "pcatool transform big.npz big.csv -o d/new.csv; echo $?; ls -A d; cat d/out.csv'"
    )
    if done.returncode == 99:
        pytest.skip("nothing can be mounted here")
    assert done.stdout == "5\n5\nout.csv\nold\n"
    assert done.stderr.splitlines() == [
        "pcatool: error: cannot write 'd/out.csv': No space left on device",
        "pcatool: error: cannot write 'd/new.csv': you have no permission to create files in its folder; "
        "give a name in another folder",
    ]


def test_many_at_once_do_not_meet(shell: Shell, work: Path) -> None:
    done = shell(
        "mkdir out; for i in 1 2 3 4; do head -$((i * 100)) big.csv > $i.in; done;"
        "ls *.in | xargs -P 4 -I % pcatool transform big.npz % -o out/%.csv; wc -l out/* | awk '{print $1}'"
    )
    assert (done.stdout.split(), done.stderr) == (["100", "200", "300", "400", "1000"], "")
    assert done.returncode == 0


# --- descriptors that are full or closed ---


@pytest.mark.parametrize(
    "command",
    [
        "pcatool transform big.npz big.csv",
        "pcatool fit big.csv -o -",
        "pcatool explain-variance big.npz",
        "pcatool scree big.npz",
        "pcatool fit --help",
        "pcatool --version",
    ],
)
@pytest.mark.parametrize("output", [pytest.param(">/dev/full", marks=NEEDS_FULL), ">&-"])
def test_an_output_that_takes_nothing_is_an_error(command: str, output: str, shell: Shell) -> None:
    done = shell(f"{command} {output}")
    assert done.returncode == 5
    assert done.stderr.startswith("pcatool: error: cannot write 'standard output': ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["fit -o m.npz", "transform big.npz", "reconstruct big.npz", "scree", "fit - -o x"])
def test_a_closed_input_is_an_error(command: str, shell: Shell, work: Path) -> None:
    done = shell(f"pcatool {command} <&-")
    assert done.returncode == 5
    assert done.stderr == "pcatool: error: standard input is closed; give a file, or a pipe\n"
    assert litter(work) == []


def test_closed_descriptors_are_never_mistaken_for_files(shell: Shell, work: Path) -> None:
    """A file opened while 0, 1 or 2 is free gets that number; what is meant for a stream must not end up in it."""
    assert shell("pcatool transform big.npz big.csv -o whole.csv").returncode == 0
    assert shell("pcatool transform big.npz big.csv -o o.csv <&- >&- 2>&-").returncode == 0
    assert (work / "o.csv").read_bytes() == (work / "whole.csv").read_bytes()
    done = shell("pcatool fit big.csv -k 9 -o m.npz <&- >&- 2>&-")
    assert done.returncode == 3


@pytest.mark.parametrize("errors", ["2>&-", pytest.param("2>/dev/full", marks=NEEDS_FULL), "2> >(true)"])
def test_nobody_to_tell_is_no_failure(errors: str, shell: Shell) -> None:
    assert shell(f"pcatool fit big.csv -v -o m.npz {errors}").returncode == 0
    assert shell(f"pcatool fit nowhere.csv -o m.npz {errors}").returncode == 5


# --- signals ---

NUMBERS = {"INT": 130, "TERM": 143, "HUP": 129}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("arguments", ["fit -o out.bin", "transform big.npz -o out.bin", "transform big.npz"])
def test_a_signal_ends_it_and_leaves_what_was_there(
    arguments: str, name: str, work: Path, plain_environment: dict[str, str]
) -> None:
    (work / "out.bin").write_text("old")
    with subprocess.Popen(
        ["pcatool", *arguments.split()], cwd=work, env=plain_environment, stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write((work / "big.csv").read_bytes()[:60_000])  # less than a pipe holds
        process.stdin.flush()
        wait_until_it_reads(process)
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.wait(SECONDS) == NUMBERS[name]
        assert process.stderr.read() == b""
    assert (work / "out.bin").read_text() == "old"
    assert litter(work) == ["out.bin"]


@pytest.mark.parametrize("arguments", ["fit", "fit --solver tsqr", "transform big.npz"])
@pytest.mark.parametrize("megabytes", [0.3, 60])
def test_a_signal_amid_the_work_of_threads(
    arguments: str, megabytes: float, work: Path, plain_environment: dict[str, str]
) -> None:
    rows = (work / "big.csv").read_bytes().partition(b"\n")[2]
    with subprocess.Popen(
        ["pcatool", *arguments.split(), "-o", "out.bin", "--threads", "4"], cwd=work, env=plain_environment,
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        enough = threading.Event()
        feeder = threading.Thread(target=feed, args=(process.stdin, rows, megabytes * 1e6, enough))
        feeder.start()
        assert enough.wait(SECONDS)
        process.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        assert process.wait(SECONDS) == 143
        assert time.monotonic() - sent < 5
        assert process.stderr.read() == b""
        feeder.join()
    assert litter(work) == []


def feed(pipe: IO[bytes], rows: bytes, size: float, enough: threading.Event) -> None:
    """The same rows again and again, until nobody reads them; we are told when this many bytes have been taken."""
    with suppress(BrokenPipeError):
        taken = pipe.write(b"a,b,c,d\n")
        while True:
            for at in range(0, len(rows), 1 << 15):
                piece = memoryview(rows)[at : at + (1 << 15)]
                while piece:
                    written = pipe.write(piece)
                    piece, taken = piece[written:], taken + written
                if taken > size:
                    enough.set()


def test_a_signal_while_nobody_reads_the_output(work: Path, plain_environment: dict[str, str]) -> None:
    with subprocess.Popen(
        ["pcatool", "transform", "big.npz", "big.csv"], cwd=work, env=plain_environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        read_lines(process.stdout.fileno(), 1)
        time.sleep(0.1)  # the pipe is full by now
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 143
        assert process.stderr.read() == b""


def wait_until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """Until the pipe to it is empty again: what was written is read, and the run in the midst of its work."""
    assert process.stdin is not None
    until = time.monotonic() + SECONDS
    while unread(process.stdin.fileno()):
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.05)


def unread(descriptor: int) -> int:
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), "little")


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.04, 0.06, 0.08, 0.12])
def test_a_signal_while_it_starts_shows_no_traceback(
    delay: float, work: Path, plain_environment: dict[str, str]
) -> None:
    command = ["pcatool", "transform", "big.npz"]
    with subprocess.Popen(
        command, cwd=work, env=plain_environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        # Before Python is up the signal itself ends the process.
        assert process.wait(SECONDS) in (143, -signal.SIGTERM)
        assert process.stderr.read() == b""


def test_an_interrupt_before_ours_answer_shows_no_traceback(plain_environment: dict[str, str]) -> None:
    code = (
        "import os, signal, pcatool.cli.signals as p; p.set_environment = lambda: os.kill(os.getpid(), signal.SIGINT); "
    )
    command = [sys.executable, "-c", code + "from pcatool.cli import main; main()"]
    done = subprocess.run(command, env=plain_environment, capture_output=True, timeout=SECONDS)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""


@contextmanager
def in_the_middle(work: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has read a row, and waits for more."""
    with subprocess.Popen(
        ["pcatool", "transform", "big.npz", "-o", "out.csv"], cwd=work, env=environment, stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b"a,b,c,d\n1,2,3,4\n")
        process.stdin.flush()
        wait_until_it_reads(process)
        yield process


def test_a_limit_on_time_ends_a_run_like_a_wish_to_stop(work: Path, plain_environment: dict[str, str]) -> None:
    with in_the_middle(work, plain_environment) as process:
        process.send_signal(signal.SIGXCPU)
        assert process.wait(SECONDS) == 143
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert litter(work) == []


def test_standard_input_is_one_input_by_every_name(shell: Shell) -> None:
    done = shell("printf 'a,b\\n1,2\\n3,5\\n' > t.csv; pcatool fit - /dev/stdin -o m.npz < t.csv")
    assert done.returncode == 2
    assert done.stderr == "pcatool: error: standard input is named twice; name standard input once\n"


def test_two_signals_are_one_wish(work: Path, plain_environment: dict[str, str]) -> None:
    with in_the_middle(work, plain_environment) as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) in (129, 143)  # the second may come when all is cleaned up
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert litter(work) == []


def test_nohup_is_respected(shell: Shell) -> None:
    done = shell(
        "trap '' HUP; (echo a,b,c,d; sleep 1; echo 1,2,3,4) | pcatool transform big.npz &sleep 0.6; kill -HUP %1; wait"
    )
    assert done.stdout.count("\n") == 2


# --- terminals ---


def at_a_terminal(command: list[str], work: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and what is seen, with a terminal for input, output and errors."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=work, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 1 << 16):
                seen += data
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        return process.wait(SECONDS), seen.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments", ["fit -o m.npz", "fit", "transform big.npz", "reconstruct big.npz", "explain-variance", "scree"]
)
def test_nobody_waits_for_a_person_to_type_a_table(
    arguments: str, work: Path, plain_environment: dict[str, str]
) -> None:
    code, seen = at_a_terminal(["pcatool", *arguments.split()], work, plain_environment)
    assert code == 2
    name = arguments.split()[0]
    assert seen.startswith(f"usage: pcatool {name} ")
    assert f"pcatool {name} --help" in seen
    assert len(seen.splitlines()) <= 4


def test_a_terminal_gets_a_table_a_summary_and_colour(work: Path, plain_environment: dict[str, str]) -> None:
    term = {**plain_environment, "TERM": "xterm"}
    code, seen = at_a_terminal(["pcatool", "explain-variance", "big.npz"], work, term)
    assert code == 0
    assert "component" in seen
    assert "\x1b[" in seen
    assert "40,000 rows, 4 columns" in seen
    for environment in ({**term, "NO_COLOR": "1"}, {**term, "TERM": "dumb"}):
        code, seen = at_a_terminal(["pcatool", "scree", "big.npz"], work, environment)
        assert code == 0
        assert "\x1b" not in seen
    code, seen = at_a_terminal(["pcatool", "fit", "big.csv", "-q", "-o", "m.npz"], work, term)
    assert (code, seen) == (0, "")


@pytest.mark.parametrize("arguments", ["fit big.csv -o -", "transform big.npz big.csv --output-format parquet"])
def test_a_terminal_gets_no_bytes(arguments: str, work: Path, plain_environment: dict[str, str]) -> None:
    code, seen = at_a_terminal(["pcatool", *arguments.split()], work, plain_environment)
    assert code == 2
    assert "is binary, and standard output is a terminal" in seen


def test_a_terminal_gets_no_page(work: Path, plain_environment: dict[str, str]) -> None:
    code, seen = at_a_terminal(["pcatool", "report", "big.npz"], work, plain_environment)
    assert code == 2
    assert (
        "the report is a page for a browser, and standard output is a terminal; name a file, as in -o report.html"
        in seen.replace("\r\n", "")
    )


# --- files ---


@pytest.mark.parametrize(("umask", "mode"), [("022", 0o644), ("077", 0o600), ("002", 0o664)])
def test_a_new_file_has_the_mode_the_umask_gives(umask: str, mode: int, shell: Shell, work: Path) -> None:
    assert shell(f"umask {umask}; pcatool fit big.csv -o m.npz").returncode == 0
    assert stat.S_IMODE((work / "m.npz").stat().st_mode) == mode


def test_a_file_replaced_keeps_its_mode_and_its_link(shell: Shell, work: Path) -> None:
    done = shell("touch real.npz; chmod 640 real.npz; ln -s real.npz link.npz; pcatool fit big.csv -k 2 -o link.npz")
    assert done.returncode == 0
    assert (work / "link.npz").is_symlink()
    assert stat.S_IMODE((work / "real.npz").stat().st_mode) == 0o640
    assert (work / "real.npz").read_bytes() == (work / "big.npz").read_bytes()
    assert litter(work) == ["link.npz", "real.npz"]


def test_appending_and_sharing_standard_output(shell: Shell, work: Path) -> None:
    done = shell(
        "echo kept > log; pcatool transform big.npz big.csv -o /dev/stdout >> log; echo after >> log;"
        "head -1 log; tail -1 log; wc -l < log"
    )
    assert done.stdout.split() == ["kept", "after", "40003"]


def test_process_substitution(shell: Shell) -> None:
    done = shell("pcatool transform <(cat big.npz) <(head -3 big.csv) | wc -l")
    assert (done.stdout.strip(), done.stderr) == ("3", "")


def test_under_cron_a_run_with_nothing_to_say_says_nothing(shell: Shell) -> None:
    done = shell('env -i PATH="$PATH" pcatool fit big.csv -o m.npz')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WRAPPED = """
import os
from pcatool.cli.signals import stoppable

class Stops:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), 15)

with stoppable():
    class Owner:
        name = Stops()
"""


def test_a_stop_that_python_wraps_in_another_error_is_still_a_stop() -> None:
    done = subprocess.run([sys.executable, "-c", WRAPPED], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (143, "")
