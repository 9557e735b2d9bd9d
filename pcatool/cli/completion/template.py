"""The part of a script that is the same whatever the table holds, in a file of its shell's own language."""

from __future__ import annotations

from pathlib import Path

__all__ = ["filled", "quoted"]


def filled(name: str, **parts: str) -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text


def quoted(text: str, inner: str = r"'\''") -> str:
    """In single quotes, as a shell's word; `inner` is how the shell writes one of these within."""
    return "'" + text.replace("'", inner) + "'"
