"""A Spark session: the one that is there, or one that pcatool starts and ends together with its Java process."""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import sleep
from typing import Any

from pcatool.engines.spark.calls import ask, in_words
from pcatool.errors import FileError, LostError, UsageError, check_memory, show
from pcatool.resources import cannot_spool

__all__ = ["Session", "check_address", "found", "is_here", "is_tuned", "made"]

FORM = re.compile(
    r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[[\d, ]+\]|spark://[^/\s:,]+:\d+(,[^/\s:,]+:\d+)*|yarn|k8s://\S+"
)
LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
HERE = r"local-cluster\[.*|spark://(localhost|127(\.\d+){3}):\d+"

# Seconds; Spark itself would try for a minute.
PATIENCE = 10

# How often a task is tried whose worker is lost; the default of clusters, where a local master has 1.
TRIES = 4


def check_address(address: str) -> None:
    """Refuse what cannot be a master."""
    if address.startswith("sc://"):
        raise UsageError(
            f"cannot use {show(address)}: a server of Spark Connect does not say how far a job is",
            "name the master itself, as in spark://host:7077",
        )
    if not FORM.fullmatch(address):
        raise UsageError(
            f"{show(address)} is no address of a Spark master",
            "write local[4], spark://host:7077, yarn or k8s://https://host:6443",
        )


def is_local(master: str) -> bool:
    """Do the tasks run in this machine's own JVM?"""
    return master == "local" or master.startswith("local[")


def is_here(master: str) -> bool:
    """Is all of it on this machine, where the executors can run the same Python?"""
    return is_local(master) or re.fullmatch(HERE, master) is not None


def is_standalone(master: str) -> bool:
    return master.startswith("spark://")


def with_retries(master: str) -> str:
    """A local master that does the task of a lost worker again, as clusters do, unless the user says how often."""
    plain = LOCAL.fullmatch(master)
    return f"local[{plain[1] or 1},{TRIES}]" if plain else master


def check_reachable(master: str, patience: float = PATIENCE) -> None:
    """Does one of these masters take a connection?"""
    reason = ""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), patience):
                return
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise LostError(f"cannot reach the Spark master {show(master)}: {reason}", "check the address, and that it runs")


POLL = 0.05
# Seconds that it has to leave by itself, and then that its files are removed in.
TO_LEAVE = 5.0

# Data hardly comes here. Of Java's compilers the quick one: that halves its start. Of its collectors the small one and
# little room for what is new. It starts small: of a heap that is large at once all is used before any is cleared.
LIGHT = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:InitialHeapSize=64m -XX:MaxNewSize=48m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
)

JAVA = "install Java 17 or later (Debian: apt-get install default-jre-headless), or set JAVA_HOME to where it is"


class Java:
    """The JVM that does what Python asks of Spark. It leaves when its standard input ends: also if we are killed.

    It stands in a session of its own: what a terminal sends on Ctrl-C goes to this process alone.
    """

    def __init__(self, master: str | None, environment: dict[str, str]) -> None:
        from pyspark.find_spark_home import _find_spark_home

        home = _find_spark_home()
        named = [] if master is None else ["--master", master]
        options = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        try:
            self._log = TemporaryFile()
            self._folder = TemporaryDirectory(prefix="pcatool-")
        except OSError as error:
            raise cannot_spool(error, "what Spark says") from None
        self._told = Path(self._folder.name) / "gateway"
        self._process = subprocess.Popen(
            [Path(home) / "bin" / "spark-submit", *named, *options],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env={
                **({} if is_tuned(home) else {"JDK_JAVA_OPTIONS": LIGHT}),
                **os.environ,
                **environment,
                "SPARK_HOME": home,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told),
            },
            start_new_session=True,
        )

    def gateway(self) -> Any:
        """The way to it, when it has started."""
        from pyspark.java_gateway import launch_gateway

        while not self._told.exists():
            if self._process.poll() is not None:
                raise self._not_started()
            sleep(POLL)
        told = self._told.read_bytes()
        self._folder.cleanup()
        with _announced(told):
            return launch_gateway()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        """What it has said so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def _not_started(self) -> LostError:
        said = self.said()
        if "JAVA_HOME is not set" in said or "/bin/java: No such file" in said:
            return LostError("Spark needs Java, and there is none", JAVA)
        if "UnsupportedClassVersionError" in said:
            return LostError("the Java here is too old for this Spark", JAVA)
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        telling = [line for line in lines if "rror" in line or "xception" in line] or lines[-1:]
        reason = f": {telling[0]}" if telling else f" (exit code {self._process.returncode})"
        return LostError(f"Spark does not start{reason}", "check its settings, and Java")

    def end(self) -> None:
        """Let it leave, its Python workers with it."""
        process = self._process
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(TO_LEAVE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._log.close()
            self._folder.cleanup()


def is_tuned(home: str) -> bool:
    """Does the user say how Java is to run? Then only he does: of two collectors named it would not start."""
    names = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
    texts = [os.environ.get(name, "") for name in names]
    with suppress(OSError):
        texts.append((Path(os.environ.get("SPARK_CONF_DIR", f"{home}/conf")) / "spark-defaults.conf").read_text())
    return any("-XX:" in text or "--properties-file" in text for text in texts)


@contextmanager
def _announced(told: bytes) -> Iterator[None]:
    """The environment that leads pyspark to a JVM that runs already."""
    (port,) = struct.unpack_from(">i", told)
    names = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": told[8:].decode()}
    os.environ.update(names)
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


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
