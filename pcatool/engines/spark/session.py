"""A session of Spark: the one that is there already, which stays, or one of our own, which ends with the run."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pcatool.engines.spark.address import check_reachable, is_here, is_local, is_standalone, with_retries
from pcatool.engines.spark.asking import ask
from pcatool.engines.spark.calls import in_words
from pcatool.engines.spark.java import Java
from pcatool.errors import FileError, LostError, UsageError, check_memory, show

__all__ = ["Session", "found", "made"]

# Seconds that a master has to take a driver on; Spark itself would give it a minute.
TO_REGISTER = 15
TO_STOP = 5
# And without an executor, before nothing more is hoped for: YARN and Kubernetes have queues.
TO_GRANT = 15.0
TO_GRANT_IN_TURN = 300.0

# While our JVM ends, the way to it breaks: Python would print what is logged of that and nobody handles.
UNHEARD = logging.NullHandler()

# For whose processor BLAS computes: the bytes are those of this process only if all take the same.
KERNELS = "OPENBLAS_CORETYPE"

# What is set unless the user has set something else.
EVERYWHERE = {
    "spark.driver.maxResultSize": "0",  # a result is as large as it is; it comes in pieces
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",  # a task for each core
}
LOCALLY = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Here the driver's Java also sorts what is to be merged: past so many pieces, of a MB each, in runs on disk. A page
    # holds three of them.
    "spark.shuffle.spill.numElementsForceSpillThreshold": "24",
    "spark.buffer.pageSize": "4m",
    "spark.unsafe.sorter.spill.read.ahead.enabled": "false",  # a second buffer for each run
}


class Session:
    """A session, and the JVM if it is ours."""

    def __init__(self, spark: Any, java: Java | None = None, *, ours: bool = False) -> None:
        self.context = spark.sparkContext
        self.master = str(self.context.master)
        self.name = f"the Spark master {show(self.master)}"
        self.patience = _patience(self.context, self.master)
        self.spark = spark.newSession()  # with settings of its own
        self._java = java
        self._ours = ours

    def is_running(self) -> bool:
        return self._java is None or self._java.is_running()

    def executors(self) -> int:
        """How many there are; what is asked counts this process as one, too."""
        return len(self.context._jsc.sc().statusTracker().getExecutorInfos()) - 1

    def close(self) -> None:
        if self._ours:
            with suppress(Exception):  # the JVM may be gone, and it goes in any case
                ask(self._stop, TO_STOP)
            _end(self._java)

    def _stop(self) -> None:
        with _unwarned():
            self.context.stop()


def found(address: str | None) -> Session | None:
    """The session that is active in this process, if there is one."""
    _check_installed()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return None
    if address is not None and context.master not in (address, with_retries(address)):
        raise UsageError(
            f"Spark runs here already, with the master {show(context.master)} and not {show(address)}",
            "stop that session, or name no other master",
        )
    return Session(ask(lambda: SparkSession.getActiveSession() or SparkSession(context)))


def made(address: str | None) -> Session:
    """A session of our own, with a JVM of our own unless this process has one."""
    from pyspark import SparkContext

    logging.getLogger().addHandler(UNHEARD)
    if address is not None and is_standalone(address):
        check_reachable(address)
    java = None
    try:
        if SparkContext._gateway is None:
            java = Java(address and with_retries(address), _environment(address))
            gateway = ask(java.gateway)
            ask(lambda: SparkContext._ensure_initialized(gateway=gateway))
        with _unwarned():
            spark = ask(lambda: _session(address), _limit(address))
        return Session(spark, java, ours=True)
    except TimeoutError:
        _end(java)
        raise LostError(
            f"the Spark master {show(address)} does not answer", "check the address, and that it runs"
        ) from None
    except FileError:
        _end(java)
        raise
    except Exception as error:
        said = "" if java is None else java.said()
        _end(java)
        raise in_words(error, said) from error
    except BaseException:
        _end(java)
        raise


@contextmanager
def _unwarned() -> Iterator[None]:
    """Without warnings of a version of pandas, which takes no part, or of a JVM that is gone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _patience(context: Any, master: str) -> float | None:
    """Seconds that the work may wait for an executor; on this machine there is always one."""
    if is_local(master):
        return None
    usual = TO_GRANT if is_standalone(master) else TO_GRANT_IN_TURN
    given = context.getConf().get("spark.scheduler.maxRegisteredResourcesWaitingTime")
    return max(usual, context._jvm.org.apache.spark.network.util.JavaUtils.timeStringAsSec(given)) if given else usual


def _limit(address: str | None) -> float:
    return TO_REGISTER if address is not None and is_standalone(address) else float("inf")


def _session(address: str | None) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(_jvm=SparkContext._jvm)
    master = with_retries(address or conf.get("spark.master", "local[*]"))
    conf.setMaster(master).set("spark.ui.showConsoleProgress", "false")
    if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        conf.setAppName("pcatool")
    wanted = {**EVERYWHERE, **(LOCALLY if is_local(master) else {})}
    if KERNELS in os.environ:
        wanted[f"spark.executorEnv.{KERNELS}"] = os.environ[KERNELS]
    for name, value in wanted.items():
        conf.setIfMissing(name, value)
    context = SparkContext(conf=conf)
    if is_here(master) and not (os.environ.get("PYSPARK_PYTHON") or conf.get("spark.pyspark.python")):
        context.pythonExec = sys.executable
    return SparkSession(context)


def _environment(address: str | None) -> dict[str, str]:
    """What Java and the workers read when they start."""
    given = {"OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1")}
    if address is not None and is_local(address) and "SPARK_LOCAL_IP" not in os.environ:
        given["SPARK_LOCAL_IP"] = "127.0.0.1"  # or Spark asks who this machine is, which it may not know
    return given


def _end(java: Java | None) -> None:
    """End the JVM, and let pyspark know: the next session starts another."""
    if java is not None:
        from pyspark import SparkContext

        java.end()
        gateway = SparkContext._gateway
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        if gateway is not None:
            with suppress(Exception):
                gateway.shutdown()
    logging.getLogger().removeHandler(UNHEARD)


def _check_installed() -> None:
    try:
        with _unwarned():
            import pyspark.sql  # noqa: F401
    except ImportError as error:
        check_memory(error)
        package = str(error.name).partition(".")[0]
        raise FileError(
            f"--engine spark needs the package {package}", "install it: pip install 'pcatool[spark]'"
        ) from None
