"""Dask's own logs: what matters of them is told in a sentence."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["silence"]

FAMILIES = ("distributed", "tornado", "asyncio", "bokeh")


@contextmanager
def silence() -> Iterator[None]:
    """Nothing is logged by Dask in this process meanwhile, whatever its configuration says; loggers of others go on."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in FAMILIES]
    loggers = [logging.getLogger(name) for name in {*FAMILIES, *names}]
    before = [(logger, logger.level) for logger in loggers if logger.level or logger.name in FAMILIES]
    for logger, _ in before:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)
