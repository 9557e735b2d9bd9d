"""Check batches for missing and infinite cells; refuse, drop or mark the rows as `--missing` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, run_serially
from pcatool.errors import BadCell, DataError, PcatoolError, show
from pcatool.readers.base import BAD_CELL_REMEDY, Batch, Part, Rounded, Table, all_finite, has_above_2_53
from pcatool.readers.inputs import Inputs, Piece
from pcatool.readers.labels import Classes
from pcatool.readers.passthrough import cast_to_first
from pcatool.readers.row_counts import IncompleteCells, RowCounts
from pcatool.readers.schema import ColumnChoice

__all__ = ["USES_INCOMPLETE", "CheckedBatch", "checked_batches", "refuse_incomplete", "rows_to_fit"]


def numbers_for_missing(nulls: Sequence[str]) -> dict[float, str]:
    """Return the spellings of a missing cell that are numbers, such as -999, by their value."""
    found = {}
    for text in nulls:
        try:
            found[float(text)] = text
        except ValueError:
            continue
    return found


def with_missing(batch: Batch, numbers: Mapping[float, str]) -> Batch:
    """Return the batch with each cell of these values made missing; `numbers` gives the spelling of each."""
    X, counts = batch.X.copy(order="K"), Counter[str]()
    for value, text in numbers.items():
        is_missing = value == X
        counts[text] += int(np.count_nonzero(is_missing))
        X[is_missing] = np.nan
    return batch._replace(X=X, finite=all_finite(X), spellings=lambda: Counter(batch.spellings()) + counts)


# Values of --missing with which a fit uses incomplete rows as they are.
USES_INCOMPLETE = ("mean", "em")


class CheckedBatch(NamedTuple):
    """A batch without infinite cells, whose incomplete rows are marked; the input of fits and of scoring."""

    X: Array  # (n, d); NaN where a cell is missing
    passthrough: Sequence[Any]  # passthrough columns
    place: Callable[[int], str]  # row of this batch -> "file, line 7"
    incomplete: NDArray[np.bool_] | None  # (n,) mask of rows with a missing cell; None if there are none


class PieceRead(NamedTuple):
    """A piece after parsing; `batch` is None at the end of an input and for a bad input."""

    position: int  # of the input
    batch: Batch | None = None
    missing: IncompleteCells | None = None  # missing cells of the batch; None if there are none
    rounded: Rounded | None = None  # first whole number without an exact double
    error: PcatoolError | None = None  # why the input is bad

    @property
    def size(self) -> int:
        """Bytes of memory that the batch takes."""
        return (
            0 if self.batch is None else self.batch.X.nbytes + sum(column.nbytes for column in self.batch.passthrough)
        )


class CheckedReading(NamedTuple):
    """The settings with which threads read pieces; its method `read` is what they run."""

    inputs: Inputs
    chosen: ColumnChoice
    types: Sequence[tuple[str, Any]]  # name and Arrow type of each passthrough column
    numbers: Mapping[float, str]  # values that count as missing, with their spelling
    report: bool  # count spellings and patterns of missing cells
    check: Callable[[CheckedBatch], None] | None  # raises where a batch must not be used

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of X, after labels were replaced by a class."""
        chosen = self.chosen
        return chosen.names if chosen.classes is None else (*chosen.features, chosen.classes.name)

    def read(self, piece: Piece) -> PieceRead:
        """Parse and check a piece; with --skip-bad, an error that makes the input bad is returned, not raised."""
        if piece.part is None or piece.table is None:
            return PieceRead(piece.position, error=piece.error)
        try:
            return self._read(piece.position, piece.table, piece.part)
        except PcatoolError as error:
            return PieceRead(piece.position, error=self.inputs.bad_files.skippable_error(piece.position, error))

    def _read(self, position: int, table: Table, part: Part) -> PieceRead:
        """Parse a part, cast its passthrough columns, and check its cells."""
        batch = part.batch()
        if self.types:
            batch = batch._replace(passthrough=cast_to_first(batch.passthrough, self.types, table.name, batch.place))
        if self.numbers and not table.text:
            batch = with_missing(batch, self.numbers)
        classes = self.chosen.classes
        missing = _missing_cells(batch, self.names, self.report) if classes is None else None
        rounded = batch.rounded() if not self.inputs.rounding_note and has_above_2_53(batch.X) else None
        if self.check is not None:
            self.check(checked(batch, missing) if classes is None else self._labelled(batch, classes))
        return PieceRead(position, batch, missing, rounded)

    def _labelled(self, batch: Batch, classes: Classes) -> CheckedBatch:
        """Return the batch for `check`, with 0 in place of each class number.

        Classes are numbered in row order, which threads do not keep, so that the numbers are not known yet.
        """
        label = np.where(classes.rows_without_label(batch), np.nan, 0.0)
        X = np.column_stack([batch.X[:, : len(self.chosen.features)], label])
        return CheckedBatch(X, (), batch.place, np.isnan(X).any(axis=1))


def checked(batch: Batch, missing: IncompleteCells | None) -> CheckedBatch:
    """Return the batch with its incomplete rows marked."""
    return CheckedBatch(batch.X, batch.passthrough, batch.place, None if missing is None else missing.rows)


def checked_batches(
    inputs: Inputs,
    chosen: ColumnChoice,
    counts: RowCounts,
    *,
    eager: bool,
    report: bool = False,
    check: Callable[[CheckedBatch], None] | None = None,
    run: Runner = run_serially,
) -> Iterator[CheckedBatch]:
    """Yield all rows of all inputs, in order; missing cells are counted and marked.

    The inputs are cut into parts in the calling thread; `run` parses the parts, in threads or in turn. With `report`,
    `counts` also counts spellings and patterns of missing cells. `check` is used only where an input counts as a whole
    (`Inputs.by_file`): an error it raises makes the input bad. Elsewhere the caller checks. Raises DataError for a cell
    that cannot be read or is infinite.
    """
    types, check = inputs.columns.passthrough_types(chosen.passthrough), check if inputs.by_file else None
    reading = CheckedReading(inputs, chosen, types, numbers_for_missing(inputs.nulls), report, check)

    def read(of: Inputs) -> Iterator[PieceRead]:
        pieces = of.stream.pieces(chosen, eager=eager, run=run)
        return run(reading._replace(inputs=of).read, pieces, ready=of.ready if eager else None)

    for found in whole_files(read, inputs) if inputs.bad_files.allowed else read(inputs):
        batch, missing = found.batch, found.missing
        assert batch is not None
        counts.rows += len(batch.X)
        inputs.at_rows(len(batch.X))
        if found.rounded is not None:
            place = batch.place(found.rounded.row)
            inputs.note_rounding(found.rounded.note(place, chosen.names[found.rounded.feature]))
        if chosen.classes is not None:
            batch = chosen.classes.with_classes(batch)
            missing = _missing_cells(batch, reading.names, report)
        if missing is not None:
            counts.features = len(chosen.features)
            counts.count(batch, missing, reading.names)
        yield checked(batch, missing)
    inputs.finish()


# Most bytes of one file that are held until its end is read; a larger file is read twice.
MOST_HELD = 64 << 20


def whole_files(read: Callable[[Inputs], Iterator[PieceRead]], inputs: Inputs) -> Iterator[PieceRead]:
    """Yield the rows of each file only after all of it was read without error; leave out the files that are bad.

    `read` reads inputs piece by piece. A file of more than MOST_HELD bytes is not held but read a second time. The rows
    of a pipe, which cannot be read again, are yielded at once.
    """
    held: list[PieceRead] = []
    size = 0
    for found in read(inputs):
        if found.position in inputs.bad_files.left_out:
            continue
        if found.error is not None:
            inputs.bad_files.leave_out(found.position, found.error)
            held.clear()
            size = 0
        elif found.batch is None:
            yield from read(inputs.single_input(found.position)) if size > MOST_HELD else held
            held.clear()
            size = 0
        elif inputs.resolved.inputs[found.position].is_stream:
            yield found
        else:
            size += found.size
            held.append(found)
            if size > MOST_HELD:
                held.clear()


def _missing_cells(batch: Batch, names: Sequence[str], report: bool) -> IncompleteCells | None:
    """Return the missing cells of a batch, or None if there are none; raises BadCell for an infinite cell."""
    if batch.finite:
        return None
    infinite = np.isinf(batch.X)
    if infinite.any():
        i, j = (int(at[0]) for at in np.nonzero(infinite))
        raise BadCell(batch.place(i), names[j], str(batch.X[i, j]), "is not finite", BAD_CELL_REMEDY)
    return IncompleteCells.of(batch, report=report)


def rows_to_fit(
    inputs: Inputs,
    chosen: ColumnChoice,
    policy: str,
    counts: RowCounts,
    *,
    weighted: bool,
    remedy: str,
    run: Runner = run_serially,
) -> Iterator[Array]:
    """Yield blocks X (n, d) for a fit, with incomplete rows used, dropped or refused as `policy` says.

    Incomplete rows are refused at the end, once all are counted, in an error with `remedy`. With `weighted`, the last
    column is the weight; rows of weight 0 are left out, and a negative weight raises BadCell.
    """

    def check(batch: CheckedBatch) -> None:
        if policy == "error":
            refuse_incomplete(batch, chosen, remedy)
        if weighted:
            _check_weights(batch, chosen.names[-1], missing=policy in USES_INCOMPLETE or batch.incomplete is None)

    report = policy != "error"
    for batch in checked_batches(inputs, chosen, counts, eager=False, report=report, check=check, run=run):
        if policy == "error" and counts.incomplete:
            continue
        dropped = None if policy in USES_INCOMPLETE else batch.incomplete
        if weighted:
            _check_weights(batch, chosen.names[-1], missing=dropped is None)
        X = batch.X if dropped is None else batch.X[~dropped]
        yield X[X[:, -1] > 0] if weighted and not np.all(X[:, -1] > 0) else X
    if policy == "error" and counts.incomplete:
        raise counts.error(remedy)


def refuse_incomplete(batch: CheckedBatch, chosen: ColumnChoice, remedy: str) -> None:
    """Raise DataError for the first missing cell of the batch, if any."""
    if batch.incomplete is not None and batch.incomplete.any():
        row = int(batch.incomplete.argmax())
        column = int(np.isnan(batch.X[row]).argmax())
        name = chosen.classes.name if chosen.classes and column >= len(chosen.features) else chosen.names[column]
        error = DataError(f"{batch.place(row)}: missing cell in column {show(name)}", remedy)
        error.of_input = True
        raise error


def _check_weights(batch: CheckedBatch, name: str, *, missing: bool) -> None:
    """Raise BadCell for a weight below 0 and, with `missing`, DataError for a missing weight."""
    w = batch.X[:, -1]
    bad = np.flatnonzero(~(w >= 0)) if missing else np.flatnonzero(w < 0)
    if len(bad):
        value, place = float(w[bad[0]]), batch.place(int(bad[0]))
        if value < 0:
            raise BadCell(place, name, str(value), "is a negative weight", "give weights of 0 or more")
        raise DataError(f"{place}, column {show(name)}: the weight is missing", "--missing drop leaves such rows out")
