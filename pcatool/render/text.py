"""Text tables (aligned, CSV, JSON, Markdown), labelled lines.

This module does not use `rich.table`: in a narrow window rich cuts numbers or breaks them over lines (`as_table`
continues with further tables below), and its import takes 22 ms of the 120 ms of a report. `fold` does not use
`textwrap`, which counts a letter of double width as one column, or rich, which needs a Console to fold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import UsageError
from pcatool.terminal import BOLD, DIM, display_width, styled
from pcatool.wording import grouped, printable, show

__all__ = [
    "FORMS",
    "Line",
    "fold",
    "format_numbers",
    "labelled",
    "render_table",
]

FORMS = ("table", "csv", "json", "markdown")

GAP = 2  # spaces between the columns of a table
WORD = 12  # narrowest width, in characters, to which a text column or heading is folded, so that words stay readable

Columns = Mapping[str, NDArray[Any]]


def render_table(
    columns: Columns,
    form: str,
    *,
    caption: str = "",
    width: int | None = None,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """Return a table as text that ends with a newline; `form` is one of FORMS. Raise UsageError for any other form.

    All columns must have equal length. `csv` and `json` keep all digits and omit the caption; `table` and `markdown`
    round the numbers. Only `table` uses width, color and unicode.
    """
    if form == "csv":
        return as_csv(columns)
    if form == "json":
        return as_json(columns)
    if form == "markdown":
        return as_markdown(columns, caption)
    if form == "table":
        return as_table(columns, caption, width, color, "─" if unicode else "-")
    raise UsageError(f"unknown report format {show(form)}", f"choose {', '.join(FORMS)}")


def rows(columns: Columns) -> Iterable[tuple[Any, ...]]:
    """Return the rows as tuples of Python values; str() of a float is the shortest text that reads back exactly."""
    return zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)


def as_csv(columns: Columns) -> str:
    """Return the table as CSV with a header line and all digits."""
    lines = [columns, *rows(columns)]
    return "".join(",".join(quoted(value) for value in line) + "\n" for line in lines)


def quoted(value: object) -> str:
    """Return a CSV cell, quoted if needed.

    The csv module of Python 3.11 does not quote a lone carriage return, which readers take for the end of a row.
    """
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if text == "" or set(text) & set(',"\r\n') else text


def as_json(columns: Columns) -> str:
    """Return the table as a JSON array with one object per line; numbers that are not finite become null."""
    objects = (
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in zip(columns, row, strict=True)
        }
        for row in rows(columns)
    )
    lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in objects)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


def as_markdown(columns: Columns, caption: str) -> str:
    """Return the table as a Markdown table with rounded numbers, and the caption below."""
    text_columns = [TextColumn.of(name.replace("|", r"\|"), values) for name, values in columns.items()]
    widths = [max(c.width, 3) for c in text_columns]
    ruler = ["-" * (w - 1) + ":" if c.numeric else "-" * w for c, w in zip(text_columns, widths, strict=True)]
    lines = [[pad(c.name, w, c.numeric) for c, w in zip(text_columns, widths, strict=True)], ruler]
    for row in zip(*(c.cells for c in text_columns), strict=True):
        escaped = (cell.replace("|", r"\|") for cell in row)
        lines.append([pad(cell, w, c.numeric) for cell, c, w in zip(escaped, text_columns, widths, strict=True)])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{printable(caption)}\n" if caption else text


def as_table(columns: Columns, caption: str, width: int | None, color: bool, dash: str) -> str:
    """Return the table as aligned columns; `dash` draws the rule below the headings.

    Columns that do not fit into `width` follow in further tables below, each with the first column repeated. No column
    is omitted and no number is cut: if a number is wider than `width`, its line is longer than `width`.
    """
    groups = split_by_width([TextColumn.of(name, values) for name, values in columns.items()], width)
    lines = "\n\n".join("\n".join(table_lines(group, color, dash)) for group in groups).split("\n")
    if caption:
        folded = fold(printable(caption), width) if width else [printable(caption)]
        lines += ["", *(styled(line, DIM, color) for line in folded)]
    return "\n".join(lines) + "\n"


class TextColumn(NamedTuple):
    """One column of a table, converted to text."""

    name: str
    cells: list[str]
    numeric: bool

    @classmethod
    def of(cls, name: str, values: NDArray[Any]) -> TextColumn:
        """Convert a column to text: floats with `format_numbers`, whole numbers with `grouped`, others with `str`."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            return cls(printable(name), format_numbers(values), True)
        if values.dtype.kind in "iu":
            return cls(printable(name), [grouped(v) for v in values.tolist()], True)
        return cls(printable(name), [printable(str(v)) for v in values.tolist()], False)

    @property
    def width(self) -> int:
        """Display width of the column, heading included."""
        return max(display_width(self.name), self.widest_cell)

    @property
    def widest_cell(self) -> int:
        """Display width of the widest cell; 0 without cells."""
        return max(map(display_width, self.cells), default=0)

    def narrowed(self, cap: int) -> int:
        """Return the width of the column, reduced to `cap`, but not below its widest number.

        Text and headings can be folded, numbers cannot.
        """
        return max(min(self.width, cap), self.widest_cell if self.numeric else 0)


ColumnGroup = list[tuple[TextColumn, int]]


def split_by_width(columns: Sequence[TextColumn], width: int | None) -> list[ColumnGroup]:
    """Return the columns with their widths, in groups that each fit into `width`; a single group if `width` is None.

    Each group begins with the first column. Wide columns of text are narrowed.
    """
    whole = [(c, c.width) for c in columns]
    if width is None or total_width(whole) <= width:
        return [whole]
    # A third of the width each: the first column and one more fit beside each other.
    key, *others = [(c, c.narrowed(max(WORD, width // 3))) for c in columns]
    groups: list[ColumnGroup] = [[key]]
    for column in others:
        if len(groups[-1]) > 1 and total_width([*groups[-1], column]) > width:
            groups.append([key])
        groups[-1].append(column)
    return [distribute_width(group, width) for group in groups]


def distribute_width(group: ColumnGroup, width: int) -> ColumnGroup:
    """Return the group with its spare width given to the columns that were narrowed, from the left."""
    widened: ColumnGroup = []
    spare = max(width - total_width(group), 0)
    for column, w in group:
        more = min(spare, column.width - w)
        widened.append((column, w + more))
        spare -= more
    return widened


def total_width(group: ColumnGroup) -> int:
    """Return the total width of the columns with the gaps between them."""
    return sum(w for _, w in group) + GAP * (len(group) - 1)


def table_lines(group: ColumnGroup, color: bool, dash: str) -> list[str]:
    """Return the lines of one group of columns: headings, a rule made of the character `dash`, the rows."""
    names = row_lines([c.name for c, _ in group], group, bottom=True)
    lines = [styled(line, BOLD, color) for line in names]
    lines.append((" " * GAP).join(dash * w for _, w in group))
    for row in zip(*(c.cells for c, _ in group), strict=True):
        lines += row_lines(row, group)
    return lines


def row_lines(cells: Sequence[str], group: ColumnGroup, *, bottom: bool = False) -> list[str]:
    """Return the lines of one row of cells: several lines if a cell is folded.

    `bottom` aligns cells with fewer lines at the bottom of the row.
    """
    folded = [fold(cell, w) for cell, (_, w) in zip(cells, group, strict=True)]
    height = max(map(len, folded))
    lines = []
    for i in range(height):
        pieces = []
        for lines_of_cell, (column, w) in zip(folded, group, strict=True):
            at = i - (height - len(lines_of_cell)) if bottom else i
            pieces.append(pad(lines_of_cell[at] if 0 <= at < len(lines_of_cell) else "", w, column.numeric))
        lines.append((" " * GAP).join(pieces).rstrip())
    return lines


def format_numbers(values: NDArray[np.floating[Any]], digits: int = 6) -> list[str]:
    """Format the numbers of one column with equal rounding: the largest gets `digits` significant digits.

    If the largest is between 0.01 and 1, all get `digits` decimals. A number with fewer than three significant digits
    in these decimals (two if there are only two decimals) is written with an exponent, so that only zero looks like
    zero. If the largest is below 1e-3, or at least 1e9, all numbers are written with an exponent. Zero is `0`. Trailing
    zeros that all numbers of the column share are removed.
    """
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    places = decimals(largest, digits)
    # With more than nine digits before the point, or three zeros after it, the whole column gets exponents.
    least = min(10.0 ** (2 - places), 0.1) if 1e-3 <= largest < 1e9 else math.inf
    plain, raised, other = {}, {}, {}
    for i, x in enumerate(values.tolist()):
        if x == 0 or not math.isfinite(x):
            other[i] = str(x) if x else "0"
        elif abs(x) >= least:
            plain[i] = f"{x:.{places}f}"
        else:
            raised[i] = f"{x:.{digits - 1}e}"
    texts = other | strip_common_zeros(plain) | strip_common_zeros(raised)
    return [texts[i] for i in range(len(values))]


def decimals(largest: float, digits: int) -> int:
    """Return the number of decimals, at least 2, that give `largest`, the largest of a column, `digits` digits.

    The digits are significant ones. For `largest` from 0.01 to 1 return `digits`, so that all columns of shares have
    equal decimals.
    """
    if 0.01 <= largest <= 1:
        return digits
    exponent = int(f"{largest:.{digits - 1}e}".partition("e")[2])
    return max(digits - 1 - exponent, 2)


def strip_common_zeros(texts: Mapping[int, str]) -> dict[int, str]:
    """Return the numbers, texts by row, without the trailing zeros that all of them share; exponents are kept.

    All numbers must have equally many decimals.
    """
    split = {i: text.partition("e") for i, text in texts.items()}
    spare = min((len(m) - len(m.rstrip("0")) for m, _, _ in split.values() if "." in m), default=0)
    return {i: m[: len(m) - spare].rstrip(".") + e + power for i, (m, e, power) in split.items()}


def fold(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` terminal columns, broken between words, or inside longer words."""
    if display_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(joined) <= width:
            lines[-1] = joined
        else:
            lines += pieces(word, width)
    return lines if lines[0] else lines[1:]


def pieces(word: str, width: int) -> list[str]:
    """Return the word cut into pieces of at most `width` terminal columns."""
    if word.isascii():
        return [word[i : i + width] for i in range(0, len(word), width)]
    from rich.cells import chop_cells

    return chop_cells(word, width)


def pad(text: str, width: int, right: bool) -> str:
    """Return the text padded with spaces to `width` terminal columns; `right` aligns the text at the right."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


LABEL = 13  # column at which the text begins; later if a label is longer

Line = tuple[str, str]  # (label, text)


def labelled(lines: Sequence[Line], width: int | None, color: bool) -> str:
    """Return labelled lines as text: labels in bold, texts folded to `width` and aligned, repeated labels omitted.

    If `width` is None, every line is `label: text` with its label, so that grep finds the line.
    """
    if width is None:
        return "".join(f"{label}: {printable(text)}\n" for label, text in lines)
    if not lines:
        return ""
    texts = []
    begin = max(LABEL, *(len(label) + 2 for label, _ in lines))
    last = ""
    for label, text in lines:
        head = styled(label, BOLD, color) + " " * (begin - len(label)) if label != last else " " * begin
        first, *others = fold(printable(text), max(width - begin, 20))
        texts += [head + first, *(" " * begin + other for other in others)]
        last = label
    return "".join(f"{line}\n" for line in texts)
