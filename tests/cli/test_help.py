"""The help pages: they fit the window, say every option, and their examples run as they stand."""

from __future__ import annotations

import re
import subprocess
from contextlib import redirect_stdout
from dataclasses import fields
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from pcatool import options
from pcatool.cli import app, help_page
from pcatool.errors import UsageError
from pcatool.registry import PLOTS
from pcatool.terminal import Screen
from pcatool.wording import counted

REPORTS = ("explain-variance", "scree", "components", "plot", "report", "inspect", "diff")
AGAIN = ("update", "merge", "subtract", "refit")
COMMANDS = ("fit", "transform", "reconstruct", *REPORTS, *AGAIN, "completion", "help")
TAKES = {
    "fit": ("TableOptions", "SelectOptions", "FitOptions", "GeneralOptions"),
    "transform": ("TableOptions", "ApplyOptions", "OutputOptions", "GeneralOptions"),
    "reconstruct": ("TableOptions", "ApplyOptions", "OutputOptions", "GeneralOptions"),
    "explain-variance": ("TableOptions", "SelectOptions", "FitOptions", "ReportOptions", "GeneralOptions"),
    "scree": ("PictureOptions", "TableOptions", "SelectOptions", "FitOptions", "GeneralOptions"),
    "components": (
        "ComponentsOptions",
        "PictureOptions",
        "TableOptions",
        "SelectOptions",
        "FitOptions",
        "GeneralOptions",
    ),
    "plot": ("PlotOptions", "PictureOptions", "TableOptions", "SelectOptions", "FitOptions", "GeneralOptions"),
    "report": ("PageOptions", "TableOptions", "ApplyOptions", "GeneralOptions"),
    "inspect": ("InspectGeneralOptions",),
    "diff": ("DiffOptions", "DiffGeneralOptions"),
    "update": ("TableOptions", "UpdateOptions", "GeneralOptions"),
    "merge": ("AlignOptions", "GeneralOptions"),
    "subtract": ("TableOptions", "UpdateOptions", "GeneralOptions"),
    "refit": ("RefitOptions", "GeneralOptions"),
    "completion": (),
    "help": (),
}


def page(environment: dict[str, str], *words: str) -> str:
    """As the program prints it."""
    command = ["pcatool", *words, "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@cache
def text_of(*words: str, columns: int = 80) -> str:
    """A page, written by the same process."""
    out = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setenv("COLUMNS", str(columns))
        assert app.run(list(words)) == 0
    return out.getvalue()


@pytest.mark.parametrize(
    ("command", "prints"),
    [
        ("fit", "Print a summary of the run"),
        ("inspect", "Print every column and every component."),
        ("diff", "Print all columns"),
    ],
)
def test_the_help_of_verbose_says_what_the_command_prints(command: str, prints: str) -> None:
    assert re.search(rf"-v, --verbose +{prints}", text_of(command, "--help"))


def examples(text: str) -> list[str]:
    """The calls below `Examples:`, lines that are continued joined."""
    block = text.partition("Examples:\n")[2].partition("\n\n")[0]
    joined = re.sub(r"(\\|\|)\n\s+", lambda found: " " if found[1] == "\\" else "| ", block)
    return [line.strip() for line in joined.splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
def test_the_program_prints_what_the_same_process_writes(words: tuple[str, ...], environment: dict[str, str]) -> None:
    """So the other tests here need not start it, which takes longest; `transform` stands for a wide window."""
    assert page(environment, *words) == text_of(*words, "--help")
    if words == ("transform",):
        assert page({**environment, "COLUMNS": "200"}, *words) == text_of(*words, "--help", columns=200)


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("columns", [80, 200])
def test_a_page_fits_the_window(words: tuple[str, ...], columns: int) -> None:
    lines = text_of(*words, "--help", columns=columns).splitlines()
    assert max(map(len, lines)) <= min(columns, 100)
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_in_order(name: str) -> None:
    text = text_of(name, "--help")
    usage, sentence, *_ = [part for part in text.split("\n\n") if part]
    assert usage.startswith(f"Usage: pcatool {name} ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert sentence in re.sub(r"\s+", " ", text_of("--help")), "the list of commands says it in the same words"
    assert 2 <= len(examples(text)) <= 4
    headings = re.findall(r"^([A-Z][a-z]+):$", text, re.MULTILINE)
    methods = ["Kernel", "Supervised"] if "FitOptions" in TAKES[name] else []
    of_models = {"diff": ["Output"], "merge": ["Model", "Output"], "refit": ["Model", "Output"]}
    others = ["Input", "Model", *methods, "Output"] if "TableOptions" in TAKES[name] else of_models.get(name, [])
    assert headings == ["Examples", "Arguments", *others, "General"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_page_is_a_part_of_the_whole(name: str) -> None:
    """What it does, the examples, and the options most calls need; the rest is counted."""
    short, whole = text_of(name, "-h"), text_of(name, "--help")
    assert set(short.splitlines()) - set(whole.splitlines()) <= {"Options:", short.splitlines()[-1]}
    assert examples(short) == examples(whole)
    lists = (text.partition("\nArguments:\n")[2] for text in (short, whole))
    usual, every = (re.findall(r"^ {2}(?:-.,| {3}) --[a-z0-9-]+", text, re.MULTILINE) for text in lists)
    assert 1 <= len(usual) <= 16
    if len(usual) < len(every):
        assert short.endswith(f"\n\n'pcatool {name} --help' shows {counted(len(every) - len(usual), 'more option')}.\n")


@pytest.mark.parametrize("kind", list(PLOTS))
def test_a_page_on_one_kind_of_plot(kind: str) -> None:
    """It has the examples of this kind, and all options but those that do not go with it."""
    text, whole = text_of("plot", kind, "--help"), text_of("plot", "--help")
    assert text.startswith(f"Usage: pcatool plot {kind} MODEL|DATA... -o PICTURE [OPTIONS]\n\n{kind.capitalize()}: ")
    assert examples(text) == [call for call in examples(whole) if call.startswith(f"pcatool plot {kind} ")]
    assert len(examples(text)) == 1
    shown, every = (set(re.findall(r"^ {2}(?:-.,| {3}) (--[a-z0-9-]+)", page, re.MULTILINE)) for page in (text, whole))
    in_kernel = {"--kernel", "--gamma", "--degree", "--coef0", "--neighbors", "--landmarks"}
    unsuited = {flag for name in PLOTS[kind].unsuited for flag in (in_kernel if name == "kernel" else {name})}
    assert unsuited <= every
    assert shown == every - unsuited
    assert text_of("help", "plot", kind) == text
    last = text_of("plot", kind, "-h").splitlines()[-1]
    assert re.fullmatch(rf"'pcatool plot {kind} --help' shows \d+ more options\.", last)


VALUES = {"--scaling": "rows", "--color": "a", "--from": "rows", "--engine": "dask", "--scheduler": "x:1", "kernel": ""}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in PLOTS for name in PLOTS[kind].unsuited])
def test_options_that_a_page_leaves_out_are_refused(kind: str, name: str, folder: Path) -> None:
    option = ["--method", "kernel"] if name == "kernel" else [name, VALUES[name]]
    more = ["--engine", "dask"] if name == "--scheduler" else []
    with pytest.raises(UsageError):
        app.run(["plot", kind, str(folder / "sample_data/houses.csv"), "--format", "csv", *option, *more])


def test_usual_options_are_options() -> None:
    """A name that no option has any more would show nothing."""
    tree = app.program()
    known = {name for command in tree.commands.values() for param in command.params for name in param.opts}
    assert known | {"--help"} >= help_page.USUAL_OPTIONS


@pytest.mark.parametrize("color", [True, False])
def test_headings_are_bold_on_a_terminal(color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = text_of("fit", "-h")
    monkeypatch.setattr(app.Screen, "now", lambda: Screen(True, 80, color, True))
    shown = text_of.__wrapped__("fit", "-h")  # not the one that is kept
    assert shown.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain
    assert ("\x1b[1mUsage:\x1b[0m pcatool" in shown, "\n\x1b[1mOptions:\x1b[0m\n" in shown) == (color, color)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_names_every_option(name: str) -> None:
    text = text_of(name, "--help", columns=200)
    for record in TAKES[name]:
        for field in fields(getattr(options, record)):
            flag = field.metadata["flag"]
            for spelling in flag.names[-1].split("/"):
                assert re.search(rf"(^|[ ,]){re.escape(spelling)}\b", text, re.MULTILINE), spelling
            for choice in flag.choices() if flag.choices else ():
                assert choice in text


@pytest.mark.long
def test_the_examples_run_in_the_order_they_stand(folder: Path, environment: dict[str, str]) -> None:
    """Those of one page need what those before them made: one folder for all, as a reader would have it."""
    calls = examples(text_of("--help"))
    for name in COMMANDS:
        calls += examples(text_of(name, "--help"))
    assert len(calls) > 15
    script = "\n".join(["set -e -o pipefail", *calls])
    command = ["bash", "-c", script]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    assert "error:" not in done.stderr


@pytest.mark.long
def test_an_example_of_subtract_needs_no_update_before(folder: Path, environment: dict[str, str]) -> None:
    """Somebody who has only fitted digits.npz can remove rows from it."""
    calls = [call for name in ("fit", "subtract") for call in examples(text_of(name, "--help")) if "digits.npz" in call]
    assert len(calls) == 2
    command = ["bash", "-c", "\n".join(["set -e -o pipefail", *calls])]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
