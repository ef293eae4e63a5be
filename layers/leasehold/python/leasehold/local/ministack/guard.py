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
    # Why a request with this method, path, query, headers and body is not signed as it must be; None if it is.
    type Check = Callable[[str, str, Mapping[str, list[str]], Mapping[str, str], bytes], str | None]

_ACCOUNT = "000000000000"
_HEALTH = "/_ministack/health"
# The token in it is known to CloudFormation and to the function that it called.
_CUSTOM_RESOURCE_ANSWER = re.compile(r"/_ministack/cfn-response/[0-9A-Za-z-]{16,}")
_API_HOST = re.compile(r"[a-z0-9]+\.execute-api\.localhost")
_FROM_A_PAGE = ("origin", "sec-fetch-site", "sec-fetch-mode")


def guarded(application: Application, *, port: int, check: Check) -> Application:
    """The application, for those alone who may use it."""
    hosts = re.compile(rf"(127\.0\.0\.1|localhost|(?P<name>[a-z0-9.-]+\.localhost)):{port}", re.ASCII)

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await application(scope, receive, send)
            return
        if scope["type"] != "http":
            # Nothing that is deployed here speaks anything else.
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _headers(scope)
        host = hosts.fullmatch(headers.get("host", ""))
        if host is None:
            await _refuse(send, "ForeignHost", "the local AWS answers on this machine's own names only")
            return
        if any(name in headers for name in _FROM_A_PAGE):
            await _refuse(send, "ForeignOrigin", "the local AWS does not answer to pages in a browser")
            return
        body = await _body(receive)
        if not _needs_no_signature(scope, host["name"]):
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
            path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
            problem = check(scope["method"], path, query, headers, body)
            if problem is not None:
                await _refuse(send, "InvalidSignature", f"{problem} Its keys are in .leasehold/local/instance.json.")
                return
        await application(scope, _again(body, receive), send)

    return guard


def _needs_no_signature(scope: Scope, name: str | None) -> bool:
    method, path = scope["method"], scope["path"]
    if name is not None and _API_HOST.fullmatch(name):
        return True
    return (method == "GET" and path == _HEALTH) or (
        method == "PUT" and _CUSTOM_RESOURCE_ANSWER.fullmatch(path) is not None
    )


def _headers(scope: Scope) -> dict[str, str]:
    """By lower-case name. What comes twice is joined, and then is no host of ours."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


async def _body(receive: Receive) -> bytes:
    services: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(services)
        services.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(services)


def _again(body: bytes, receive: Receive) -> Receive:
    """The request's body once more, and then whatever comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


async def _refuse(send: Send, code: str, reason: str) -> None:
    headers = [(b"content-type", b"text/plain"), (b"x-amzn-errortype", code.encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"{code}: {reason}\n".encode()})


def signature_problem(
    method: str, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str], body: bytes
) -> str | None:
    """By ministack's own arithmetic, with the project's key or one that this ministack gave out itself."""
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
    credential = iam.resolve_credential(key, account)
    secret = getattr(credential, "secret_access_key", None)
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
    ministack.app = guarded(ministack.app, port=int(os.environ["GATEWAY_PORT"]), check=signature_problem)
