"""Which object a name means, whatever way it is spelled, so that no output replaces what it is made from."""

from __future__ import annotations

from pcatool.stores import azure, gs, providers
from pcatool.stores.uri import Uri, parse

__all__ = ["OneName"]

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


def _s3(uri: Uri) -> tuple[str, str]:
    host = providers.settings_of(uri).endpoint
    return "" if host.lower().endswith(AMAZON) else host, uri.authority


def _gs(uri: Uri) -> tuple[str, str]:
    return gs.endpoint_of(uri)[1], uri.authority


def _abfs(uri: Uri) -> tuple[str, str]:
    account, container = azure.account_of(uri)
    return f"{account}@{uri.options.get('blob_storage_authority', '')}", container


def _on_the_web(uri: Uri) -> tuple[str, str]:
    return uri.authority, uri.query


WHERE = {"s3": _s3, "gs": _gs, "abfs": _abfs}
