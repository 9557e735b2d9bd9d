"""What the tests of the installed program share: where it is, and the plain world it runs in."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from programs import kernels

if TYPE_CHECKING:
    from stores.server import Store

ROOT = Path(__file__).resolve().parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases", action="store_true", help="Write what the example folders give into them, for review."
    )
    parser.addoption(
        "--real-starts", action="store_true", help="Start the program anew for each command, as users do: much slower."
    )


def pytest_configure(config: pytest.Config) -> None:
    """`pytest` alone leaves out what is marked `long`; files that are named are run, long or not."""
    os.environ.setdefault("PYTHONUTF8", "1")  # of the processes that run tests: files have all kinds of names
    if not config.option.markexpr and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        config.option.markexpr = "not long"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files marked `long(first=True)`, then other long ones: begun last, one would keep a core alone."""
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    mark = item.get_closest_marker("long")
    return 2 if mark is None else 0 if mark.kwargs.get("first") else 1


@pytest.fixture(scope="session", autouse=True)
def heard() -> None:
    """Programs inherit that a signal is ignored, as below `nohup` or by the `&` of a script: they are to hear all."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGXCPU):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # which ignores it, too, but is not inherited


@pytest.fixture(scope="session")
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The caller's way to the programs, and choice of kernels, alone; no terminal, no colour, UTF-8, lines of 80."""
    programs = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    return {
        **kernels(), "PATH": os.pathsep.join(programs), "LC_ALL": "C.UTF-8", "COLUMNS": "80", "HOME": os.devnull,
        "MPLCONFIGDIR": str(tmp_path_factory.mktemp("matplotlib")),  # else each picture looks for all fonts anew
    }  # fmt: skip


@pytest.fixture(scope="session")
def environment(
    plain_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, str]]:
    """The plain one for tests that type many commands: `pcatool` is loaded once, and forked for each."""
    if request.config.getoption("--real-starts"):
        yield plain_environment
        return
    from standby import standing_by

    with standing_by(tmp_path_factory.mktemp("standby"), plain_environment) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run in, with the sample data at hand."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    return tmp_path


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A server of S3 for all tests: its port, and its log."""
    from stores.server import running

    with running(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture
def store(moto: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> Store:
    """A bucket of one's own, where the environment leads."""
    from stores.server import ENVIRONMENT, Store

    made = Store(*moto, f"b-{uuid4().hex[:12]}")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": made.endpoint}.items():
        monkeypatch.setenv(name, value)
    return made
