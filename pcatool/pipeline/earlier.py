"""Results of an earlier run that a search for inputs comes upon, told from inputs by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from pcatool.errors import FileError, PcatoolError, UsageError, show
from pcatool.options import TableOptions
from pcatool.pipeline.naming import lies_in, real
from pcatool.pipeline.results import Results
from pcatool.progress import Notices
from pcatool.readers.input_files import Found
from pcatool.readers.inputs import Inputs
from pcatool.readers.paths import Input
from pcatool.readers.skip_bad import is_bad_file
from pcatool.stores.uri import shown

__all__ = ["Make", "Marks", "Sorted", "columns_of", "marks_of", "sorted_out", "tell", "were_found_in"]

# The results of some inputs, given how they are read and where to say what there is to say.
Make = Callable[[Any, TableOptions, Notices], Results]


class Sorted(NamedTuple):
    """What is read, in order, and what was passed over, being results."""

    inputs: list[Input]
    earlier: list[Input]


class Marks(NamedTuple):
    """By which columns the results of a run are told from what it reads."""

    reads: frozenset[str]
    keeps: frozenset[str]  # passed through, so that results have them, too
    writes: str  # the first of those that results have and inputs need not

    def are_in(self, names: Collection[str], *, by_name: bool) -> bool:
        """Are these the columns of results, and of nothing that could be read?

        What is named as a result would be may have what is passed through; else that could as well be an input.
        """
        own = self.reads - self.keeps if by_name else self.reads
        could_be_read = self.writes in self.reads or (bool(own) and own.issubset(names))
        return self.writes in names and not could_be_read


def were_found_in(folder: str, inputs: Iterable[Input]) -> list[Input]:
    """Inputs in the folder of the outputs that a search came upon from outside, maybe by a link."""
    return [item for item in inputs if _was_found_in(folder, item)]


def _was_found_in(folder: str, item: Input) -> bool:
    root = item.root or folder
    return real(folder) != real(root) and not lies_in(root, folder) and lies_in(item.path, folder)


def marks_of(make: Make, found: Found, within: Sequence[Input], folder: str, table: TableOptions) -> Marks:
    """Of a run, by what it makes of the inputs that lie elsewhere."""
    inner = set(within)
    elsewhere = [item for item in found.inputs if item not in inner and not item.flows]
    if not elsewhere:
        raise FileError(f"all inputs lie in {show(shown(folder))}, where their results would go", "name another folder")
    results = make(found.some(elsewhere), table, Notices())
    results.inputs.close()
    reads, keeps = results.plan.wanted.names, (name for name, _ in results.kept)
    return Marks(frozenset(reads), frozenset(keeps), results.names[0])


def sorted_out(found: Found, within: Sequence[Input], marks: Marks, output_of: Callable[[Input], str]) -> Sorted:
    """Which inputs are results. What would be replaced, and may be no result, is refused."""
    inner, earlier = set(within), set[Input]()
    made_of = {real(output_of(item)): item for item in found.inputs if item not in inner}
    for item in sorted(within, key=lambda item: len(real(item.path))):  # results lie deeper than what they are made of
        source = made_of.get(real(item.path))
        if marks.are_in(columns_of(item), by_name=source is not None):
            earlier.add(item)
        elif source is None:
            made_of[real(output_of(item))] = item
        else:
            raise UsageError(
                f"the results of {show(source.name)} would replace {show(item.name)}, which was found among the inputs "
                "and cannot be told to be an earlier result",
                "write to another folder",
            )
    return Sorted(
        [item for item in found.inputs if item not in earlier], [item for item in found.inputs if item in earlier]
    )


def columns_of(item: Input) -> list[str]:
    """Names of the columns of a file as results are written; none of what is no such table."""
    try:
        inputs = Inputs(Found((item,), None), TableOptions(), Notices())
        try:
            return [column.name for column in inputs.first.columns]
        finally:
            inputs.close()
    except PcatoolError as error:
        if not is_bad_file(error):
            raise
        return []


def tell(earlier: Sequence[Input], folder: str, notices: Notices) -> None:
    """They were passed over."""
    if earlier:
        what = "1 file is an earlier result" if len(earlier) == 1 else f"{len(earlier)} files are earlier results"
        notices.note(f"{what} in {show(shown(folder))}, and no input")
