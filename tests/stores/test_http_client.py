"""Pages of a web server as inputs and models: with parts or without, and what goes wrong on the way."""

from __future__ import annotations

import gzip
import http.server
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from pcatool.cli import app
from pcatool.cli.reporter import run_and_report
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.inputs import Inputs
from pcatool.stores import http_client as web

TEXT = b"a,b,c\n" + b"".join(b"%d,%d,%d\n" % (i % 17, i % 5, i * i % 11) for i in range(30_000))


def as_parquet() -> bytes:
    columns = {name: [float(row[j]) for row in rows()] for j, name in enumerate("abc")}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink, row_group_size=5000)
    return sink.getvalue().to_pybytes()


def rows() -> list[list[str]]:
    return [line.split(",") for line in TEXT.decode().splitlines()[1:]]


class Site(BaseHTTPRequestHandler):
    """Pages by their names; the folder of a name says how the server treats it."""

    pages: dict[str, bytes]
    asked: list[str]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, how, name = self.path.partition("?")[0].split("/", 2)
        self.asked.append(f"{how} {self.headers.get('Range')}")
        refused = re.fullmatch(r"(?P<later>later-)?(?P<status>\d+)", how)
        if refused and (not refused["later"] or len(self.asked) > 2):
            self.send_error(int(refused["status"]))
            return
        if how == "moved":
            self.send_response(302)
            self.send_header("Location", f"/parts/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if how == "mine" and self.headers.get("Authorization") != "Basic bWU6c2VjcmV0":
            self.send_error(401)
            return
        data = self.pages[name]
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        changed = how == "changes" and len(self.asked) > 2
        if span and how not in ("whole", "cut", "packed", "unsized") and data:
            part = data[int(span[1]) : int(span[2]) + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {span[1]}-{span[2]}/{len(data)}")
        else:
            part = gzip.compress(data) if how == "packed" else data
            self.send_response(416 if span and not data else 200)
        self.send_header("ETag", "other" if changed else "one")
        if how == "packed":
            self.send_header("Content-Encoding", "gzip")
        if how == "unsized":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part[: len(part) // 2] if how == "cut" else part)
        self.close_connection = how in ("cut", "unsized")

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Who asked has gone: pages are read in parts, and may be given up."""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, type[Site]]]:
    with Server(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}", Site
        server.shutdown()
        thread.join()


@pytest.fixture
def site(served: tuple[str, type[Site]], tmp_path: Path) -> tuple[str, type[Site]]:
    served[1].asked = []
    served[1].pages = {"t.csv": TEXT, "t.csv.gz": gzip.compress(TEXT), "t.parquet": as_parquet(), "empty": b""}
    (tmp_path / "t.csv").write_bytes(TEXT)
    assert app.run(["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "local.npz")]) == 0
    served[1].pages["m.npz"] = (tmp_path / "local.npz").read_bytes()
    return served


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("how", ["parts", "whole", "moved", "packed"])
def test_a_fit_gives_the_bytes_of_a_local_one(
    how: str, name: str, site: tuple[str, type[Site]], tmp_path: Path
) -> None:
    assert app.run(["fit", f"http://{site[0]}/{how}/{name}?sig=a%2Fb", "-o", str(tmp_path / "m.npz")]) == 0
    assert (tmp_path / "m.npz").read_bytes() == (tmp_path / "local.npz").read_bytes()


def test_a_page_of_unknown_size_is_no_pipe_and_gives_no_estimate(site: tuple[str, type[Site]]) -> None:
    unsized, sized = f"http://{site[0]}/unsized/t.csv", f"http://{site[0]}/parts/t.csv"
    assert web.size_of_page(unsized) is None
    assert web.size_of_page(sized) == len(TEXT)
    inputs = Inputs([sized, unsized], TableOptions(), Reporter())
    assert not inputs.in_memory
    assert inputs.expected_rows() is None
    inputs.close()


def test_models_and_credentials(site: tuple[str, type[Site]], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["explain-variance", f"http://me:secret@{site[0]}/mine/m.npz", "--threshold", "0.5"]) == 0
    assert capsys.readouterr().out == "1\n"


def test_no_command_prints_a_password_or_a_query(
    site: tuple[str, type[Site]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app.run(["fit", "t.csv", "--no-updatable", "-o", "other.npz"]) == 0
    assert app.run(["transform", "local.npz", "t.csv", "-o", "scores.csv"]) == 0
    site[1].pages["other.npz"] = Path("other.npz").read_bytes()
    table, model, other = (
        f"http://me:secret@{site[0]}/mine/{name}?x=secret" for name in ("t.csv", "m.npz", "other.npz")
    )
    picture = "s3://me:secret@bucket/x.doc"
    for words in (
        ["plot", "scores", table, model, "-o", "x.png"],
        ["plot", "scores", model, table, "-s", "-o", "x.png"],
        ["plot", "scores", model, table, "-o", picture],
        ["plot", "loadings", model, table, "-o", "x.png"],
        ["components", model, "-o", picture],
        ["diff", model, model],
        ["diff", model, other],
        ["diff", model, other, "--json"],
        ["inspect", model, table],
        ["update", other, table, "-o", "new.npz"],
        ["update", model, "scores.csv", "-o", "new.npz"],
        ["subtract", other, table, "-o", "new.npz"],
        ["refit", other, "-o", "new.npz"],
        ["transform", model, table, "-o", "folder/", "--json"],
        ["transform", model, table, table, "-o", "folder/"],
        ["fit", table, "-o", picture, "--scores", picture],
        [table],
    ):
        run_and_report(lambda words=words: app.run(words), debug=False)
        said = capsys.readouterr()
        assert said.out + said.err
        assert "secret" not in said.out + said.err, words


def test_pythons_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_bytes(TEXT)
    monkeypatch.chdir(tmp_path)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        for path in ("t.csv", f"http://127.0.0.1:{server.server_address[1]}/t.csv"):
            assert app.run(["fit", path, "-o", f"{len(path)}.npz"]) == 0
        server.shutdown()
    one, other = sorted(tmp_path.glob("*.npz"))
    assert one.read_bytes() == other.read_bytes()


WRONG: dict[str, tuple[int, str]] = {
    "404/t.csv": (5, "there is no such page (404); check the address"),
    "410/t.csv": (5, "there is no such page any more (410); check the address"),
    "403/t.csv": (
        5,
        "access denied (403); check the address; if the address is signed, check that the signature has not expired",
    ),
    "mine/t.csv": (
        5,
        "the server needs valid credentials (401); "
        "write the user name and the password as in https://user:password@server/name, and check both",
    ),
    "400/t.csv": (5, "the server answers 400 Bad Request"),
    "429/t.csv": (5, "the server is busy (429); try again later"),
    "500/t.csv": (5, "the server answers 500 Internal Server Error; try again later"),
    "503/t.csv": (5, "the server is busy (503); try again later"),
    "later-503/t.csv": (5, "the server is busy (503); try again later"),
    "later-403/t.csv": (
        5,
        "access denied (403); check the address; if the address is signed, check that the signature has not expired",
    ),
    "later-416/t.csv": (5, "the file changed while it was read; run again when no program writes to the file"),
    "later-404/t.csv": (5, "the file changed while it was read; run again when no program writes to the file"),
    "cut/t.csv": (5, "the connection was lost; try again"),
    "changes/t.csv": (5, "the file changed while it was read; run again when no program writes to the file"),
}


@pytest.mark.parametrize("path", WRONG)
def test_pages_that_cannot_be_read(
    path: str, site: tuple[str, type[Site]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcatool.stores.objects.REQUEST_BYTES", 1 << 16)
    code = run_and_report(
        lambda: app.run(["fit", f"http://{site[0]}/{path}?key=secret", "-o", "/dev/null"]), debug=False
    )
    said = capsys.readouterr().err
    expected = WRONG[path]
    assert code == expected[0]
    assert said == f"pcatool: error: cannot read 'http://{site[0]}/{path}?...': {expected[1]}\n"


@pytest.mark.parametrize(("status", "code"), [(404, 0), (410, 0), (401, 5), (403, 5), (429, 5), (500, 5), (503, 5)])
def test_a_server_that_refuses_has_no_bad_pages(status: int, code: int, site: tuple[str, type[Site]]) -> None:
    pages = [f"http://{site[0]}/{how}/t.csv" for how in ("parts", status, "parts")]
    assert run_and_report(lambda: app.run(["fit", *pages, "--skip-bad", "-q", "-o", "/dev/null"]), debug=False) == code


def test_an_empty_page_is_an_empty_table(site: tuple[str, type[Site]], capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run_and_report(lambda: app.run(["fit", f"http://{site[0]}/parts/empty", "-o", "/dev/null"]), debug=False) == 3
    )
    assert "/empty is empty" in capsys.readouterr().err


def silent() -> tuple[str, Callable[[], None]]:
    import socket

    listening = socket.create_server(("127.0.0.1", 0))
    return f"127.0.0.1:{listening.getsockname()[1]}", listening.close


@pytest.mark.parametrize("how", ["refused", "silent", "unknown"])
def test_servers_that_cannot_be_reached(
    how: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, close = silent()
    if how != "silent":
        close()
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.2)
    web._http_file_system.cache_clear()
    host = "no-such-host.invalid" if how == "unknown" else place
    code = run_and_report(lambda: app.run(["fit", f"http://me:secret@{host}/t.csv", "-o", "/dev/null"]), debug=False)
    web._http_file_system.cache_clear()
    close()
    said = capsys.readouterr().err
    assert code == 5
    reasons = {"silent": "the server does not answer", "refused": "no connection (Connection refused)"}
    what = reasons.get(how, "no connection (")
    assert said.startswith(f"pcatool: error: cannot read 'http://{host}/t.csv': {what}")


@pytest.mark.parametrize("package", ["fsspec.asyn", "aiohttp"])
def test_without_the_extra_it_says_what_to_install(
    package: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    web._http_file_system.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    assert run_and_report(lambda: app.run(["fit", "https://host.invalid/t.csv", "-o", "/dev/null"]), debug=False) == 5
    said = f"http:// and https:// need the package {package.partition('.')[0]}; run pip install 'pcatool[http]'"
    assert capsys.readouterr().err == f"pcatool: error: {said}\n"
