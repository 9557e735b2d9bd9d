"""Parameters that several commands share, checks of them, and functions that write rows or a model and report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pcatool.cli.reporter import ConsoleReporter, print_on_stderr
from pcatool.errors import FileError, ModelError, PcatoolError, UsageError
from pcatool.options import ANY_FILE, DATA, MODEL, MODEL_OR_DATA, EngineOptions, OutputOptions, TableOptions
from pcatool.stores.uri import is_remote, shown
from pcatool.terminal import Screen
from pcatool.wording import reword_for_model

if TYPE_CHECKING:
    from pcatool.model.model import Model
    from pcatool.pipeline.combine import Combined
    from pcatool.pipeline.fit import Fitted
    from pcatool.pipeline.results import Results
    from pcatool.progress import Reporter

__all__ = [
    "Inputs",
    "ModelOutput",
    "ModelPath",
    "NoClobber",
    "Subject",
    "model_of",
    "prints_usage",
    "refuse_binary",
    "remedies_for_model",
    "variance_report",
    "write_model",
    "write_rows",
]

STDIN = "-"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT...",
        help="CSV or Parquet files, folders or globs; - or no INPUT means standard input.",
        show_default=False,
    ),
    DATA,
]
ModelPath = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model file, as pcatool fit writes it; - is standard input.", show_default=False
    ),
    MODEL,
]
Subject = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL|DATA...",
        help="A model, or data for a fit; - or no argument means standard input.",
        show_default=False,
    ),
    MODEL_OR_DATA,
]
ModelOutput = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="MODEL",
        help="File for the model. The name - means standard output. A file that exists is replaced only when the new "
        "model is complete.",
        rich_help_panel="Output",
        show_default=False,
    ),
    ANY_FILE,
]
NoClobber = Annotated[
    bool, typer.Option("--no-clobber", help="Refuse to replace a file that exists.", rich_help_panel="Output")
]


def prints_usage(inputs: list[str] | None, command: str, usage: str) -> bool:
    """Print a short usage text and return True if no input is named and standard input is a terminal; else False.

    The command would otherwise wait for typed input. `usage` is the usage line after the name of the command. Raises
    `FileError` if standard input is to be read but closed.
    """
    if inputs and STDIN not in inputs:
        return False
    if sys.stdin is None:
        raise FileError("standard input is closed", "give a file, or a pipe")
    if inputs or not sys.stdin.isatty():
        return False
    print_on_stderr(
        f"usage: pcatool {command} {usage}\n"
        f"There is nothing to read: name a file, or pipe data in, as in: cat data.csv | pcatool {command} ...\n"
        f"See 'pcatool {command} --help'."
    )
    return True


def refuse_binary(output: str | None, what: str) -> None:
    """Raise `UsageError` if binary data would go to a terminal; `what` names the data in the message.

    Standard output is meant by an `output` of None or "-".
    """
    if output in (None, "-") and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(
            f"{what} is binary, and standard output is a terminal", "name a file with -o, or redirect the output"
        )


def model_of(path: str, inputs: Sequence[str] | None) -> Model:
    """Return the model at `path`, which is to be applied to `inputs`; no inputs mean standard input.

    Raises `UsageError` if `path` is not a model but an input seems to be, or if standard input is both model and data.
    """
    from pcatool.model.npz import load_model

    if path == STDIN and (not inputs or STDIN in inputs):
        raise UsageError("standard input cannot be both the model and the data", "give the model or the data as a file")
    try:
        return load_model(path)
    except ModelError as error:
        if any(is_zip(name) for name in inputs or ()):
            raise UsageError(error.message, "name the model first, then the data") from None
        raise


@contextmanager
def remedies_for_model(path: str | None) -> Iterator[None]:
    """Context that rewords errors for a command without -x: advice to leave out columns names `refit` or a new fit.

    `path` is the model that the command applies; None: errors stay unchanged.
    """
    try:
        yield
    except PcatoolError as error:
        if path is not None:
            error.reword(partial(reword_for_model, without=partial(_without_columns, path)))
        raise


def _without_columns(path: str, columns: str) -> str:
    """Return the call that makes the model at `path` without some columns, for a message.

    `columns` is the argument of -x, "" if unknown. The call is `pcatool refit`, or `pcatool fit` if the model keeps no
    sums to refit from.
    """
    from pcatool.model.npz import load_model

    with suppress(PcatoolError):  # a model from standard input cannot be read again
        if path != STDIN and load_model(path).statistic is None:
            return f"a new fit, pcatool fit DATA -x {columns or 'COLUMN'} -o NEW.npz"
    return f"pcatool refit {quote(shown(path))} -x {columns or 'COLUMN'} -o NEW.npz"


def is_zip(path: str) -> bool:
    """Whether a file begins like a zip archive, as models do; False for a pipe or an unreadable file."""
    with suppress(FileError, OSError, ValueError):
        if is_remote(path) or Path(path).is_file():  # not a pipe: its bytes could not be read again
            from pcatool.readers.opener import ZIP, read_beginning
            from pcatool.readers.paths import Input

            return read_beginning(Input(path), len(ZIP)) == ZIP
    return False


def variance_report(fitted: Fitted, form: str) -> str:
    """Return the table of variance per component as text in the format `form`, as wide as the terminal."""
    from pcatool.model.description import settings_text
    from pcatool.render.text import render_table

    screen, model = Screen.now(), fitted.model
    caption = f"{settings_text(model)}; k = {model.k} {'kept' if fitted.shown_k is None else 'shown'}"
    columns = fitted.shown_variance.columns()
    return render_table(columns, form, caption=caption, width=screen.width, color=screen.color, unicode=screen.unicode)


def _goes_to_folder(output: OutputOptions) -> bool:
    """Whether the output is a folder, to which one file is written for each input."""
    if output.output in (None, "-") and not output.resume:
        return False
    from pcatool.pipeline.output_folder import goes_to_folder

    return goes_to_folder(output)


def write_rows(
    name: str,
    fitted: Model,
    make: Callable[[Any, TableOptions, Reporter], Results],
    inputs: list[str],
    table: TableOptions,
    output: OutputOptions,
    engine: EngineOptions,
    model: str,
    reporter: ConsoleReporter,
) -> int:
    """Write the rows that `make(inputs, table, reporter)` returns, and print the summary; return exit code 0.

    Rows go to one output, to one file per input in a folder, or to parts that a cluster writes. `name` is the
    command, `fitted` the model in use, `model` the path from which the model was read.
    """
    if engine.in_other_processes:
        from pcatool.pipeline.cluster import write_parts
        from pcatool.render.summary import apply_facts, apply_lines, parts_facts, parts_lines

        results, written = write_parts(make, inputs, table, output, model, engine, reporter)
        facts = apply_facts(name, results.model, results.row_counts, results.errors.mean, output.output)
        facts |= parts_facts(written)
        reporter.close(facts, [*apply_lines(facts), *parts_lines(facts)], stdout_free=True)
        return 0
    if _goes_to_folder(output):
        from pcatool.pipeline.output_folder import write_each
        from pcatool.render.summary import apply_facts, apply_lines, folder_facts, folder_lines

        outputs = write_each(make, inputs, table, output, model, reporter)
        facts = apply_facts(name, fitted, outputs.row_counts, outputs.errors.mean, output.output)
        facts |= folder_facts(outputs.written, outputs.skipped, outputs.resumed)
        reporter.close(facts, [*apply_lines(facts), *folder_lines(facts)], stdout_free=True)
        return 0
    from pcatool.pipeline.results import warn_of_empty_results, write

    results = make(inputs, table, reporter)
    write(results, output, model)
    warn_of_empty_results(results.row_counts, results.inputs.resolved.inputs, results.plan.options, reporter)
    if reporter.summarizes:
        from pcatool.render.summary import apply_facts, apply_lines

        facts = apply_facts(name, results.model, results.row_counts, results.errors.mean, output.output)
        reporter.close(facts, apply_lines(facts), stdout_free=output.output not in (None, "-"))
    return 0


def write_model(
    name: str,
    output: str | None,
    no_clobber: bool,
    inputs: Sequence[str],
    make: Callable[[], Combined],
    reporter: ConsoleReporter,
) -> int:
    """Write the model that `make` returns to `output`, and print the summary; return exit code 0.

    `name` is the command. An output that cannot be written, or that is one of the inputs, is refused before `make` is
    called.
    """
    if output is None:
        raise UsageError(
            f"{name} needs -o MODEL, the file to write the model to", "add -o model.npz, or -o - for standard output"
        )
    refuse_binary(output, "a model")
    from pcatool.model.npz import save_model
    from pcatool.render.summary import combined_facts, combined_lines
    from pcatool.writers.sink import check_target

    check_target(output, no_clobber=no_clobber, inputs=inputs)
    combined = make()
    save_model(combined.model, output, no_clobber=no_clobber, inputs=inputs)
    facts = combined_facts(name, combined.model, combined.before, combined.row_counts, output)
    reporter.close(facts, combined_lines(facts), stdout_free=output != "-")
    return 0
