"""Executors of Spark: those of a master that is named or configured, or threads of a JVM on this machine."""

from pcatool.engines.spark.cluster import Spark

__all__ = ["Spark"]
