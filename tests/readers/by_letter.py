"""CSV read letter by letter, slowly and plainly: the yardstick of the readers where Python's csv module is silent."""

from __future__ import annotations

__all__ = ["Joined", "Rows", "states"]

Rows = list[tuple[int, list[str]]]


class Joined(str):
    """A cell of which one part was quoted and another was not: no number, whatever it looks like."""


def states(text: str, separator: str = ",", comment: str = "", lone: bool = False) -> Rows | int:
    """Line and cells of every row, letter by letter; or the line of a quote that is never closed.

    `blanks` as the separator: runs of blanks. `lone`: after the first row, a blank line is a row.
    """
    blanks = separator == "blanks"
    padding = " \t" if blanks else " \t".replace(separator, "")
    rows: Rows = []
    line, at = 1, 0
    while at < len(text):
        first, fields, body, noted = line, [], "", False
        cell, quoted, plain_from, state, opened = "", False, 0, "start", 0
        while True:
            letter = text[at : at + 1]
            ends_line = letter == "\n" or (letter == "\r" and text[at + 1 : at + 2] != "\n")
            if state == "quoted":
                if not letter:
                    return opened
                if letter == '"' and text[at + 1 : at + 2] != '"':
                    state, plain_from, at = "plain", len(cell), at + 1
                    continue
                cell += letter
                line += ends_line
                at += 2 if letter == '"' else 1
                continue
            if not letter or letter in "\r\n":
                at += 1 if ends_line or not letter else 2
                line += 1
                break
            if letter == comment:
                noted = True
                cell = cell[:plain_from] + cell[plain_from:].rstrip(padding)
                while at < len(text) and text[at] not in "\r\n":
                    at += 1
                continue
            body += letter
            at += 1
            if letter == '"' and state == "start":
                state, opened, quoted = "quoted", line, True
            elif letter in (" \t" if blanks else separator):
                fields.append((joined(cell, plain_from if quoted else None), quoted))
                cell, quoted, plain_from, state = "", False, 0, "start"
            else:
                cell += letter
                state = "plain"
        fields.append((joined(cell, plain_from if quoted else None), quoted))
        if blanks:
            fields = [field for field in fields if field[0] or field[1]]
        if fields and (blanks or body or (lone and rows)) and not (noted and not body.strip(padding)):
            rows.append((first, [cell for cell, _ in fields]))
    return rows


def joined(cell: str, quoted_up_to: int | None) -> str:
    """Blanks may follow a quote."""
    return cell if quoted_up_to is None or not cell[quoted_up_to:].strip(" \t") else Joined(cell)
