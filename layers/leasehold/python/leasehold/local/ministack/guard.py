"""Let in nobody but the project that started it.

Whoever can make a function can run code as the developer. Every page that is open in a browser can send requests to a
port of this machine, and so can every user of it. So a request needs a Host of ours, no Origin, and a signature with a
key that is made anew for each start. What ministack calls by itself is let in by what it knows: a custom resource's
answer by its token, the deployed HTTP API by its own authorizer.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    type Scope = dict[str, Any]
    type Message = dict[str, Any]
    type Receive = Callable[[], Awaitable[Message]]
    type Send = Callable[[Message], Awaitable[None]]
    type Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_ACCOUNT = "000000000000"
_HEALTH = "/_ministack/health"
# The token in it is known to CloudFormation and to the function that it called.
_CUSTOM_RESOURCE_ANSWER = re.compile(r"/_ministack/cfn-response/[0-9A-Za-z-]{16,}")
_FROM_A_PAGE = ("origin", "sec-fetch-site", "sec-fetch-mode")


def guarded(application: Application, *, port: int) -> Application:
    """The application, for those alone who may use it."""
    hosts = re.compile(
        rf"(127\.0\.0\.1|localhost|(?P<api>[a-z0-9]+\.execute-api\.localhost)|[a-z0-9.-]+\.localhost):{port}", re.ASCII
    )

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await application(scope, receive, send)
        elif scope["type"] != "http":
            # Nothing that is deployed here speaks anything else.
            await send({"type": "websocket.close", "code": 1008})
        else:
            body = await _body(receive)
            problem = _problem(scope, body)
            if problem is None:
                await application(scope, _again(body, receive), send)
            else:
                code, _, _ = problem.partition(":")
                headers = {"content-type": "text/plain", "x-amzn-errortype": code, "connection": "close"}
                raw = [(name.encode(), value.encode()) for name, value in headers.items()]
                await send({"type": "http.response.start", "status": 403, "headers": raw})
                await send({"type": "http.response.body", "body": f"{problem}\n".encode()})

    def _problem(scope: Scope, body: bytes) -> str | None:
        headers = _headers(scope)
        host = hosts.fullmatch(headers.get("host", ""))
        if host is None:
            return "ForeignHost: the local AWS answers on this machine's own names only"
        if any(name in headers for name in _FROM_A_PAGE):
            return "ForeignOrigin: the local AWS does not answer to pages in a browser"
        method, path = scope["method"], scope["path"]
        answers = method == "PUT" and _CUSTOM_RESOURCE_ANSWER.fullmatch(path)
        if host["api"] or answers or (method, path) == ("GET", _HEALTH):
            return None
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        raw_path = (scope.get("raw_path") or path.encode()).decode("latin-1")
        unsigned = signature_problem(method, raw_path, query, headers, body)
        return unsigned and f"InvalidSignature: {unsigned} Its keys are in .leasehold/local/instance.json."

    return guard


def _headers(scope: Scope) -> dict[str, str]:
    """By lower-case name. What comes twice is joined, and then is no host of ours."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


async def _body(receive: Receive) -> bytes:
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        has_more = message.get("more_body", False)  # one who went away has no more
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """The request's body once more, and then whatever comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


def signature_problem(
    method: str, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str], body: bytes
) -> str | None:
    """Why a request is not signed as it must be, with the project's key or one that this ministack gave out itself."""
    iam, sigv4 = import_module("ministack.core.iam_evaluator"), import_module("ministack.core.sigv4")
    account_of_session = import_module("ministack.core.responses")._account_from_sts_session

    is_presigned = "X-Amz-Signature" in query
    if not is_presigned and not headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 "):
        return "The request is not signed."
    signature = sigv4.parse_query_signature(query) if is_presigned else sigv4.parse_header_signature(headers)
    if isinstance(signature, tuple):
        return "The signature is not whole."
    if not is_presigned and sigv4.request_time_failure(signature):
        return "The signature is too old."
    key = signature.access_key_id
    if not key:
        return "The signature names no key."
    account = account_of_session(key) or iam.find_iam_access_key_account(key) or _ACCOUNT
    secret = getattr(iam.resolve_credential(key, account), "secret_access_key", None)
    if not secret:
        return "The key is not known here."
    failure = sigv4.header_signature_failure(
        signature, secret, method, path, query, headers, body, presigned=is_presigned
    )
    return None if failure is None else "The signature is not of this key."


def install() -> None:
    """Guard ministack, if it was given a key to ask for: the engine that tests start for themselves has none."""
    if not os.environ.get("AWS_SECRET_ACCESS_KEY"):
        return
    ministack: Any = import_module("ministack.app")
    ministack.app = guarded(ministack.app, port=int(os.environ["GATEWAY_PORT"]))
