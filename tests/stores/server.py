"""A store that is there for the tests: moto's server of S3 in a process of its own, and ways to lose it half-way."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

__all__ = ["ENVIRONMENT", "Cable", "Store", "refusing", "running"]

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}


@contextmanager
def running(folder: Path) -> Iterator[tuple[int, Path]]:
    """The port it listens on, and its log of requests."""
    log = folder / "requests.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield _port(process, log), log
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    for _ in range(600):
        if found := re.search(r"Running on http://127\.0\.0\.1:([0-9]+)", log.read_text()):
            return int(found[1])
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@dataclass
class Store:
    """A bucket, empty at first."""

    port: int
    log: Path
    bucket: str

    def __post_init__(self) -> None:
        from pyarrow import fs

        self.files = fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.port}", scheme="http", region="us-east-1",
            access_key="somebody", secret_key="secret", allow_bucket_creation=True,
        )  # fmt: skip
        self.files.create_dir(self.bucket)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def uri(self, name: str = "") -> str:
        return f"s3://{self.bucket}/{name}"

    def put(self, name: str, data: bytes) -> str:
        with self.files.open_output_stream(f"{self.bucket}/{name}", compression=None) as stream:
            stream.write(data)
        return self.uri(name)

    def get(self, name: str) -> bytes:
        with self.files.open_input_file(f"{self.bucket}/{name}") as file:
            return bytes(file.read())

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector

        found = self.files.get_file_info(FileSelector(self.bucket, recursive=True))
        return sorted(about.path.partition("/")[2] for about in found if about.is_file)

    @contextmanager
    def requests(self) -> Iterator[list[str]]:
        """What is asked of the server meanwhile, as `HEAD /bucket/name`."""
        begin = self.log.stat().st_size
        asked: list[str] = []
        yield asked
        text = re.sub(r"\x1b\[[0-9;]*m", "", self.log.read_bytes()[begin:].decode())
        asked += re.findall(r'"([A-Z]+ /[^ "]*) HTTP', text)

    @contextmanager
    def watched_by_its_keeper(self) -> Iterator[None]:
        """Within it the server asks who one is, and knows nobody."""
        self._keeper(b"0")
        try:
            yield
        finally:
            self._keeper(b"inf")

    def _keeper(self, free: bytes) -> None:
        plain = {"Content-Type": "text/plain"}
        request = urllib.request.Request(f"{self.endpoint}/moto-api/reset-auth", free, plain)
        urllib.request.urlopen(request, timeout=10).close()


class Cable:
    """A way to a server on which something happens after so many bytes in one direction: it is cut, or nothing gets
    through any more, or only what `meanwhile` does."""

    def __init__(
        self,
        port: int,
        *,
        down: float = float("inf"),
        up: float = float("inf"),
        then: Literal["cut", "stop", "go on"] = "cut",
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        self._server = port
        self._most = {"down": down, "up": up}
        self.carried = {"down": 0, "up": 0}
        self._then = then
        self._meanwhile = meanwhile
        self.reached = threading.Event()
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._over = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def __enter__(self) -> Cable:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut()
        self._accepting.join()
        self._cut()  # what came last

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._over:
                client = self._listening.accept()[0]
                self._open.append(client)
                server = socket.create_connection(("127.0.0.1", self._server))
                self._open.append(server)
                for one, other, way in ((client, server, "up"), (server, client, "down")):
                    threading.Thread(target=self._carry, args=(one, other, way), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                self.carried[way] += len(data)
                if self.carried[way] > self._most[way] and not self.reached.is_set():
                    self._meanwhile()
                    self.reached.set()
                    if self._then == "cut":
                        self._cut()
                if self.reached.is_set() and self._then == "stop":
                    return  # nothing gets through, nor an end
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def _cut(self) -> None:
        self._over = True
        for one in [self._listening, *self._open]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def refusing(store: Store, request: str, status: int, code: str) -> Iterator[str]:
    """A server before the store, which answers some requests by itself: those that `request` finds, as `GET /b/name`
    and, where a part is asked for, ` bytes=0-9` behind it. All others it hands on."""

    class Doorman(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            sent = self._sent()
            if re.search(request, f"{self.command} {self.path} {self.headers.get('Range', '')}"):
                self._answer(
                    status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()
                )
                return
            connection = http.client.HTTPConnection("127.0.0.1", store.port)
            theirs = ("transfer-encoding", "content-length", "expect")
            headers = {n: v for n, v in self.headers.items() if n.lower() not in theirs}
            connection.request(self.command, self.path, sent, headers)
            answer = connection.getresponse()
            ours = ("transfer-encoding", "connection", "server", "date")
            self._answer(answer.status, {n: v for n, v in answer.getheaders() if n.lower() not in ours}, answer.read())

        def _sent(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            sent = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                sent += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return sent

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

        def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(data))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Doorman) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
