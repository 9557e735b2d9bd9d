"""Which object a name means, whatever way it is spelled, so that no output replaces what it is made from."""

from __future__ import annotations

from pcatool.stores import azure, gs, s3
from pcatool.stores.uri import Uri, parse

__all__ = ["one_name"]

AMAZON = ".amazonaws.com"  # all its servers have the same buckets


def one_name(path: str) -> str:
    """The same for all names of an object, by text alone: with the server that options and environment lead to."""
    uri = parse(path)
    server, container = WHERE.get(uri.kind, _on_the_web)(uri)
    return f"{uri.kind}://{server.lower()}/{container}/{uri.key}"


def _s3(uri: Uri) -> tuple[str, str]:
    host = s3.settings_of(uri).endpoint
    return "" if host.lower().endswith(AMAZON) else host, uri.authority


def _gs(uri: Uri) -> tuple[str, str]:
    return gs.endpoint_of(uri)[1], uri.authority


def _abfs(uri: Uri) -> tuple[str, str]:
    account, container = azure.account_of(uri)
    return f"{account}@{uri.options.get('blob_storage_authority', '')}", container


def _on_the_web(uri: Uri) -> tuple[str, str]:
    return uri.authority, uri.query


WHERE = {"s3": _s3, "gs": _gs, "abfs": _abfs}
