"""What names mean: which are objects, what is shown of them, and where the stores' settings come from."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pcatool.errors import UsageError
from pcatool.readers.paths import Input
from pcatool.stores import objects as place
from pcatool.stores import providers as azure
from pcatool.stores import providers as gs
from pcatool.stores import providers as s3
from pcatool.stores.listing import _pattern_regex
from pcatool.stores.providers import CanonicalName
from pcatool.stores.uri import is_remote, parse, plain_name, shown, with_options

SHOWN = {
    "s3://b/k.csv": "s3://b/k.csv",
    "s3://key:secret@b/k.csv?endpoint_override=host:1&scheme=http": "s3://b/k.csv",
    "s3://b/part-?.csv": "s3://b/part-?.csv",
    "s3://b/part-?x=1/k.csv": "s3://b/part-?x=1/k.csv",
    "gs://anonymous@b/a b%20.csv": "gs://b/a b%20.csv",
    "abfs://box@account.dfs.core.windows.net/k": "abfs://box@account.dfs.core.windows.net/k",
    "abfs://box:secret@account/k": "abfs://account/k",
    "https://me:secret@host:80/k.csv?sig=secret#x": "https://host:80/k.csv?...",
    "ftp://me:secret@host/k": "ftp://host/k",
    "a/b:c.csv": "a/b:c.csv",
}


@pytest.mark.parametrize("path", SHOWN)
def test_secrets_are_not_shown(path: str) -> None:
    assert shown(path) == SHOWN[path]
    assert "secret" not in Input(path).name


def test_local_names_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_remote("s3://b/k")
    Path("s3:/b").mkdir(parents=True)
    Path("s3:/b/k").touch()
    assert not is_remote("s3://b/k")
    assert not any(map(is_remote, ("x", "/a/b", "c:/x", "s3:/b/k", "-", "")))


def test_endings_are_those_of_the_name() -> None:
    assert plain_name("s3://b/m.npz?region=eu-west-1") == "s3://b/m.npz"
    assert plain_name("https://h/m.npz?x=a.csv") == "https://h/m.npz"
    assert Input("https://h/x.parquet?a=b/c.csv").format == "parquet"
    assert Input("s3://b/x.csv.gz?anonymous=true").format == "csv"


ONE = (
    (
        "s3://b/k",
        "S3://b/k",
        "s3://me:secret@b/k?region=x",
        "s3://b/k?endpoint_override=http://H:1",
        "s3://b/k?scheme=",
    ),
    ("s3://b/k?endpoint_override=h:2", "s3://b/k?endpoint_override=https://h:2/"),
    ("s3://b/k?endpoint_override=s3.amazonaws.com", "s3://b/k?endpoint_override=https://s3.eu-west-1.amazonaws.com"),
    ("s3://b/K",),
    ("s3://b/k ",),
    ("s3://c/k",),
    ("gs://b/k", "gcs://b/k", "gs://anonymous@b/k?endpoint_override=g:1"),
    ("gs://b/k?endpoint_override=g:2",),
    ("abfs://box@us.dfs.core.windows.net/k", "abfss://box/k", "abfs://box/k?account_name=us"),
    ("abfs://box@them.dfs.core.windows.net/k",),
    ("https://h/k?v=1",),
    ("https://h/k?v=2",),
)


def test_spellings_of_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://h:1")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "g:1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "us")
    found = [{CanonicalName()(name) for name in spellings} for spellings in ONE]
    assert [len(names) for names in found] == [1] * len(ONE)
    assert len(set.union(*found)) == len(ONE)


@pytest.mark.parametrize("name", ["s3://b/./k", "s3://b/x/../k", "gs://b/..", "abfs://box@a/x/.", "s3://b/./"])
def test_dots_are_no_part_of_a_name(name: str) -> None:
    remedy = "a name in a store cannot have . or .. as a folder; write the name without . and .."
    with pytest.raises(UsageError) as caught:
        parse(name)
    assert str(caught.value) == f"'{name}': {remedy}"
    assert parse("https://h/./k").key == "./k"
    assert parse("s3://b/.x/..y/z.").key == ".x/..y/z."


def test_parts_of_a_name() -> None:
    uri = parse("s3://a:b%2Fc@bucket/x/y?z.csv?region=r&endpoint_override=http://h:1")
    assert uri[:6] == ("s3", "s3", "a", "b/c", "bucket", "x/y?z.csv")
    assert uri.options == {"region": "r", "endpoint_override": "http://h:1"}
    for path, said in (
        ("s3://", "names no bucket"), ("https:///x", "names no server"), ("abfs://box/x", "names no account"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            azure.find_azure(parse(path))


UNKNOWN = {
    "s3://b/k.csv?endpoint_override=http://h:1&reigon=x": (
        "'s3://b/k.csv': s3:// has no option 'reigon'",
        "did you mean region? the options are anonymous, endpoint_override, region, scheme",
    ),
    "s3://b/k.csv?region=r&bogus=1": (
        "'s3://b/k.csv': s3:// has no option 'bogus'", "the options are anonymous, endpoint_override, region, scheme"
    ),
    "s3://b/k.csv?bogus&region=r": (
        "'s3://b/k.csv': s3:// has no option 'bogus'", "the options are anonymous, endpoint_override, region, scheme"
    ),
    "s3://b/k.csv?Region=r": (
        "'s3://b/k.csv': s3:// has no option 'Region'",
        "did you mean region? the options are anonymous, endpoint_override, region, scheme",
    ),
    "s3://b/k.csv?endpoint=secret": (
        "'s3://b/k.csv': s3:// has no option 'endpoint'",
        "did you mean endpoint_override? the options are anonymous, endpoint_override, region, scheme",
    ),
    "s3://b/k.csv?endpoint_url=secret&foo=1": (
        "'s3://b/k.csv': s3:// has no option 'endpoint_url'",
        "did you mean endpoint_override? the options are anonymous, endpoint_override, region, scheme",
    ),
    "s3://b/k.csv?anon=true": (
        "'s3://b/k.csv': s3:// has no option 'anon'",
        "did you mean anonymous? the options are anonymous, endpoint_override, region, scheme",
    ),
    "gs://b/k.csv?anonymus=true": (
        "'gs://b/k.csv': gs:// has no option 'anonymus'",
        "did you mean anonymous? the options are anonymous, endpoint_override, scheme",
    ),
    "abfs://b/k.csv?account_name=a&x=1": (
        "'abfs://b/k.csv': abfs:// has no option 'x'",
        "the options are account_name, blob_storage_authority, dfs_storage_authority, scheme",
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", UNKNOWN)
def test_options_that_no_store_has_are_refused(path: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(path)
    assert (refused.value.message, refused.value.remedy) == UNKNOWN[path]


def test_a_question_mark_may_be_a_letter() -> None:
    for key in ("part-?", "part-?x=1/k.csv", "q?a=b&region=x/k.csv?", "q?x/region=1", "q?region"):
        assert parse(f"s3://b/{key}").key == key
    named = with_options("s3://b/q?region=x.csv", "")
    assert (parse(named).key, dict(parse(named).options)) == ("q?region=x.csv", {})
    assert shown(named) == plain_name(named) == "s3://b/q?region=x.csv"
    assert with_options("s3://b/k", "") == "s3://b/k"


PATTERNS = {
    "b/*.csv": (["b/x.csv", "b/[1].csv"], ["b/.x.csv", "b/d/x.csv", "b/x.csv.gz"]),
    "b/**/x": (["b/x", "b/d/x", "b/d/e/x"], ["b/.d/x", "b/dx"]),
    "b/**": (["b/x", "b/d/x"], ["b/.x", "c/x"]),
    "b/p-[0-3!].?": (["b/p-2.x", "b/p-!.y"], ["b/p-4.x", "b/p-2.", "b/p-2./"]),
    "b/[!a]*": (["b/b", "b/]"], ["b/a", "b/b/c"]),
    "b/a.b/*": (["b/a.b/c"], ["b/axb/c"]),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_are_those_of_files(pattern: str) -> None:
    yes, no = PATTERNS[pattern]
    found = _pattern_regex(pattern.split("/"))
    assert [name for name in [*yes, *no] if found.fullmatch(name)] == yes


CONFIG = "[default]\nregion = eu-west-3\n[profile lab]\nregion=eu-north-1\nendpoint_url = http://lab:9000/\n"
SETTINGS: dict[str, tuple[dict[str, str], tuple[str, str, str]]] = {
    "s3://b/k": ({}, ("", "https", "eu-west-3")),
    "s3://b/k?region=us-west-2": ({"AWS_REGION": "x"}, ("", "https", "us-west-2")),
    "s3://b/k?endpoint_override=h:1&scheme=http": ({"AWS_ENDPOINT_URL": "https://e"}, ("h:1", "http", "eu-west-3")),
    "s3://b/1": ({"AWS_ENDPOINT_URL_S3": "https://e", "AWS_ENDPOINT_URL": "x"}, ("e", "https", "eu-west-3")),
    "s3://b/2": ({"AWS_PROFILE": "lab"}, ("lab:9000", "http", "eu-north-1")),
    "s3://b/3": ({"AWS_PROFILE": "lab", "AWS_REGION": "r"}, ("lab:9000", "http", "r")),
    "s3://b/4": (
        {"AWS_PROFILE": "lab", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, ("", "https", "eu-north-1")
    ),
    "s3://b/5": ({"AWS_PROFILE": "none", "AWS_ENDPOINT_URL": "http://e"}, ("e", "http", "us-east-1")),
}  # fmt: skip


@pytest.mark.parametrize("path", SETTINGS)
def test_where_s3_is(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(CONFIG)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    environment, expected = SETTINGS[path]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = s3.settings_of(parse(path))
    assert (settings.endpoint, settings.scheme, settings.region) == expected
    assert settings.bucket == ""


class Elsewhere(BaseHTTPRequestHandler):
    """S3 in a region where the bucket is not."""

    def do_HEAD(self) -> None:
        self.send_response(301)
        self.send_header("x-amz-bucket-region", "eu-west-1")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_bucket_says_where_it_is() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        here = f"127.0.0.1:{server.server_address[1]}"
        settings = s3.S3Settings(here, "http", "us-east-1", "a", "b", False, "", ())
        assert place._region_of(settings, "bucket") == "eu-west-1"
        server.shutdown()


def test_the_other_stores_are_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    files, bucket = gs.find_gs(parse("gcs://bucket/k"))
    assert (files.type_name, bucket) == ("gcs", "bucket")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
    for path in ("abfs://box/k", "abfss://box@account.dfs.core.windows.net/k", "abfs://box/k?account_name=other"):
        files, container = azure.find_azure(parse(path))
        assert (files.type_name, container) == ("abfs", "box")
    assert importlib.import_module("pyarrow.fs").AzureFileSystem


def test_local_paths_load_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    code = (
        "import sys; from pcatool.cli.app import run; run(['fit', 't.csv', '-o', 'm.npz']); run(['inspect', 'm.npz']);"
        "assert not {'pyarrow.fs', 'pyarrow._s3fs', 'fsspec', 'aiohttp'} & set(sys.modules), sys.modules;"
        "assert [m for m in sys.modules if m.startswith('pcatool.stores.')] == ['pcatool.stores.uri']"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, timeout=60)
