"""File systems of S3, Google Cloud Storage and Azure, with credentials, timeouts and retries; canonical object names.

S3 and compatible servers: pyarrow finds credentials by itself, in the environment, in the files of AWS, or from the
role of the machine. It does not always use an endpoint from the environment or the files of AWS, and without a region
it asks the network for one, which takes long. Both are looked up here.

Azure: names are `abfs://container@account.dfs.core.windows.net/name` or `abfs://container/name`. The account, a key or
a signature may come from the environment; without a key or signature, Azure's own library looks for credentials.
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

from pcatool.errors import UsageError
from pcatool.stores.uri import Uri, parse, shown
from pcatool.wording import show

__all__ = ["CanonicalName", "S3Settings", "find_azure", "find_gs", "make_s3", "settings_of"]

# Seconds to wait for a connection and for an answer, and number of attempts: a server out of reach is reported within
# half a minute.
CONNECT_SECONDS, ANSWER_SECONDS, MAX_ATTEMPTS = 5, 6, 3
# The region for servers other than Amazon's, which have no regions.
ANY_REGION = "us-east-1"
CREDENTIAL_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


class S3Settings(NamedTuple):
    """Settings of an S3 file system; also the key of a cache, so that equal settings share one file system."""

    endpoint: str  # server without scheme; empty for Amazon's own
    scheme: str
    region: str  # empty if unknown
    user: str
    password: str
    anonymous: bool
    bucket: str  # its region is looked up; empty if the region is known
    environment: tuple[str | None, ...]  # values of CREDENTIAL_VARIABLES: other credentials need another file system


def settings_of(uri: Uri) -> S3Settings:
    """Return the S3 settings for a name: from its options, else the environment, else the configuration file of AWS."""
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
        tuple(os.environ.get(name) for name in CREDENTIAL_VARIABLES),
    )


def _from_environment(*names: str) -> str:
    """Return the value of the first of these environment variables that is set and not empty; otherwise ""."""
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _endpoint(profile: dict[str, str]) -> str:
    if _from_environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").lower() == "true":
        return ""
    return _from_environment("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") or profile.get("endpoint_url", "")


def _profile() -> dict[str, str]:
    """Return the settings of the active profile in the configuration file of AWS, by name.

    Empty if there is no such file or profile, or if the file cannot be read.
    """
    name = _from_environment("AWS_PROFILE", "AWS_DEFAULT_PROFILE") or "default"
    config = ConfigParser(interpolation=None)
    try:
        config.read(_from_environment("AWS_CONFIG_FILE") or Path("~/.aws/config").expanduser())
    except (Error, OSError, RuntimeError, UnicodeDecodeError):
        return {}  # pyarrow reads the file, too, and reports its errors
    section = name if name == "default" else f"profile {name}"
    return dict(config[section]) if section in config else {}


def make_s3(settings: S3Settings) -> Any:
    """Return a pyarrow file system of S3; if the region is unknown, ask Amazon for the region of the bucket."""
    from pyarrow import fs

    region = settings.region or fs.resolve_s3_region(settings.bucket)
    optional = {"allow_delayed_open": True, "tls_ca_file_path": _from_environment("AWS_CA_BUNDLE")}
    documented_options = fs.S3FileSystem.__doc__ or ""
    with _known_region(region):
        return fs.S3FileSystem(
            access_key=settings.user or None,
            secret_key=settings.password or None,
            anonymous=settings.anonymous,
            region=region,
            scheme=settings.scheme,
            endpoint_override=settings.endpoint or None,
            connect_timeout=CONNECT_SECONDS,
            request_timeout=ANSWER_SECONDS,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=MAX_ATTEMPTS),
            **{name: value for name, value in optional.items() if value and f"{name}=" in documented_options},
        )


@contextmanager
def _known_region(region: str) -> Iterator[None]:
    """Context manager: set the environment variable AWS_REGION while its body runs, unless it is set already.

    Without the variable, the AWS library asks the network for the region of this machine, which is not needed; if no
    answer comes, this takes 8 s.
    """
    name = "AWS_REGION"
    before = os.environ.get(name)
    os.environ[name] = before or region
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


# Time for repeated attempts; the default of Google's library is 15 minutes.
GS_RETRY_TIME = timedelta(seconds=10)


def find_gs(uri: Uri) -> tuple[Any, str]:
    """Return the pyarrow file system of Google Cloud Storage and the name of the bucket."""
    scheme, endpoint = endpoint_of(uri)
    anonymous_option = uri.options.get("anonymous", "").lower() in ("1", "true", "yes")
    anonymous = anonymous_option or uri.user == "anonymous" or bool(os.environ.get("STORAGE_EMULATOR_HOST"))
    return _make_gs(endpoint, scheme, anonymous), uri.authority


def endpoint_of(uri: Uri) -> tuple[str, str]:
    """Return scheme and server of Google Cloud Storage, from the options, else from STORAGE_EMULATOR_HOST.

    By default these are https and "", which means Google's own server.
    """
    emulator = os.environ.get("STORAGE_EMULATOR_HOST", "")  # the variable by which Google's tools use a test server
    scheme, mark, host = emulator.partition("://")
    if not mark:
        scheme, host = "http", emulator
    return uri.options.get("scheme", scheme if host else "https"), uri.options.get(
        "endpoint_override", host.rstrip("/")
    )


@cache
def _make_gs(endpoint: str, scheme: str, anonymous: bool) -> Any:
    from pyarrow import fs

    return fs.GcsFileSystem(
        anonymous=anonymous, endpoint_override=endpoint or None, scheme=scheme, retry_time_limit=GS_RETRY_TIME
    )


def find_azure(uri: Uri) -> tuple[Any, str]:
    """Return the pyarrow file system of Azure and the name of the container.

    Raise UsageError if neither the name nor the environment gives the account.
    """
    account, container = azure_account_of(uri)
    if not account:
        raise UsageError(
            f"{show(shown(uri.stem + uri.key))} names no account",
            "write abfs://container@account.dfs.core.windows.net/name, or set AZURE_STORAGE_ACCOUNT_NAME",
        )
    options = {
        "account_key": uri.password or _azure_setting("ACCOUNT_KEY", "KEY"),
        "sas_token": "" if uri.password else _azure_setting("SAS_TOKEN"),
        "blob_storage_authority": uri.options.get("blob_storage_authority", ""),
        "dfs_storage_authority": uri.options.get("dfs_storage_authority", ""),
        "blob_storage_scheme": uri.options.get("scheme", ""),
        "dfs_storage_scheme": uri.options.get("scheme", ""),
    }
    if options["account_key"]:
        del options["sas_token"]
    return _make_azure(account, **options), container


def azure_account_of(uri: Uri) -> tuple[str, str]:
    """Return the account and the container of an Azure name.

    The account is that in the name, else in the options of the name, else in the environment, else empty.
    """
    container, at, host = uri.authority.partition("@")
    account = (
        host.partition(".")[0] if at else uri.options.get("account_name") or _azure_setting("ACCOUNT_NAME", "ACCOUNT")
    )
    return account, container


def _azure_setting(*names: str) -> str:
    """Return the value of the first environment variable AZURE_STORAGE_<name> that is set; otherwise ""."""
    return next(filter(None, (os.environ.get(f"AZURE_STORAGE_{name}") for name in names)), "")


@cache
def _make_azure(account: str, **options: str) -> Any:
    from pyarrow import fs

    return fs.AzureFileSystem(account, **{name: value for name, value in options.items() if value})


AMAZON = ".amazonaws.com"  # all servers of Amazon share their buckets, so the server is no part of a canonical name


class CanonicalName:
    """Function from the names of an object to its canonical name, which is the same for all names of the object.

    The store is not asked. The server in the canonical name comes from options and environment, and is looked up once
    for each bucket and query; so an instance must not outlive a run.
    """

    def __init__(self) -> None:
        self._locations: dict[tuple[str, str, str], str] = {}

    def __call__(self, path: str) -> str:
        uri = parse(path)
        location = self._locations.get((uri.kind, uri.authority, uri.query))
        if location is None:
            server, container = LOCATORS.get(uri.kind, _locate_page)(uri)
            location = f"{uri.kind}://{server.lower()}/{container}"
            self._locations[uri.kind, uri.authority, uri.query] = location
        return f"{location}/{uri.key}"


def _locate_s3(uri: Uri) -> tuple[str, str]:
    host = settings_of(uri).endpoint
    return "" if host.lower().endswith(AMAZON) else host, uri.authority


def _locate_gs(uri: Uri) -> tuple[str, str]:
    return endpoint_of(uri)[1], uri.authority


def _locate_azure(uri: Uri) -> tuple[str, str]:
    account, container = azure_account_of(uri)
    return f"{account}@{uri.options.get('blob_storage_authority', '')}", container


def _locate_page(uri: Uri) -> tuple[str, str]:
    return uri.authority, uri.query


LOCATORS = {"s3": _locate_s3, "gs": _locate_gs, "abfs": _locate_azure}
