"""The file system of Azure: `abfs://container@account.dfs.core.windows.net/name`, or `abfs://container/name`.

The account may stand in the environment, and so may a key or a signature; without them Azure's own library looks for
credentials.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from pcatool.errors import UsageError, show
from pcatool.stores.uri import Uri, shown

__all__ = ["account_of", "find"]


def find(uri: Uri) -> tuple[Any, str]:
    """The file system and the container."""
    account, container = account_of(uri)
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
    return _made(account, **options), container


def account_of(uri: Uri) -> tuple[str, str]:
    """The account, nothing where none is named, and the container."""
    container, at, host = uri.authority.partition("@")
    account = host.partition(".")[0] if at else uri.options.get("account_name") or _given("ACCOUNT_NAME", "ACCOUNT")
    return account, container


def _given(*names: str) -> str:
    return next(filter(None, (os.environ.get(f"AZURE_STORAGE_{name}") for name in names)), "")


@cache
def _made(account: str, **options: str) -> Any:
    from pyarrow import fs

    return fs.AzureFileSystem(account, **{name: value for name, value in options.items() if value})
