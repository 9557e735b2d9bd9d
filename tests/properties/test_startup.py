"""What is loaded when, and how a run ends: a program is started many times a night, and what it need not do is lost.

What it writes is all there at its end, though it is not taken down piece by piece.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pcatool import resources as memory
from pcatool.cli import app
from pcatool.cli import signals as process
from pcatool.errors import UsageError

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]

# Runs the program, or imports, and says which modules are there at the end.
SCRIPT = """
import json, sys
{body}
print(json.dumps(sorted(sys.modules)))
"""
PROGRAM = "from pcatool.cli.app import run; assert run({arguments!r}) == 0"


def loaded(body: str, folder: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def by_program(*arguments: str, folder: Path) -> set[str]:
    return loaded(PROGRAM.format(arguments=list(arguments)), folder)


@pytest.fixture
def houses(folder: Path) -> Path:
    by_program("fit", "sample_data/houses.csv", "-k", "1", "-o", "houses.npz", folder=folder)
    return folder


@pytest.mark.parametrize(
    "arguments", ["--help", "help", "help tables", "--version", "fit --help", "scree --help", "completion zsh"]
)
def test_help_needs_no_numbers(arguments: str, folder: Path) -> None:
    modules = by_program(*arguments.split(), folder=folder)
    assert modules.isdisjoint({"numpy", "pyarrow", "pandas", "scipy", "rich.console", "pydantic"})


def test_the_package_alone_loads_nothing(folder: Path) -> None:
    assert loaded("import pcatool", folder).isdisjoint({"numpy", "pyarrow", "pandas", "scipy", "typer"})


HEAVY = {"pandas", "scipy", "matplotlib", "rich.console", "pydantic", "numpy.ma", "numpy.random", "pyarrow.parquet"}


def test_a_fit_of_clean_numbers_loads_little(folder: Path) -> None:
    modules = by_program("fit", "sample_data/houses.csv", "-o", "m.npz", folder=folder)
    assert "numpy" in modules
    assert modules.isdisjoint(HEAVY | {"pyarrow.compute", "pcatool.kernels.base", "pcatool.model.scikit_learn"})


def test_a_fit_imports_its_solver_alone(folder: Path) -> None:
    """Solving again is planned for, though eigenvalues of this table are in no doubt."""
    (folder / "t.csv").write_text("a,b\n1,2\n2,1\n3,5\n4,4\n7,1\n")
    modules = by_program("fit", "t.csv", "-o", "m.npz", folder=folder)
    assert {name for name in modules if name.rpartition(".")[0] == "pcatool.solvers"} == {
        f"pcatool.solvers.{name}" for name in ("base", "covariance", "estimate", "plan", "rows")
    }


@pytest.mark.parametrize("arguments", ["fit houses.csv -o m.npz", "transform houses.npz houses.csv -o s.csv"])
def test_one_thread_needs_no_pool(arguments: str, houses: Path) -> None:
    (houses / "houses.csv").symlink_to(houses / "sample_data" / "houses.csv")
    modules = by_program(*arguments.split(), "--threads", "1", folder=houses)
    assert modules.isdisjoint({"concurrent.futures", "concurrent.futures.thread"})


@pytest.mark.parametrize("more", ["", "--float-format .6g", "--output-format jsonl"])
def test_a_transform_of_clean_numbers_loads_little(more: str, houses: Path) -> None:
    modules = by_program(
        "transform", "houses.npz", "sample_data/houses.csv", "-o", "s.csv", *more.split(), folder=houses
    )
    assert modules.isdisjoint(HEAVY)
    fits = ("pcatool.methods", "pcatool.rules", "pcatool.solvers", "pcatool.kernels")
    assert [name for name in modules if name.startswith(fits)] == [], "a linear model is applied without what fits it"


@pytest.mark.parametrize(
    "arguments",
    [
        "explain-variance houses.npz",
        "scree houses.npz",
        "components houses.npz",
        "inspect houses.npz",
        "diff houses.npz houses.npz",
        "reconstruct houses.npz s.csv",
    ],
)
def test_reports_load_little(arguments: str, houses: Path) -> None:
    (houses / "s.csv").write_text("PC1\n1\n")
    assert by_program(*arguments.split(), folder=houses).isdisjoint(HEAVY)


# --- only the subcommand named is built ---

COMMANDS = ["fit", "transform", "reconstruct", "explain-variance", "scree", "components", "plot", "report"]
COMMANDS += ["inspect", "diff", "update", "merge", "subtract", "refit", "completion", "help"]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the subcommands as they are built."""
    names: list[str] = []
    command = app.command

    def watched(tree: Any, run: Any, name: str, usage: str) -> None:
        names.append(name)
        command(tree, run, name, usage)

    monkeypatch.setattr(app, "command", watched)
    return names


@pytest.mark.parametrize("name", COMMANDS)
def test_only_the_subcommand_named_is_built(name: str, built: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([name, "--help"], ["help", name]):
        built.clear()
        assert app.run(words) == 0
        assert built == [name]
        assert f"pcatool {name} " in capsys.readouterr().out


@pytest.mark.parametrize("words", [["help"], ["help", "tables"]])
def test_topics_need_no_other_subcommand(
    words: list[str], built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(words) == 0
    assert built == ["help"]
    assert "pcatool" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["-x", "fit"]])
def test_without_one_all_are_built(words: list[str], built: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    app.run(words)
    assert built == COMMANDS
    assert "".join(capsys.readouterr())


def test_a_slip_in_the_name_is_compared_with_all() -> None:
    for slip, name in (("fitt", "fit"), ("scre", "scree"), ("explain", "explain-variance")):
        with pytest.raises(UsageError, match=f"there is no command '{slip}'; did you mean {name}"):
            app.run([slip])


WRONG = {
    "fit --with-error": "option '--with-error' is for transform, reconstruct, report, not for fit",
    "transform m.npz --standardize": "option '--standardize' is for ",
    "scree -s --keep a": "option '--keep' is for fit, transform, reconstruct, report, not for scree",
    "reconstruct m.npz -s": "option '-s' is for ",
    "fit --n-components 3": "there is no option '--n-components'; did you mean --components?",
    "transform --n-components 3": "there is no option '--n-components'",
    "explain-variance --formt csv": "there is no option '--formt'; did you mean --format?",
    "transform --model m.npz": "'--model' is an argument, not an option; write its value alone, as in pcatool "
    "transform ",
    "fit -k": "-k needs a value",
    "transform": "transform needs MODEL",
    "scree --nothing-like-it": "there is no option '--nothing-like-it'",
    "--standardize fit": "option '--standardize' belongs after the command, as in pcatool fit --standardize",
}


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_still_tells_of_the_others(
    call: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as when all were built."""

    def said() -> tuple[int, str]:
        return app.run(call.split()), capsys.readouterr().err

    part = said()
    program = app.program

    def whole(commands: Sequence[ModuleType] = app.COMMANDS) -> Any:
        return program()

    monkeypatch.setattr(app, "program", whole)
    assert said() == part
    assert part[0] == 2
    assert part[1].startswith(f"pcatool: error: {WRONG[call]}")


# --- before and after ---


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "tune_allocator", lambda: None)
    for name, ours in (("OPENBLAS_NUM_THREADS", "1"), ("ARROW_DEFAULT_MEMORY_POOL", "system")):
        monkeypatch.setenv(name, "theirs")
        process.set_environment()
        assert os.environ[name] == "theirs"
        monkeypatch.delenv(name)
        process.set_environment()
        assert os.environ[name] == ours


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda what, value: settings.append((what, value)))
    monkeypatch.setattr(memory, "_c_library", lambda: library)
    memory.tune_allocator()
    assert settings == [(-3, memory.LARGE_BLOCK), (-1, 256 << 20), (-8, memory.HEAPS)]
    monkeypatch.setattr(memory, "_c_library", object)
    memory.tune_allocator()
    memory.release_free_memory()


LEAVE = """
import sys, threading, time
from pcatool.cli.signals import exit_now
threading.Thread(target=time.sleep, args=(60,)).start()
{body}
exit_now(7)
"""
# Into a buffer that takes it all, so that nothing of it is written before the end.
WRITES = """
sys.stdout = open(1, "w", 1 << 20, closefd=False)
sys.stdout.write("x" * 300_000)
sys.stderr.write("said")
"""

# What is done before leaving, the call, and what comes of it.
LEAVING = {
    "to a pipe": (WRITES, '$LEAVE | (sleep 0.1; wc -c); echo "${PIPESTATUS[0]}"', "300000\n7\n", "said"),
    "to a file": (WRITES, "$LEAVE > out; echo $?; wc -c < out", "7\n300000\n", "said"),
    "nobody reads": (WRITES, '$LEAVE | true; echo "${PIPESTATUS[0]}"', "7\n", "said"),
    "no room": (WRITES, "$LEAVE > /dev/full; echo $?", "7\n", "said"),
    "closed before": ("assert sys.stdout is sys.stderr is None", "$LEAVE >&- 2>&-; echo $?", "7\n", ""),
    "closed since": ("sys.stdout.close(); sys.stderr.close()", "$LEAVE; echo $?", "7\n", ""),
}


@pytest.mark.parametrize("case", LEAVING)
def test_leaving_writes_all_and_keeps_the_exit_code(
    case: str, plain_environment: dict[str, str], tmp_path: Path
) -> None:
    body, script, stdout, stderr = LEAVING[case]
    if "/dev/full" in script and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (tmp_path / "leave.py").write_text(LEAVE.format(body=body))
    environment = {**plain_environment, "LEAVE": f"{sys.executable} leave.py"}
    done = shell(script, tmp_path, environment)
    assert (done.stdout, done.stderr) == (stdout, stderr)


def shell(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=30,
    )  # fmt: skip


def test_all_output_is_there_when_the_program_ends(
    houses: Path, plain_environment: dict[str, str], tmp_path: Path
) -> None:
    """To a pipe whose reader takes its time, as to a file; with the exit code of what went before."""
    rows = "".join(f"{i},{i % 7}\n" for i in range(3000))
    (tmp_path / "many.csv").write_text(f"price,area\n{rows}")
    (tmp_path / "bad.csv").write_text(f"price,area\n{rows}x,1\n")
    for call, code in (
        ("explain-variance houses.npz --format csv", 0),
        ("fit many.csv -o -", 0),
        ("transform houses.npz bad.csv", 3),
    ):
        done = shell(
            f"pcatool {call} > file 2> said; echo $?; pcatool {call} 2> also | (sleep 0.1; cat > piped);"
            f'echo "${{PIPESTATUS[0]}}"; cmp file piped; cmp said also; test -s file -o {code} -ne 0 && echo whole',
            houses,
            plain_environment,
        )
        assert (done.stdout, done.stderr) == (f"{code}\n{code}\nwhole\n", ""), call


def test_closed_streams_change_no_exit_code(houses: Path, plain_environment: dict[str, str]) -> None:
    done = shell(
        "pcatool explain-variance houses.npz 2>&- | wc -l; pcatool explain-variance none.npz 2>&-; echo $?;"
        "pcatool explain-variance houses.npz >&-; echo $?;"
        "pcatool fit sample_data/houses.csv -o m.npz >&- 2>&-; echo $?",
        houses,
        plain_environment,
    )
    assert done.stdout.split() == ["3", "5", "5", "0"]
    assert done.stderr == "pcatool: error: cannot write 'standard output': it is closed\n"
