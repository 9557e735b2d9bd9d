"""What is said of a run: notices and how far it is while it goes on, and the closing summary."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from pcatool.cli.line import LINE
from pcatool.cli.progress import Progress
from pcatool.cli.reporter import is_screen, print_result, say, tell
from pcatool.cli.status_line import clock
from pcatool.options import GeneralOptions
from pcatool.progress import Gauge, Notices, listen

__all__ = ["Speaker"]

STARTED = monotonic()  # this module is among the first that are loaded


class Speaker(Notices):
    """Prints notices as they come, and the closing summary where it is wanted."""

    def __init__(self, general: GeneralOptions, *, rows_to: str | None = None) -> None:
        """`rows_to`: where rows are written as they come; where that is the terminal, they tell enough."""
        super().__init__()
        self.general = general
        self._progress = Progress(wanted=not general.quiet and not (rows_to is not None and is_screen(rows_to)))
        listen(self._progress.at_stage)

    def at_file(self, number: int, of: int) -> None:
        self._progress.at_file(number, of)

    def at_part(self, done: int, of: int) -> None:
        self._progress.at_part(done, of)

    def at_reading(self, gauge: Gauge, *, further: bool = False) -> None:
        self._progress.at_reading(gauge, further)

    def at_rows(self, count: int) -> None:
        self._progress.at_rows(count)

    def at_end(self) -> None:
        self._progress.at_end()

    def show(self, kind: str, text: str, items: Sequence[str] = ()) -> None:
        if not self.general.quiet:
            tell(f"{kind}: {text}")
            for item in items:
                tell(f"  {item}")

    def close(self, facts: Mapping[str, Any], lines: list[str], *, stdout_free: bool) -> None:
        """The closing summary: an object with `--json`, lines on a terminal or with `-v`."""
        LINE.close()
        seconds = monotonic() - STARTED
        lines = [*lines[:1], *self._not_taken(facts), *lines[1:]]
        if self.general.json:
            import json

            more = {name: fact for name, fact in self._taken().items() if name not in facts}
            facts = {**facts, **more, **self._files(), "seconds": round(seconds, 3)}
            text = json.dumps({**facts, "notes": self.notes, "warnings": self.warnings}, allow_nan=False)
            if stdout_free:
                print_result(text)
            else:
                say(text)
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if not self.general.quiet and (self.general.verbose or (on_terminal and not self.general.json)):
            for line in lines:
                tell(line)
            if "files_written" not in facts and (self.files_read > 1 or self.skipped):
                tell(f"{self.files_read} files read" + (f", {len(self.skipped)} left out" if self.skipped else ""))
            if self.spread is not None:
                engine, parts = self.spread
                tell(f"engine {engine}: {parts} part" + ("s" if parts != 1 else ""))
            tell(f"took {seconds:.2g} s" if seconds < 100 else f"took {clock(seconds)}")

    def _taken(self) -> dict[str, Any]:
        """Of a fit what it took of its inputs."""
        if self.taken is None:
            return {}
        from pcatool.render.summary import taken_facts

        return taken_facts(self.taken)

    def _not_taken(self, facts: Mapping[str, Any]) -> list[str]:
        if self.taken is None:
            return []
        from pcatool.render.summary import taken_lines

        return taken_lines(self.taken, facts["command"])

    def _files(self) -> dict[str, Any]:
        """Of several inputs, how many were read, and which were left out; and who read them elsewhere."""
        spread = {} if self.spread is None else dict(zip(("engine", "parts"), self.spread, strict=True))
        if self.files_read < 2 and not self.skipped:
            return spread
        return spread | {
            "files_read": self.files_read,
            "skipped": [{"file": file, "reason": reason} for file, reason in self.skipped],
        }
