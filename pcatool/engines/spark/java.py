"""Spark's own process, a JVM: started so that nothing it says comes on the terminal, and ended with the run."""

from __future__ import annotations

import os
import shlex
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import sleep
from typing import Any

from pcatool.errors import LostError
from pcatool.resources import cannot_spool

__all__ = ["Java", "is_tuned"]

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
