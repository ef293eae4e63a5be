"""Faults at the HTTP boundary of a botocore client: the n-th call of a process goes wrong in a chosen way."""

from __future__ import annotations

import json
from copy import copy
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.crash.ledger import Ledger

INVOKE = "Invoke"
# An invoke whose caller waits for the answer: it is made once, and a lost answer is for the caller to see.
CALL = "Call"
_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})


class Killed(BaseException):
    """The process is gone. No `except Exception` may survive it, as none survives a kill -9."""


class Fault(StrEnum):
    # The process dies before the call, or after it with the answer unread.
    KILL_BEFORE = "kill_before"
    KILL_AFTER = "kill_after"
    # The process dies with the call on its way: it arrives while another process is at work already.
    KILL_LATE = "kill_late"
    # The call arrives, the process dies, and a copy that its client sent as a retry arrives late as well.
    KILL_ECHO = "kill_echo"
    # The process lives, and must not even notice.
    LOST_RESPONSE = "lost_response"
    THROTTLE = "throttle"
    CONFLICT = "conflict"
    SERVER_ERROR = "server_error"

    @property
    def kills(self) -> bool:
        return self.value.startswith("kill")

    @property
    def strikes_every_call_at_once(self) -> bool:
        """What botocore alone deals with needs no run per call."""
        return self in {Fault.THROTTLE, Fault.SERVER_ERROR}

    def points(self, calls: Sequence[str]) -> list[int]:
        """Which of these calls, counted from 1, are worth a strike.

        A read leaves nothing behind. To die after it is to die before the next call, and to die before it is to die
        before the first of the reads that it stands among.
        """
        hit = [at for at, operation in enumerate(calls, start=1) if self.can_hit(operation)]
        if self is not Fault.KILL_BEFORE:
            return hit
        return [at for at in hit if at == 1 or not {calls[at - 1], calls[at - 2]} <= _READS]

    def can_hit(self, operation: str) -> bool:
        match self:
            case Fault.KILL_BEFORE:
                return True
            case Fault.THROTTLE | Fault.SERVER_ERROR:
                return operation not in {INVOKE, CALL}
            case Fault.CONFLICT:
                return operation not in _READS | {INVOKE, CALL}
            case Fault.LOST_RESPONSE if operation == CALL:
                return False
            case _:
                return operation not in _READS


class Wire:
    """Every call of one process, counted. After a kill nothing more gets out."""

    def __init__(self, client: DynamoDBClient, ledger: Ledger) -> None:
        session = cast("Any", client)._endpoint.http_session
        self._send = session.send
        self._ledger = ledger
        session.send = self._http
        self.arm(None)

    def arm(self, fault: Fault | None, at: int | None = None) -> None:
        """Let the call number `at` from now on meet the fault; without a number, every call, but not its retry."""
        self.calls: list[str] = []
        self.late: Callable[[], object] | None = None
        self._fault, self._at = fault, at
        self._is_dead = self._was_hit = False

    def invoke(self, deliver: Callable[[], object]) -> None:
        """A call that is not DynamoDB's: the hand-over to a handler."""
        self._pass(INVOKE, deliver, deliver, None)

    def call[T](self, deliver: Callable[[], T]) -> T:
        """A call to a handler that is waited for. It has no echo."""
        late: Callable[[], object] = (lambda: None) if self._fault is Fault.KILL_ECHO else deliver
        return cast("T", self._pass(CALL, deliver, late, None))

    def _http(self, request: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        return cast(
            "AWSResponse",
            self._pass(
                operation, lambda: self._deliver(request), lambda: self._deliver(_without_token(request)), request
            ),
        )

    def _deliver(self, request: Any) -> AWSResponse:
        response = self._send(request)
        self._ledger.note(request, response)
        return cast("AWSResponse", response)

    def _pass(
        self, operation: str, deliver: Callable[[], object], deliver_late: Callable[[], object], request: Any
    ) -> object:
        if self._is_dead:
            raise Killed("the process is dead already")
        self.calls.append(operation)
        if not self._is_hit(operation):
            return deliver()
        assert self._fault is not None
        self._is_dead = self._fault.kills
        if self._fault in {Fault.KILL_LATE, Fault.KILL_ECHO}:
            self.late = deliver_late
        match self._fault:
            case Fault.KILL_BEFORE | Fault.KILL_LATE:
                raise Killed(f"before {operation}")
            case Fault.KILL_AFTER | Fault.KILL_ECHO:
                deliver()
                raise Killed(f"after {operation}")
            case Fault.LOST_RESPONSE if request is None:
                deliver()
                return deliver()
            case Fault.LOST_RESPONSE:
                deliver()
                raise ConnectionClosedError(endpoint_url=request.url)
            case Fault.THROTTLE:
                return _error(request, 400, "ProvisionedThroughputExceededException")
            case Fault.SERVER_ERROR:
                return _error(request, 500, "InternalServerError")
            case Fault.CONFLICT:
                return self._conflict(operation, request)

    def _is_hit(self, operation: str) -> bool:
        if self._fault is None or not self._fault.can_hit(operation):
            return False
        if self._at is None:
            self._was_hit = not self._was_hit
            return self._was_hit
        return len(self.calls) == self._at

    def _conflict(self, operation: str, request: Any) -> AWSResponse:
        body = json.loads(request.body)
        if operation in {"TransactWriteItems", "ExecuteTransaction"}:
            changes = body.get("TransactItems") or body["TransactStatements"]
            reasons = [{"Code": "TransactionConflict"}, *({"Code": "None"} for _ in changes[1:])]
            return _error(request, 400, "TransactionCanceledException", CancellationReasons=reasons)
        if operation == "BatchExecuteStatement":
            # The first statement meets a conflict, the others go through.
            first = {"Error": {"Code": "TransactionConflict", "Message": "injected"}}
            if len(body["Statements"]) == 1:
                return _answer(request, 200, {"Responses": [first]})
            answer = self._deliver(_with_body(request, {**body, "Statements": body["Statements"][1:]}))
            return _answer(request, 200, {"Responses": [first, *json.loads(answer.content)["Responses"]]})
        return _error(request, 400, "TransactionConflictException")


def _without_token(request: Any) -> Any:
    """A copy that no idempotency token stops: by the time it arrives the token's ten minutes are over."""
    body = json.loads(request.body)
    return _with_body(request, {name: value for name, value in body.items() if name != "ClientRequestToken"})


def _with_body(request: Any, body: dict[str, Any]) -> Any:
    content = json.dumps(body).encode()
    headers = copy(request.headers)
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(content))
    return AWSPreparedRequest(request.method, request.url, headers, content, request.stream_output)


def _error(request: Any, status: int, code: str, **fields: object) -> AWSResponse:
    return _answer(request, status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "", **fields})


def _answer(request: Any, status: int, body: dict[str, Any]) -> AWSResponse:
    return AWSResponse(request.url, status, HTTPHeaders(), _Body(json.dumps(body).encode()))


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> list[bytes]:
        return [self._content]
