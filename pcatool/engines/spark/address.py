"""Masters of Spark: what their addresses look like, and whether one is there at all."""

from __future__ import annotations

import re
import socket

from pcatool.errors import LostError, UsageError, show

__all__ = ["check_address", "check_reachable", "is_here", "is_local", "is_standalone", "with_retries"]

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
