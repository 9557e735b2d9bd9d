"""Where a scheduler is: its address, and whether anything listens there."""

from __future__ import annotations

import re
import socket
import time

from pcatool.errors import LostError, UsageError, show
from pcatool.stores.calls import patiently

__all__ = ["check_address", "check_listening", "unreachable"]

PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss")
ADDRESS = re.compile(rf"({'|'.join(PROTOCOLS)})://(\[[0-9a-fA-F:.%\w]+\]|[^\s/:@\[\]]+):([0-9]{{1,5}})/?", re.ASCII)
MOST_PORT = 65535

# A scheduler that is being started may take another moment: how often it is tried, and the seconds between.
TRIES, PAUSE = 3, 0.7
CONNECT = 5  # seconds


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler."""
    found = ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[3]) <= MOST_PORT:
        raise UsageError(
            f"--scheduler {show(address)} is not the address of a Dask scheduler", "write it as tcp://host:8786"
        )


def check_listening(address: str) -> None:
    """Tell at once, and with the reason, that nobody listens there."""
    found = ADDRESS.fullmatch(address)
    if found is None or found[1] == "ucx":  # which is no socket
        return
    place = (found[2].strip("[]"), int(found[3]))
    for left in reversed(range(TRIES)):
        try:
            patiently(lambda: socket.create_connection(place, CONNECT)).close()
            return
        except TimeoutError:
            raise unreachable(address, f"no answer in {CONNECT} s") from None
        except (OSError, UnicodeError) as error:  # the latter of a name that no host can have
            if left and isinstance(error, ConnectionRefusedError):
                time.sleep(PAUSE)
                continue
            raise unreachable(address, getattr(error, "strerror", None) or "no such host") from None


def unreachable(
    address: str, reason: str, remedy: str = "check the address, and that the scheduler is running"
) -> LostError:
    return LostError(f"cannot reach the Dask scheduler at {show(address)}: {reason}", remedy)
