"""Engines that run the work on blocks: threads of this process, or workers of a Dask or Spark cluster.

Begin with `threads`; `base` is the protocol of the engines that run in other processes.
"""
