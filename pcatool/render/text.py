"""Text tables (aligned, CSV, JSON, Markdown), labelled lines, counts and percentages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import UsageError, printable, show

__all__ = [
    "FORMS",
    "Line",
    "counted",
    "display_width",
    "fold",
    "format_numbers",
    "grouped",
    "labelled",
    "percent",
    "render_table",
]

FORMS = ("table", "csv", "json", "markdown")

BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"

GAP = 2  # blanks between the columns of a table
WORD = 12  # a column of text or a heading is folded to no less than this, so that words stay readable

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
    """Columns of equal length as text that ends with a newline.

    `csv` and `json` hold every digit and no caption; `table` and `markdown` are rounded to be read. Only `table`
    heeds width, color and unicode.
    """
    if form == "csv":
        return as_csv(columns)
    if form == "json":
        return as_json(columns)
    if form == "markdown":
        return as_markdown(columns, caption)
    if form == "table":
        return as_table(columns, caption, width, color, "─" if unicode else "-")
    raise UsageError(f"no form of report called {show(form)}", f"there are: {', '.join(FORMS)}")


def rows(columns: Columns) -> Iterable[tuple[Any, ...]]:
    """Rows of plain Python values, whose text is the shortest that reads back to the same number."""
    return zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)


def as_csv(columns: Columns) -> str:
    lines = [columns, *rows(columns)]
    return "".join(",".join(quoted(value) for value in line) + "\n" for line in lines)


def quoted(value: object) -> str:
    """A cell of CSV. Python 3.11's csv module leaves a lone carriage return bare, and that reads back as a row end."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if text == "" or set(text) & set(',"\r\n') else text


def as_json(columns: Columns) -> str:
    """One object to a line. JSON has no word for a number that is not finite: it becomes null."""
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
    made = [TextColumn.of(name.replace("|", r"\|"), values) for name, values in columns.items()]
    widths = [max(c.width, 3) for c in made]
    ruler = ["-" * (w - 1) + ":" if c.numeric else "-" * w for c, w in zip(made, widths, strict=True)]
    lines = [[pad(c.name, w, c.numeric) for c, w in zip(made, widths, strict=True)], ruler]
    for row in zip(*(c.cells for c in made), strict=True):
        escaped = (cell.replace("|", r"\|") for cell in row)
        lines.append([pad(cell, w, c.numeric) for cell, c, w in zip(escaped, made, widths, strict=True)])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{printable(caption)}\n" if caption else text


def as_table(columns: Columns, caption: str, width: int | None, color: bool, dash: str) -> str:
    """Aligned columns; those that do not fit beside each other follow below, with the first column repeated.

    Nothing is left out and no number is cut: in a window too narrow for one number the line runs over.
    """
    parts = beside([TextColumn.of(name, values) for name, values in columns.items()], width)
    lines = "\n\n".join("\n".join(drawn(part, color, dash)) for part in parts).split("\n")
    if caption:
        folded = fold(printable(caption), width) if width else [printable(caption)]
        lines += ["", *(paint(line, DIM, color) for line in folded)]
    return "\n".join(lines) + "\n"


class TextColumn(NamedTuple):
    """One column as text."""

    name: str
    cells: list[str]
    numeric: bool

    @classmethod
    def of(cls, name: str, values: NDArray[Any]) -> TextColumn:
        values = np.asarray(values)
        if values.dtype.kind == "f":
            return cls(printable(name), format_numbers(values), True)
        return cls(printable(name), [printable(str(v)) for v in values.tolist()], values.dtype.kind in "iu")

    @property
    def width(self) -> int:
        return max(display_width(self.name), self.widest)

    @property
    def widest(self) -> int:
        return max(map(display_width, self.cells), default=0)

    def narrowed(self, cap: int) -> int:
        """The width under a cap: text and headings can be folded, numbers cannot."""
        return max(min(self.width, cap), self.widest if self.numeric else 0)


Part = list[tuple[TextColumn, int]]


def beside(columns: Sequence[TextColumn], width: int | None) -> list[Part]:
    """The columns with their widths, in as many parts as the width asks for."""
    whole = [(c, c.width) for c in columns]
    if width is None or spanned(whole) <= width:
        return [whole]
    # A third each leaves room for the first column and one more beside it.
    key, *others = [(c, c.narrowed(max(WORD, width // 3))) for c in columns]
    parts: list[Part] = [[key]]
    for column in others:
        if len(parts[-1]) > 1 and spanned([*parts[-1], column]) > width:
            parts.append([key])
        parts[-1].append(column)
    return [widened(part, width) for part in parts]


def widened(part: Part, width: int) -> Part:
    """Gives what room is left to the columns that were folded."""
    made: Part = []
    spare = max(width - spanned(part), 0)
    for column, w in part:
        more = min(spare, column.width - w)
        made.append((column, w + more))
        spare -= more
    return made


def spanned(part: Part) -> int:
    return sum(w for _, w in part) + GAP * (len(part) - 1)


def drawn(part: Part, color: bool, dash: str) -> list[str]:
    """The lines of one part: headings, a rule, the rows."""
    names = laid([c.name for c, _ in part], part, bottom=True)
    lines = [paint(line, BOLD, color) for line in names]
    lines.append((" " * GAP).join(dash * w for _, w in part))
    for row in zip(*(c.cells for c, _ in part), strict=True):
        lines += laid(row, part)
    return lines


def laid(cells: Sequence[str], part: Part, *, bottom: bool = False) -> list[str]:
    """One row of cells; more than one line when a cell has to be folded."""
    folded = [fold(cell, w) for cell, (_, w) in zip(cells, part, strict=True)]
    height = max(map(len, folded))
    lines = []
    for i in range(height):
        pieces = []
        for lines_of_cell, (column, w) in zip(folded, part, strict=True):
            at = i - (height - len(lines_of_cell)) if bottom else i
            pieces.append(pad(lines_of_cell[at] if 0 <= at < len(lines_of_cell) else "", w, column.numeric))
        lines.append((" " * GAP).join(pieces).rstrip())
    return lines


def format_numbers(values: NDArray[np.floating[Any]], digits: int = 6) -> list[str]:
    """The numbers of one column, rounded alike: `digits` significant ones for the largest, as many decimals up to 1.

    A number that these decimals would leave with less than three digits, or two when there are only two decimals, is
    written with an exponent, so nothing but zero looks like zero; zero itself is `0`. Decimals that are 0 in the whole
    column are left off.
    """
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    places = decimals(largest, digits)
    # Past nine digits before the point, or three zeros behind it, an exponent reads better for the whole column.
    least = min(10.0 ** (2 - places), 0.1) if 1e-3 <= largest < 1e9 else math.inf
    plain, raised, other = {}, {}, {}
    for i, x in enumerate(values.tolist()):
        if x == 0 or not math.isfinite(x):
            other[i] = str(x) if x else "0"
        elif abs(x) >= least:
            plain[i] = f"{x:.{places}f}"
        else:
            raised[i] = f"{x:.{digits - 1}e}"
    texts = other | without_zeros(plain) | without_zeros(raised)
    return [texts[i] for i in range(len(values))]


def decimals(largest: float, digits: int) -> int:
    """Decimals that suit a column: the same for all shares, and never so few that a half is cut off."""
    if 0.01 <= largest <= 1:
        return digits
    exponent = int(f"{largest:.{digits - 1}e}".partition("e")[2])
    return max(digits - 1 - exponent, 2)


def without_zeros(texts: Mapping[int, str]) -> dict[int, str]:
    """Decimal texts, all with the same number of decimals, less the trailing zeros they all have."""
    split = {i: text.partition("e") for i, text in texts.items()}
    spare = min((len(m) - len(m.rstrip("0")) for m, _, _ in split.values() if "." in m), default=0)
    return {i: m[: len(m) - spare].rstrip(".") + e + power for i, (m, e, power) in split.items()}


def display_width(text: str) -> int:
    """The terminal columns a text takes; rich knows them, and is imported only for more than ASCII."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fold(text: str, width: int) -> list[str]:
    """Text in lines of at most this width, broken between words, and inside a word that is wider itself."""
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
    if word.isascii():
        return [word[i : i + width] for i in range(0, len(word), width)]
    from rich.cells import chop_cells

    return chop_cells(word, width)


def pad(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def paint(text: str, code: str, color: bool) -> str:
    return f"{code}{text}{PLAIN}" if color and text else text


BOLD_LABEL = "\x1b[1m"
LABEL = 13  # where words begin, and further on where a label is long

Line = tuple[str, str]  # a label, and what is said under it


def labelled(lines: Sequence[Line], width: int | None, color: bool) -> str:
    """Without a width every line has its label, so that it can be found by it."""
    if width is None:
        return "".join(f"{label}: {printable(text)}\n" for label, text in lines)
    if not lines:
        return ""
    made = []
    begin = max(LABEL, *(len(label) + 2 for label, _ in lines))
    last = ""
    for label, text in lines:
        head = paint(label, BOLD_LABEL, color) + " " * (begin - len(label)) if label != last else " " * begin
        first, *others = fold(printable(text), max(width - begin, 20))
        made += [head + first, *(" " * begin + other for other in others)]
        last = label
    return "".join(f"{line}\n" for line in made)


def counted(count: int, noun: str, ending: str = "s") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{ending}"


def grouped(count: int) -> str:
    """A number of rows that is read at a glance."""
    return f"{count:,}".replace(",", " ") if count >= 10_000 else str(count)


def percent(share: float, places: int = 2) -> str:
    """A share in per cent; what is not zero and what is not all never look as if they were."""
    text, least = f"{100 * share:.{places}f}", 10.0**-places
    if float(text) == 0 and share > 0:
        return f"<{least:.{places}f} %"
    if float(text) == 100 and share < 1:
        return f">{100 - least:.{places}f} %"
    return f"{text} %"
