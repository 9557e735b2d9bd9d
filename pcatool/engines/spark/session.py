"""Spark sessions: the active one of this process, or one that pcatool starts and ends with its own JVM."""

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

from pcatool.engines.spark.calls import ask, error_of_spark
from pcatool.errors import FileError, LostError, UsageError, missing_package
from pcatool.resources import cannot_spool
from pcatool.wording import show

__all__ = ["Session", "active_session", "check_address", "is_here", "is_tuned", "start_session"]

# Addresses of masters that Spark accepts.
MASTER = re.compile(
    r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[[\d, ]+\]|spark://[^/\s:,]+:\d+(,[^/\s:,]+:\d+)*|yarn|k8s://\S+"
)
# A local master without a number of attempts.
LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
# Masters of executors on this machine, beside the local ones.
ON_THIS_MACHINE = r"local-cluster\[.*|spark://(localhost|127(\.\d+){3}):\d+"

# Seconds to wait for a connection to the master; Spark itself would try for a minute.
PATIENCE = 10

# Attempts at a task whose worker is lost: the default of clusters; that of a local master is 1.
TRIES = 4


def check_address(address: str) -> None:
    """Raise `UsageError` for a text that is not the address of a Spark master, and for Spark Connect."""
    if address.startswith("sc://"):
        raise UsageError(
            f"cannot use --scheduler {show(address)}: Spark Connect does not report the progress of a job",
            "name the master instead, as in spark://host:7077",
        )
    if not MASTER.fullmatch(address):
        raise UsageError(
            f"--scheduler {show(address)} is not the address of a Spark master",
            "write the address as local[4], spark://host:7077, yarn or k8s://https://host:6443",
        )


def is_local(master: str) -> bool:
    """Return whether the master is local, such as local[4], so that the tasks run in the JVM of the driver."""
    return master == "local" or master.startswith("local[")


def is_here(master: str) -> bool:
    """Return whether all executors are on this machine, so that they can run the same Python."""
    return is_local(master) or re.fullmatch(ON_THIS_MACHINE, master) is not None


def is_standalone(master: str) -> bool:
    """Return whether the master is a "standalone" one (spark://), of the cluster manager that Spark brings along."""
    return master.startswith("spark://")


def with_retries(master: str) -> str:
    """Return the master; a local master that names no number of attempts gets TRIES attempts at a task."""
    plain = LOCAL.fullmatch(master)
    return f"local[{plain[1] or 1},{TRIES}]" if plain else master


def check_reachable(master: str, patience: float = PATIENCE) -> None:
    """Raise `LostError` if no master of an address such as spark://a:7077,b:7077 accepts a connection.

    Each is given `patience` seconds.
    """
    reason = ""
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), patience):
                return
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise LostError(
        f"cannot reach the Spark master {show(master)}: {reason}", "check the address, and that the master is running"
    )


# Seconds between two checks whether the JVM has started.
POLL = 0.05
# Seconds for the JVM to exit by itself and remove its files.
TO_LEAVE = 5.0

# JVM options for a driver that handles little data: only the quick compiler, which halves the start; the serial
# collector with a small young generation; a small initial heap, since Java fills a large one before it collects.
LIGHT_JVM = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:InitialHeapSize=64m -XX:MaxNewSize=48m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
)

JAVA_REMEDY = (
    "install Java 17 or later (Debian: apt-get install default-jre-headless), or set JAVA_HOME to the folder of Java"
)


class Java:
    """The JVM that runs the Spark driver; made by `start_session`.

    The JVM exits when its standard input ends, so also when this process is killed. It has a terminal session of its
    own, so that Ctrl-C reaches only this process.
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
            raise cannot_spool(error, "the output of Spark") from None
        self._connection_file = Path(self._folder.name) / "gateway"
        self._process = subprocess.Popen(
            [Path(home) / "bin" / "spark-submit", *named, *options],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env={
                **({} if is_tuned(home) else {"JDK_JAVA_OPTIONS": LIGHT_JVM}),
                **os.environ,
                **environment,
                "SPARK_HOME": home,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._connection_file),
            },
            start_new_session=True,
        )

    def gateway(self) -> Any:
        """Wait until the JVM has started, and return the Py4J gateway; raise `LostError` if the JVM exits."""
        from pyspark.java_gateway import launch_gateway

        while not self._connection_file.exists():
            if self._process.poll() is not None:
                raise self._not_started()
            sleep(POLL)
        connection = self._connection_file.read_bytes()
        self._folder.cleanup()
        with _gateway_environment(connection):
            return launch_gateway()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def jvm_output(self) -> str:
        """Return the output of the JVM so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def _not_started(self) -> LostError:
        """Return the error for a JVM that exits at its start, with the reason from its output."""
        jvm_output = self.jvm_output()
        if "JAVA_HOME is not set" in jvm_output or "/bin/java: No such file" in jvm_output:
            return LostError("Spark needs Java, which is not installed", JAVA_REMEDY)
        if "UnsupportedClassVersionError" in jvm_output:
            return LostError("the installed Java is too old for this version of Spark", JAVA_REMEDY)
        lines = [line.strip() for line in jvm_output.splitlines() if line.strip()]
        telling = [line for line in lines if "rror" in line or "xception" in line] or lines[-1:]
        reason = f": {telling[0]}" if telling else f" (exit code {self._process.returncode})"
        return LostError(f"Spark does not start{reason}", "check the settings of Spark and the installation of Java")

    def end(self) -> None:
        """End the JVM and its Python workers: close its standard input, wait, then kill the process group."""
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
    """Return whether the user's settings for Spark, in the folder `home`, hold -XX options or name a properties file.

    LIGHT_JVM is then left out, because Java refuses two garbage collectors.
    """
    names = ("PYSPARK_SUBMIT_ARGS", "SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
    texts = [os.environ.get(name, "") for name in names]
    with suppress(OSError):
        texts.append((Path(os.environ.get("SPARK_CONF_DIR", f"{home}/conf")) / "spark-defaults.conf").read_text())
    return any("-XX:" in text or "--properties-file" in text for text in texts)


@contextmanager
def _gateway_environment(connection: bytes) -> Iterator[None]:
    """Set, in the `with` block, the environment variables by which pyspark connects to a running JVM.

    `connection` holds the port and the secret, as the JVM writes them.
    """
    (port,) = struct.unpack_from(">i", connection)
    names = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": connection[8:].decode()}
    os.environ.update(names)
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


# Seconds for a standalone master to register the driver; Spark itself would wait a minute.
TO_REGISTER = 15
# Seconds for the Spark context to stop.
TO_STOP = 5
# Seconds without an executor until the cluster counts as lost: for a standalone master, and for YARN and Kubernetes,
# which have queues.
TO_GRANT = 15.0
TO_GRANT_IN_TURN = 300.0

# Handler that drops records: the connection breaks while the JVM ends, and Python prints log records without a handler.
DROP_RECORDS = logging.NullHandler()

# Processor type for which OpenBLAS computes. Results are equal to the last bit only if all processes use the same type.
KERNELS = "OPENBLAS_CORETYPE"

# Spark settings for every master, unless the user has set them.
SETTINGS = {
    "spark.driver.maxResultSize": "0",  # no limit: results come in pieces
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",  # an executor runs a task on each core
}
# Spark settings for local masters, in addition.
LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The driver's JVM also sorts the pieces to be merged, of 1 MB each: more than 24 of them go to disk in sorted runs,
    # and a page of memory holds three.
    "spark.shuffle.spill.numElementsForceSpillThreshold": "24",
    "spark.buffer.pageSize": "4m",
    "spark.unsafe.sorter.spill.read.ahead.enabled": "false",  # saves a second buffer for each run
}


class Session:
    """A Spark session, and its JVM if pcatool started it; from `active_session` or `start_session`."""

    def __init__(self, spark: Any, java: Java | None = None, *, ours: bool = False) -> None:
        self.context = spark.sparkContext
        self.master = str(self.context.master)
        self.name = f"the Spark master {show(self.master)}"
        self.patience = _patience(self.context, self.master)
        self.spark = spark.newSession()  # so that its settings do not affect the user's session
        self._java = java
        self._ours = ours

    def is_running(self) -> bool:
        return self._java is None or self._java.is_running()

    def executors(self) -> int:
        """Return the number of executors; Spark's count includes the driver, which is subtracted."""
        return len(self.context._jsc.sc().statusTracker().getExecutorInfos()) - 1

    def close(self) -> None:
        """Stop the session and end the JVM, if pcatool started them."""
        if self._ours:
            with suppress(Exception):  # the JVM may be gone already, and is ended below in any case
                ask(self._stop, TO_STOP)
            _end(self._java)

    def _stop(self) -> None:
        with _no_warnings():
            self.context.stop()


def active_session(address: str | None) -> Session | None:
    """Return a session of the active Spark context of this process; None without an active context.

    Raises `UsageError` if the context has another master than `address`, `FileError` if pyspark is not installed.
    """
    _check_installed()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None:
        return None
    if address is not None and context.master not in (address, with_retries(address)):
        raise UsageError(
            f"Spark already runs in this process with the master {show(context.master)}, not {show(address)}",
            f"stop the running session, or give --scheduler {show(context.master)}",
        )
    return Session(ask(lambda: SparkSession.getActiveSession() or SparkSession(context)))


def start_session(address: str | None) -> Session:
    """Start a session and return it; start a JVM unless this process has one.

    Raises a `FileError` or `RefusedError` if Spark does not start.
    """
    from pyspark import SparkContext

    logging.getLogger().addHandler(DROP_RECORDS)
    if address is not None and is_standalone(address):
        check_reachable(address)
    java = None
    try:
        if SparkContext._gateway is None:
            java = Java(address and with_retries(address), _environment(address))
            gateway = ask(java.gateway)
            ask(lambda: SparkContext._ensure_initialized(gateway=gateway))
        with _no_warnings():
            spark = ask(lambda: _session(address), _limit(address))
        return Session(spark, java, ours=True)
    except TimeoutError:
        _end(java)
        raise LostError(
            f"the Spark master {show(address)} does not answer", "check the address, and that the master is running"
        ) from None
    except FileError:
        _end(java)
        raise
    except Exception as error:
        jvm_output = "" if java is None else java.jvm_output()
        _end(java)
        raise error_of_spark(error, jvm_output) from error
    except BaseException:
        _end(java)
        raise


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Suppress warnings in the `with` block: of the version of pandas, which is not used, and of a JVM that is gone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _patience(context: Any, master: str) -> float | None:
    """Return the seconds to wait for an executor; None for a local master, which always has an executor."""
    if is_local(master):
        return None
    usual = TO_GRANT if is_standalone(master) else TO_GRANT_IN_TURN
    given = context.getConf().get("spark.scheduler.maxRegisteredResourcesWaitingTime")
    return max(usual, context._jvm.org.apache.spark.network.util.JavaUtils.timeStringAsSec(given)) if given else usual


def _limit(address: str | None) -> float:
    """Return the seconds to wait for a session: TO_REGISTER for a standalone master (spark://), else infinity."""
    return TO_REGISTER if address is not None and is_standalone(address) else float("inf")


def _session(address: str | None) -> Any:
    """Start a Spark context, with the settings of this module where the user has none, and return a session."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    conf = SparkConf(_jvm=SparkContext._jvm)
    master = with_retries(address or conf.get("spark.master", "local[*]"))
    conf.setMaster(master).set("spark.ui.showConsoleProgress", "false")
    if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        conf.setAppName("pcatool")
    wanted = {**SETTINGS, **(LOCAL_SETTINGS if is_local(master) else {})}
    if KERNELS in os.environ:
        wanted[f"spark.executorEnv.{KERNELS}"] = os.environ[KERNELS]
    for name, value in wanted.items():
        conf.setIfMissing(name, value)
    context = SparkContext(conf=conf)
    if is_here(master) and not (os.environ.get("PYSPARK_PYTHON") or conf.get("spark.pyspark.python")):
        context.pythonExec = sys.executable
    return SparkSession(context)


def _environment(address: str | None) -> dict[str, str]:
    """Return the environment variables to set for the JVM and its Python workers."""
    given = {"OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1")}
    if address is not None and is_local(address) and "SPARK_LOCAL_IP" not in os.environ:
        given["SPARK_LOCAL_IP"] = "127.0.0.1"  # otherwise Spark looks up the name of this machine, which may fail
    return given


def _end(java: Java | None) -> None:
    """End the JVM, and reset pyspark's global state, so that the next session starts another JVM; None: no JVM to end.

    Also removes the handler of log records that `start_session` adds.
    """
    if java is not None:
        from pyspark import SparkContext

        java.end()
        gateway = SparkContext._gateway
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        if gateway is not None:
            with suppress(Exception):
                gateway.shutdown()
    logging.getLogger().removeHandler(DROP_RECORDS)


def _check_installed() -> None:
    try:
        with _no_warnings():
            import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise missing_package(error, "--engine spark needs", "spark") from None
