"""Engine on Spark: executors of a given or configured master, or threads of a JVM on this machine.

Begin with `cluster`; `tasks` holds the functions that executors run, `session` starts Spark.
"""

from pcatool.engines.spark.cluster import Spark

__all__ = ["Spark"]
