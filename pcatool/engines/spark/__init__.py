"""Executors of Spark: those of a master that is named or configured, or threads of a JVM on this machine.

Begin with `cluster`; `tasks` is what executors run, `session` starts Spark.
"""

from pcatool.engines.spark.cluster import Spark

__all__ = ["Spark"]
