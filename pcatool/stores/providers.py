"""File systems of S3, Google Cloud Storage and Azure, and which names mean one and the same object.

The file system of S3 and of servers that speak like it, told what pyarrow does not find by itself.
Credentials it finds: in the environment, the files of AWS, the machine's role. An endpoint in the environment or in
the files of AWS it does not honour everywhere, and without a region it asks the network for one, at length.

The file system of Azure: `abfs://container@account.dfs.core.windows.net/name`, or `abfs://container/name`.
The account may stand in the environment, and so may a key or a signature; without them Azure's own library looks for
credentials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from configparser import ConfigParser, Error
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pcatool.errors import UsageError, show
from pcatool.stores.uri import Uri, parse, shown

__all__ = ["OneName", "S3Settings", "find_azure", "find_gs", "make", "settings_of"]

# Seconds until a server that does not answer is given up, and how often it is asked: what is out of reach is told
# within half a minute.
CONNECT, ANSWER, ATTEMPTS = 5, 6, 3
# Of servers of one's own, which have none.
ANY_REGION = "us-east-1"
SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


class S3Settings(NamedTuple):
    """What a file system is made with; the same of them serve all objects."""

    endpoint: str
    scheme: str
    region: str
    user: str
    password: str
    anonymous: bool
    bucket: str  # whose region is to be found, where none is known
    environment: tuple[str | None, ...]


def settings_of(uri: Uri) -> S3Settings:
    """The name's own options first, then the environment, then the files of AWS."""
    profile = _profile()
    endpoint = uri.options.get("endpoint_override") or _endpoint(profile)
    scheme, mark, host = endpoint.partition("://")
    if not mark:
        scheme, host = "https", endpoint
    region = uri.options.get("region") or _from_environment("AWS_REGION", "AWS_DEFAULT_REGION")
    region = region or profile.get("region", "") or (ANY_REGION if endpoint else "")
    return S3Settings(
        host.rstrip("/"),
        uri.options.get("scheme", scheme),
        region,
        uri.user,
        uri.password,
        uri.options.get("anonymous", "").lower() in ("1", "true", "yes"),
        "" if region else uri.authority,
        tuple(os.environ.get(name) for name in SECRETS),
    )


def _from_environment(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _endpoint(profile: dict[str, str]) -> str:
    if _from_environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").lower() == "true":
        return ""
    return _from_environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") or profile.get("endpoint_url", "")


def _profile() -> dict[str, str]:
    """What the configuration of AWS says for the profile in use."""
    name = _from_environment("AWS_PROFILE", "AWS_DEFAULT_PROFILE") or "default"
    config = ConfigParser(interpolation=None)
    try:
        config.read(_from_environment("AWS_CONFIG_FILE") or Path("~/.aws/config").expanduser())
    except (Error, OSError, RuntimeError, UnicodeDecodeError):
        return {}  # pyarrow reads it, too, and says what it lacks
    section = name if name == "default" else f"profile {name}"
    return dict(config[section]) if section in config else {}


def make(settings: S3Settings) -> Any:
    from pyarrow import fs

    region = settings.region or fs.resolve_s3_region(settings.bucket)
    optional = {"allow_delayed_open": True, "tls_ca_file_path": _from_environment("AWS_CA_BUNDLE")}
    known = fs.S3FileSystem.__doc__ or ""
    with _known_region(region):
        return fs.S3FileSystem(
            access_key=settings.user or None,
            secret_key=settings.password or None,
            anonymous=settings.anonymous,
            region=region,
            scheme=settings.scheme,
            endpoint_override=settings.endpoint or None,
            connect_timeout=CONNECT,
            request_timeout=ANSWER,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            **{name: value for name, value in optional.items() if value and f"{name}=" in known},
        )


@contextmanager
def _known_region(region: str) -> Iterator[None]:
    """The library asks for the region of the machine it runs on, though it needs it not, unless the environment says
    one; where nobody answers that takes 8 s."""
    name = "AWS_REGION"
    before = os.environ.get(name)
    os.environ[name] = before or region
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


# Google's library tries again for 15 minutes.
GS_PATIENCE = timedelta(seconds=10)


def find_gs(uri: Uri) -> tuple[Any, str]:
    """The file system and the bucket."""
    scheme, endpoint = endpoint_of(uri)
    asked = uri.options.get("anonymous", "").lower() in ("1", "true", "yes")
    anonymous = asked or uri.user == "anonymous" or bool(os.environ.get("STORAGE_EMULATOR_HOST"))
    return _made_gs(endpoint, scheme, anonymous), uri.authority


def endpoint_of(uri: Uri) -> tuple[str, str]:
    """The scheme and the server; none is Google's own."""
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")  # as Google's own tools are led to a server for tests
    scheme, mark, host = emulator.partition("://")
    if not mark:
        scheme, host = "http", emulator
    return uri.options.get("scheme", scheme if host else "https"), uri.options.get(
        "endpoint_override", host.rstrip("/")
    )


@cache
def _made_gs(endpoint: str, scheme: str, anonymous: bool) -> Any:
    from pyarrow import fs

    return fs.GcsFileSystem(
        anonymous=anonymous, endpoint_override=endpoint or None, scheme=scheme, retry_time_limit=GS_PATIENCE
    )


def find_azure(uri: Uri) -> tuple[Any, str]:
    """The file system and the container."""
    account, container = azure_account_of(uri)
    if not account:
        raise UsageError(
            f"{show(shown(uri.stem + uri.key))} names no account",
            "write abfs://container@account.dfs.core.windows.net/name, or set AZURE_STORAGE_ACCOUNT_NAME",
        )
    options = {
        "account_key": uri.password or _given("ACCOUNT_KEY", "KEY"),
        "sas_token": "" if uri.password else _given("SAS_TOKEN"),
        "blob_storage_authority": uri.options.get("blob_storage_authority", ""),
        "dfs_storage_authority": uri.options.get("dfs_storage_authority", ""),
        "blob_storage_scheme": uri.options.get("scheme", ""),
        "dfs_storage_scheme": uri.options.get("scheme", ""),
    }
    if options["account_key"]:
        del options["sas_token"]
    return _made_azure(account, **options), container


def azure_account_of(uri: Uri) -> tuple[str, str]:
    """The account, nothing where none is named, and the container."""
    container, at, host = uri.authority.partition("@")
    account = host.partition(".")[0] if at else uri.options.get("account_name") or _given("ACCOUNT_NAME", "ACCOUNT")
    return account, container


def _given(*names: str) -> str:
    return next(filter(None, (os.environ.get(f"AZURE_STORAGE_{name}") for name in names)), "")


@cache
def _made_azure(account: str, **options: str) -> Any:
    from pyarrow import fs

    return fs.AzureFileSystem(account, **{name: value for name, value in options.items() if value})


AMAZON = ".amazonaws.com"  # all its servers have the same buckets


class OneName:
    """The same for all names of an object, by text alone: with the server that options and environment lead to.

    Each server is looked up once, in the settings as they are now.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], str] = {}

    def __call__(self, path: str) -> str:
        uri = parse(path)
        place = self._places.get((uri.kind, uri.authority, uri.query))
        if place is None:
            server, container = WHERE.get(uri.kind, _on_the_web)(uri)
            place = f"{uri.kind}://{server.lower()}/{container}"
            self._places[uri.kind, uri.authority, uri.query] = place
        return f"{place}/{uri.key}"


def _identity_s3(uri: Uri) -> tuple[str, str]:
    host = settings_of(uri).endpoint
    return "" if host.lower().endswith(AMAZON) else host, uri.authority


def _gs(uri: Uri) -> tuple[str, str]:
    return endpoint_of(uri)[1], uri.authority


def _abfs(uri: Uri) -> tuple[str, str]:
    account, container = azure_account_of(uri)
    return f"{account}@{uri.options.get('blob_storage_authority', '')}", container


def _on_the_web(uri: Uri) -> tuple[str, str]:
    return uri.authority, uri.query


WHERE = {"s3": _identity_s3, "gs": _gs, "abfs": _abfs}
