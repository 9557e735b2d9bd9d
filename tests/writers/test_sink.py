"""Outputs are whole or not there: real files, pipes and devices."""

from __future__ import annotations

import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pcatool.errors import FileError, PcatoolError, UsageError
from pcatool.writers.sink import check_target, open_sink, write_whole

OPENERS: dict[str, Callable[..., object]] = {"open": open_sink, "check": check_target}


def run(code: str, *args: object, shell_around: str = '"$@"') -> subprocess.CompletedProcess[bytes]:
    """Python code in a process of its own; a refusal becomes its message and exit code."""
    program = (
        "import os, signal, sys, time\n"
        "from pcatool.errors import PcatoolError\n"
        "from pcatool.writers.sink import open_sink\n"
        f"try:\n    {code}\n"
        "except PcatoolError as error:\n    print(error, file=sys.stderr)\n    sys.exit(error.exit_code)\n"
    )
    command = ["sh", "-c", shell_around, "sh", sys.executable, "-c", program, *map(str, args)]
    return subprocess.run(command, capture_output=True, timeout=60)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # the test may have closed it
            os.close(end)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refusal(call: Callable[..., object], *args: object, **more: object) -> PcatoolError:
    with pytest.raises(PcatoolError) as caught:
        call(*args, **more)
    return caught.value


# --- files ---


def test_file_appears_at_the_end_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    with open_sink(str(path), no_clobber=False) as sink:
        sink.write(b"a\n")
        sink.write(memoryview(b"b\n"))
        (temporary,) = names(tmp_path)
        assert temporary.startswith(".x.csv.")
        assert temporary.endswith(".pcatool-tmp")
    assert names(tmp_path) == ["x.csv"]
    assert path.read_bytes() == b"a\nb\n"


def test_nothing_written_gives_an_empty_file(tmp_path: Path) -> None:
    with open_sink(str(tmp_path / "x.csv"), no_clobber=False):
        pass
    assert (tmp_path / "x.csv").read_bytes() == b""


def test_name_without_a_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("x.npz", b"model", no_clobber=False)
    assert names(tmp_path) == ["x.npz"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, BrokenPipeError])
@pytest.mark.parametrize("old", [b"old", None])
def test_any_exception_leaves_what_was_there(tmp_path: Path, error: type[BaseException], old: bytes | None) -> None:
    path = tmp_path / "x.csv"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(error), open_sink(str(path), no_clobber=False) as sink:
        sink.write(b"half")
        raise error
    assert names(tmp_path) == ([] if old is None else ["x.csv"])
    assert old is None or path.read_bytes() == old


def test_interrupted_process_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"old")
    code = (
        "with open_sink(sys.argv[1], no_clobber=False) as sink:\n"
        "        sink.write(b'half'); os.kill(os.getpid(), signal.SIGINT); time.sleep(30)"
    )
    assert run(code, path).returncode != 0
    assert names(tmp_path) == ["x.csv"]
    assert path.read_bytes() == b"old"


def test_full_disk_is_an_error_and_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"old")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "    with open_sink(sys.argv[1], no_clobber=False) as sink: sink.write(bytes(5000))"
    )
    done = run(code, path)
    assert done.returncode == 5
    assert done.stderr.decode().startswith("cannot write ")
    assert done.stderr.decode().endswith(": File too large\n")
    assert names(tmp_path) == ["x.csv"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_new_file_has_the_mode_the_umask_gives(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_whole(str(tmp_path / "x"), b"", no_clobber=False)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_replaced_file_keeps_its_mode_and_never_had_a_wider_one(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(mode)
    with open_sink(str(path), no_clobber=False):
        (temporary,) = (p for p in tmp_path.iterdir() if p != path)
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write_whole(str(path), b"new", no_clobber=False)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


AS_ANOTHER = """
import os, sys
from pcatool.writers.sink import write_whole
os.setgroups([int(group) for group in sys.argv[2:]])
os.setgid(99)
os.setuid(99)
write_whole(sys.argv[1], b"new", no_clobber=False)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another")
@pytest.mark.parametrize(("groups", "group", "mode"), [(["23456"], 23456, 0o676), ([], 99, 0o666)])
def test_another_s_file_keeps_its_group_or_opens_to_no_other(groups: list[str], group: int, mode: int) -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder, "x")
        path.write_bytes(b"old")
        os.chown(path, 12345, 23456)
        path.chmod(0o676)
        subprocess.run([sys.executable, "-c", AS_ANOTHER, str(path), *groups], check=True, timeout=60)
        there = path.stat()
    assert (there.st_uid, there.st_gid, stat.S_IMODE(there.st_mode)) == (99, group, mode)


def test_replaced_file_keeps_its_attributes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    entries = [(1, 6, -1), (2, 4, 1234), (4, 4, -1), (16, 4, -1), (32, 0, -1)]  # user 1234 may read
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "user.note", b"kept")
        os.setxattr(path, "system.posix_acl_access", access)
    except OSError:
        pytest.skip("no attributes on this file system")
    write_whole(str(path), b"new", no_clobber=False)
    assert os.getxattr(path, "user.note") == b"kept"
    assert os.getxattr(path, "system.posix_acl_access") == access
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == b"new"


def test_a_signal_while_the_file_is_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fchmod", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_sink(str(path), no_clobber=False)
    assert names(tmp_path) == ["x"]


def test_a_sink_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    sink = open_sink(str(tmp_path / "x"), no_clobber=False)
    assert len(names(tmp_path)) == 1
    del sink
    assert names(tmp_path) == []


def test_a_signal_between_taking_a_name_and_filling_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(str(tmp_path / "x"), b"mine", no_clobber=True)
    assert names(tmp_path) == []


def interrupted(*args: object, **more: object) -> None:
    raise KeyboardInterrupt


def test_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "x.csv"
    target.write_bytes(b"old")
    link = tmp_path / "link.csv"
    link.symlink_to(Path("there") / "x.csv")
    write_whole(str(link), b"new", no_clobber=False)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "there") == ["x.csv"]


def test_dangling_link_stays_and_its_target_is_made(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("x.csv")
    write_whole(str(tmp_path / "link"), b"new", no_clobber=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x.csv").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127])
def test_longest_names_work(tmp_path: Path, name: str) -> None:
    write_whole(str(tmp_path / name), b"new", no_clobber=False)
    assert names(tmp_path) == [name]


def test_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_whole(str(path), b"new", no_clobber=False)
        assert reader.read() == b"old"


def test_model_files_are_never_compressed(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "model.gz"), b"PK", no_clobber=False)
    assert (tmp_path / "model.gz").read_bytes() == b"PK"


# --- refusals, the same when checking ahead ---


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Callable[..., object]:
    return OPENERS[request.param]


def test_checking_makes_nothing(tmp_path: Path) -> None:
    check_target(str(tmp_path / "x.csv"), no_clobber=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize("opener", OPENERS)
def test_no_way_leads_through_a_folder_that_is_not_there(
    opener: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its spelling alone `no/../x.csv` would be the file itself, an input even."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("data")
    error = refusal(OPENERS[opener], "no/../x.csv", no_clobber=False, inputs=["x.csv"])
    assert str(error) == "cannot write 'no/../x.csv': there is no folder 'no/..'; create it first"
    assert Path("x.csv").read_text() == "data"


def test_missing_folder(tmp_path: Path, opener: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = refusal(opener, "no/x.csv", no_clobber=False)
    assert error.exit_code == 5
    assert str(error) == "cannot write 'no/x.csv': there is no folder 'no'; create it first"


def test_link_into_a_missing_folder(
    tmp_path: Path, opener: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("/no-such-folder/x")
    error = refusal(opener, "link", no_clobber=False)
    assert str(error) == "cannot write 'link': there is no folder '/no-such-folder'; create it first"


@pytest.mark.parametrize("name", ["sub", "sub/", "new/", "file/"])
def test_folder_as_output(
    tmp_path: Path, opener: Callable[..., object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("file").touch()
    error = refusal(opener, name, no_clobber=False)
    assert error.exit_code == 5
    assert str(error) == f"cannot write '{name}': it names a folder; give the name of a file"


def test_file_as_folder(tmp_path: Path, opener: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    error = refusal(opener, "file/x", no_clobber=False)
    assert error.exit_code == 5
    assert str(error) == "cannot write 'file/x': Not a directory"


def test_name_that_cannot_be(opener: Callable[..., object]) -> None:
    assert str(refusal(opener, "a\0b", no_clobber=False)) == r"cannot write 'a\x00b': embedded null byte"
    too_long = refusal(opener, "x" * 256, no_clobber=False)
    assert str(too_long).endswith("xxx': File name too long")
    assert too_long.exit_code == 5


def test_empty_name(opener: Callable[..., object]) -> None:
    error = refusal(opener, "", no_clobber=False)
    assert error.exit_code == 2
    assert str(error) == "the name of the output is empty; give a file name, or - for standard output"


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
def test_folder_without_permission(tmp_path: Path, opener: Callable[..., object]) -> None:
    tmp_path.chmod(0o555)
    error = refusal(opener, str(tmp_path / "x"), no_clobber=False)
    assert error.exit_code == 5
    assert str(error).endswith(": you have no permission to create files in its folder; give a name in another folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
def test_file_without_permission(tmp_path: Path, opener: Callable[..., object]) -> None:
    (tmp_path / "x").touch(0o444)
    error = refusal(opener, str(tmp_path / "x"), no_clobber=False)
    assert error.exit_code == 5
    assert str(error).endswith(": it is write-protected; give another name, or change the permissions of the file")


def test_no_clobber_refuses_a_file_that_exists(tmp_path: Path, opener: Callable[..., object]) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    error = refusal(opener, str(path), no_clobber=True)
    assert error.exit_code == 5
    assert str(error).endswith("exists, and --no-clobber was given; give another name, or move the file away")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("hard_links", [True, False])
def test_no_clobber_refuses_a_file_made_meanwhile(
    tmp_path: Path, hard_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hard_links:
        monkeypatch.setattr(os, "link", no_link)
    path = tmp_path / "x"
    with pytest.raises(FileError, match="exists, and --no-clobber"), open_sink(str(path), no_clobber=True) as sink:
        sink.write(b"mine")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("hard_links", [True, False])
def test_no_clobber_writes_a_new_file(tmp_path: Path, hard_links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hard_links:
        monkeypatch.setattr(os, "link", no_link)
    write_whole(str(tmp_path / "x"), b"mine", no_clobber=True)
    assert (tmp_path / "x").read_bytes() == b"mine"
    assert names(tmp_path) == ["x"]


def no_link(*args: object, **more: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_output_that_is_an_input(
    tmp_path: Path, opener: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(b"data")
    Path("link.csv").symlink_to("in.csv")
    os.link("in.csv", "hard.csv")
    for name in ("in.csv", "./in.csv", "link.csv", "hard.csv"):
        error = refusal(opener, name, no_clobber=False, inputs=["-", "gone.csv", "s3://bucket/x", "in.csv"])
        assert error.exit_code == 2
        assert str(error) == (f"the output '{name}' is the same file as the input 'in.csv'; write to another file")
    assert Path("in.csv").read_bytes() == b"data"


def test_devices_and_streams_are_no_inputs_to_protect(tmp_path: Path) -> None:
    check_target("/dev/null", no_clobber=False, inputs=["/dev/null", "-"])
    check_target("-", no_clobber=True, inputs=["-"])
    write_whole(str(tmp_path / "-"), b"", no_clobber=False, inputs=["-"])


def test_standard_output_appended_to_an_input(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"data")
    code = "open_sink(None, no_clobber=False, inputs=[sys.argv[1]])"
    done = run(code, path, shell_around='f=$4; "$@" >> "$f"')
    assert done.returncode == 2
    assert done.stderr.decode().startswith("the output 'standard output' is the same file as the input ")


# --- devices and pipes ---


def test_null_device_stays_a_device() -> None:
    write_whole("/dev/null", b"x", no_clobber=True)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_full_device() -> None:
    with pytest.raises(FileError) as caught:
        write_whole("/dev/full", b"x", no_clobber=False)
    assert caught.value.exit_code == 5
    assert str(caught.value) == "cannot write '/dev/full': No space left on device"


def test_full_device_met_at_the_end() -> None:
    with pytest.raises(FileError, match="No space left on device"), open_sink("/dev/full", no_clobber=False) as sink:
        sink._compressor = EndOnly()  # type: ignore[assignment]
        sink.write(b"x")


class EndOnly:
    def feed(self, data: bytes) -> bytes:
        return b""

    def finish(self) -> bytes:
        return b"x"


def test_named_pipe_is_written_straight(tmp_path: Path) -> None:
    path = tmp_path / "fifo.csv"
    os.mkfifo(path)
    with (tmp_path / "copy").open("wb") as copy, subprocess.Popen(["cat", str(path)], stdout=copy) as reader:
        with open_sink(str(path), no_clobber=False) as sink:
            sink.write(b"a" * 200_000)
        assert reader.wait(timeout=60) == 0
    assert (tmp_path / "copy").read_bytes() == b"a" * 200_000
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["copy", "fifo.csv"]


def test_descriptor_by_name_keeps_its_place_and_stays_open(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab", buffering=0) as log:
        log.write(b"before\n")
        for name in (f"/dev/fd/{log.fileno()}", f"/proc/self/fd/{log.fileno()}"):
            write_whole(name, b"x\n", no_clobber=True)
        log.write(b"after\n")
    assert (tmp_path / "log").read_bytes() == b"before\nx\nx\nafter\n"


def test_descriptor_that_is_not_open(opener: Callable[..., object]) -> None:
    error = refusal(opener, "/dev/fd/987", no_clobber=False)
    assert error.exit_code == 5
    assert str(error) == "cannot write '/dev/fd/987': Bad file descriptor"


def test_reader_that_went_away_is_no_file_error(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError), open_sink(f"/dev/fd/{pipe[1]}", no_clobber=False) as sink:
        sink.write(b"x")


def test_reader_that_went_away_at_the_end(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with pytest.raises(BrokenPipeError), open_sink(f"/dev/fd/{pipe[1]}", no_clobber=False) as sink:
        sink._compressor = EndOnly()  # type: ignore[assignment]


def test_bytes_arrive_at_once(pipe: tuple[int, int]) -> None:
    with open_sink(f"/dev/fd/{pipe[1]}", no_clobber=False) as sink:
        sink.write(b"row\n")
        assert os.read(pipe[0], 100) == b"row\n"


def test_pipe_that_does_not_block_gets_everything(pipe: tuple[int, int]) -> None:
    """A pipe made non-blocking by another program takes a part, then refuses for a while."""
    os.set_blocking(pipe[1], False)
    data = os.urandom(1_000_000)
    received = bytearray()

    def read_slowly() -> None:
        while len(received) < len(data):
            time.sleep(0.001)
            received.extend(os.read(pipe[0], 50_000))

    reader = threading.Thread(target=read_slowly)
    reader.start()
    write_whole(f"/dev/fd/{pipe[1]}", data, no_clobber=False)
    reader.join(timeout=60)
    assert bytes(received) == data


# --- standard output ---


@pytest.mark.parametrize("output", ["None", "'-'", "'/dev/stdout'"])
def test_standard_output(output: str, tmp_path: Path) -> None:
    code = f"with open_sink({output}, no_clobber=True) as sink: sink.write(b'x' * 100_000)\n    os.write(1, b'end')"
    assert run(code).stdout == b"x" * 100_000 + b"end"
    out = tmp_path / "out"
    run(code, out, shell_around='f=$4; echo start > "$f"; "$@" >> "$f"')
    assert out.read_bytes() == b"start\n" + b"x" * 100_000 + b"end"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("output", ["None", "'/dev/stdout'"])
def test_closed_standard_output(output: str) -> None:
    # A file opened meanwhile gets the free number 1; it must not be written into.
    done = run(f"f = os.open('/dev/null', os.O_RDWR); open_sink({output}, no_clobber=False)", shell_around='"$@" >&-')
    assert done.returncode == 5
    name = "standard output" if output == "None" else "/dev/stdout"
    assert done.stderr.decode() == f"cannot write '{name}': it is closed; give a file with -o\n"


def test_standard_output_closed_meanwhile() -> None:
    done = run("os.close(1); open_sink(None, no_clobber=False)")
    assert done.returncode == 5
    assert done.stderr.decode() == "cannot write 'standard output': Bad file descriptor\n"


def test_standard_output_only_for_reading() -> None:
    done = run("with open_sink(None, no_clobber=False) as s: s.write(b'x')", shell_around='"$@" 1</dev/null')
    assert done.returncode == 5
    assert done.stderr.decode() == "cannot write 'standard output': Bad file descriptor\n"


def test_standard_output_full() -> None:
    done = run("with open_sink(None, no_clobber=False) as s: s.write(b'x')", shell_around='"$@" >/dev/full')
    assert done.returncode == 5
    assert done.stderr.decode() == "cannot write 'standard output': No space left on device\n"


def test_standard_output_with_no_reader() -> None:
    code = (
        "try:\n        with open_sink(None, no_clobber=False) as s:\n"
        "            for _ in range(100): s.write(b'x' * 100_000)\n"
        "    except BrokenPipeError: sys.exit(42)"
    )
    done = run(code, shell_around='{ "$@"; echo $? >&2; } | true')
    assert done.stderr == b"42\n"


def test_terminated_process_leaves_the_old_file(tmp_path: Path) -> None:
    """SIGTERM, unless made an exception, leaves a temporary file with a name that tells where it comes from."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"old")
    code = (
        "with open_sink(sys.argv[1], no_clobber=False) as sink:\n"
        "        sink.write(b'half'); os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)"
    )
    assert run(code, path, shell_around='exec "$@"').returncode == -signal.SIGTERM
    assert path.read_bytes() == b"old"
    assert [name for name in names(tmp_path) if name != "x.csv" and not name.endswith(".pcatool-tmp")] == []


def test_errors_are_the_documented_kinds(tmp_path: Path) -> None:
    assert isinstance(refusal(open_sink, str(tmp_path / "no" / "x"), no_clobber=False), FileError)
    assert isinstance(refusal(open_sink, "", no_clobber=False), UsageError)
