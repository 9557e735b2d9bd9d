"""What tests find as `pcatool`: hands the call on to server.py, or to the program itself where that would not do.

Runs without `site`, and takes only what is built in: it is to start at once.
"""

import _signal
import _socket
import marshal
import posix
import resource
import sys
from array import array

# Written beside this by standing_by().
place = posix.open(sys.argv[0] + ".known", posix.O_RDONLY)
SOCKET, PROGRAM, EARLY, ENVIRONMENT, LIMITS, SESSION = marshal.loads(posix.read(place, 1 << 20))
posix.close(place)
SIGNALS = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM, _signal.SIGXCPU)


def itself():
    posix.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])


def descriptors():
    """Those that are open; None without the three standard ones."""
    listing = posix.open("/proc/self/fd", posix.O_RDONLY)
    found = sorted(int(name) for name in posix.listdir(listing))
    posix.close(listing)
    found.remove(listing)
    still = []
    for number in found:
        try:
            posix.fstat(number)
        except OSError:
            continue
        still.append(number)
    return still if still[:3] == [0, 1, 2] and len(still) < 100 and still[-1] < 500 else None


def hand_on(numbers):
    call = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        call.connect(SOCKET)
    except OSError:
        itself()
    mask = posix.umask(0)
    posix.umask(mask)
    text = b"\0\0".join(
        b"\0".join(part)
        for part in (
            [b"%d" % number for number in numbers],
            [b"=" + word.encode("utf-8", "surrogateescape") for word in (PROGRAM, *sys.argv[1:])],
            [name + b"=" + value for name, value in posix.environ.items()],
            [posix.getcwdb()],
            [b"%d" % number for number in SIGNALS if _signal.getsignal(number) == _signal.SIG_IGN],
            [b"%d" % posix.getpgid(0), b"%d" % mask],
        )
    )
    head = b"%d\n" % len(text)
    call.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", numbers))])
    call.sendall(text)
    return call


def line(call):
    text = b""
    while not text.endswith(b"\n"):
        try:
            more = call.recv(1)
        except InterruptedError:
            continue
        if not more:
            posix._exit(1)
        text += more
    return int(text)


def wait(call):
    child = line(call)
    for number in SIGNALS:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda number, frame: posix.kill(child, number))
    status = line(call)
    if posix.WIFSIGNALED(status):
        number = posix.WTERMSIG(status)
        if number != _signal.SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
        posix.kill(posix.getpid(), number)
    posix._exit(posix.WEXITSTATUS(status))


early = {name: value for name, value in posix.environ.items() if name.startswith(EARLY)}
limits = [resource.getrlimit(number) for number in range(len(LIMITS))]
numbers = descriptors()
if numbers is None or early != ENVIRONMENT or limits != LIMITS or posix.getsid(0) != SESSION:
    itself()
wait(hand_on(numbers))
