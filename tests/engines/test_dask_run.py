"""What becomes of results whose worker is gone, told by futures that change their status at the wrong moment."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pcatool.engines.dask.cluster import DaskRun
from pcatool.errors import LostError


class Future:
    """Done at once, each time it is listened to, with the next of these statuses."""

    def __init__(self, *statuses: str) -> None:
        self._statuses = iter(statuses)
        self.status = "pending"

    def add_done_callback(self, tell: Callable[[Any], None]) -> None:
        self.status = next(self._statuses)
        tell(self)

    def release(self) -> None:
        pass


def run(*futures: Future) -> Any:
    told: list[int] = []
    link = SimpleNamespace(
        client=SimpleNamespace(get=lambda *_, **__: list(futures), gather=lambda root: "sum"),
        check=lambda: None,
        ask=lambda what: what(),
        lost=lambda: LostError("the scheduler was lost"),
    )
    tree: Any = SimpleNamespace(tasks={}, leaves=[], root="root")
    result = DaskRun(link, tree, told.append).result()  # type: ignore[arg-type]
    return result, sum(told)


def test_what_was_done_and_is_done_again_is_no_lost_scheduler() -> None:
    assert run(Future("lost"), Future("finished"), Future("lost", "finished")) == ("sum", 2)


@pytest.mark.parametrize("futures", [("cancelled", "finished", "finished"), ("finished", "finished", "cancelled")])
def test_what_nobody_works_on_any_more_is(futures: tuple[str, ...]) -> None:
    with pytest.raises(LostError, match="was lost"):
        run(*map(Future, futures))
