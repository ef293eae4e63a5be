"""dynoxide 1.2.1 reads one list after SET and one after REMOVE, where AWS takes the word before each path.

Leasehold speaks as AWS has it documented; what is sent to a dynoxide is put into its words on the way. Without this
its claims would go one by one, as they do wherever batches are refused, and no batch would be tried on a real engine.
"""

from __future__ import annotations

import http.client
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import botocore.handlers

_EVENTS = tuple(f"before-call.dynamodb.{each}" for each in ("BatchExecuteStatement", "ExecuteTransaction"))
# As they stand in the JSON of a request, where the quotes of a name are escaped.
_REPEATED_SET, _SET_LIST = b'=? SET \\"', b'=?, \\"'
_REPEATED_REMOVE, _REMOVE_LIST = b'\\" REMOVE \\"', b'\\", \\"'


def install() -> None:
    """For every client that is opened from now on: a handler of botocore's own, as moto installs them."""
    for event in _EVENTS:
        handler = (event, _translate)
        if handler not in botocore.handlers.BUILTIN_HANDLERS:
            botocore.handlers.BUILTIN_HANDLERS.append(handler)


def in_its_words(body: bytes) -> bytes:
    """The JSON of a batch of updates that each set something before they remove anything, as ours do."""
    return body.replace(_REPEATED_SET, _SET_LIST).replace(_REPEATED_REMOVE, _REMOVE_LIST)


def _translate(params: dict[str, Any], **_: object) -> None:
    url = urlsplit(params["url"])
    if url.hostname == "127.0.0.1" and is_dynoxide(url.netloc):
        params["body"] = in_its_words(params["body"])


@cache
def is_dynoxide(netloc: str) -> bool:
    connection = http.client.HTTPConnection(netloc, timeout=5)
    try:
        connection.request("GET", "/")
        return (connection.getresponse().getheader("Server") or "").startswith("Dynoxide")
    finally:
        connection.close()
