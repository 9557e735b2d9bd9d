"""Workers of a Dask cluster: those of a scheduler that is named, or processes of our own on this machine.

Begin with `cluster`; `tasks` is what workers run, `local` starts our own.
"""

from pcatool.engines.dask.cluster import Dask

__all__ = ["Dask"]
