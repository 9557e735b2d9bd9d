"""Workers of a Dask cluster: those of a scheduler that is named, or processes of our own on this machine."""

from pcatool.engines.dask.cluster import Dask

__all__ = ["Dask"]
