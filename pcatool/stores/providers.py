"""The file system of S3 and of servers that speak like it, told what pyarrow does not find by itself.

Credentials it finds: in the environment, the files of AWS, the machine's role. An endpoint in the environment or in
the files of AWS it does not honour everywhere, and without a region it asks the network for one, at length.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from configparser import ConfigParser, Error
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pcatool.stores.uri import Uri

__all__ = ["Settings", "make", "settings_of"]

# Seconds until a server that does not answer is given up, and how often it is asked: what is out of reach is told
# within half a minute.
CONNECT, ANSWER, ATTEMPTS = 5, 6, 3
# Of servers of one's own, which have none.
ANY_REGION = "us-east-1"
SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


class Settings(NamedTuple):
    """What a file system is made with; the same of them serve all objects."""

    endpoint: str
    scheme: str
    region: str
    user: str
    password: str
    anonymous: bool
    bucket: str  # whose region is to be found, where none is known
    environment: tuple[str | None, ...]


def settings_of(uri: Uri) -> Settings:
    """The name's own options first, then the environment, then the files of AWS."""
    profile = _profile()
    endpoint = uri.options.get("endpoint_override") or _endpoint(profile)
    scheme, mark, host = endpoint.partition("://")
    if not mark:
        scheme, host = "https", endpoint
    region = uri.options.get("region") or _from_environment("AWS_REGION", "AWS_DEFAULT_REGION")
    region = region or profile.get("region", "") or (ANY_REGION if endpoint else "")
    return Settings(
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


def make(settings: Settings) -> Any:
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
