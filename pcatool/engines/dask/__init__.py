"""Engine on Dask: the workers of a given scheduler, or worker processes that pcatool starts on this machine.

Begin with `cluster`; `tasks` holds the functions that workers run, `local` starts workers on this machine.
"""

from pcatool.engines.dask.cluster import Dask

__all__ = ["Dask"]
