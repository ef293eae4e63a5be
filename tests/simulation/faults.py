"""What may go wrong in a simulated world."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    # At a call of DynamoDB: the process dies before it, or after it with the answer unread; with the call on its way;
    # or after it, and a copy that its client sent as a retry arrives late as well.
    KILL_BEFORE = "kill_before"
    KILL_AFTER = "kill_after"
    KILL_LATE = "kill_late"
    KILL_ECHO = "kill_echo"
    # The process lives, and its client tries again.
    LOST_REQUEST = "lost_request"
    LOST_RESPONSE = "lost_response"
    THROTTLE = "throttle"
    SERVER_ERROR = "server_error"
    CONFLICT = "conflict"
    # One try is slow, its client tries again and goes on with that answer; then the slow one arrives as well.
    ECHO = "echo"
    # The process stops for a while and then goes on as if nothing had happened.
    STALL = "stall"
    # An index shows what was true a while ago.
    STALE_INDEX = "stale_index"
    # At an asynchronous invoke.
    INVOKE_REFUSED = "invoke_refused"
    INVOKE_DROPPED = "invoke_dropped"
    INVOKE_TWICE = "invoke_twice"
    INVOKE_LATE = "invoke_late"
    # At a record of the stream.
    RECORD_DROPPED = "record_dropped"
    RECORD_TWICE = "record_twice"
    RECORD_LATE = "record_late"


READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})
AT_READS = (Fault.KILL_BEFORE, Fault.LOST_RESPONSE, Fault.THROTTLE, Fault.SERVER_ERROR, Fault.STALL)
AT_WRITES = (
    Fault.KILL_BEFORE,
    Fault.KILL_AFTER,
    Fault.KILL_LATE,
    Fault.KILL_ECHO,
    Fault.LOST_REQUEST,
    Fault.LOST_RESPONSE,
    Fault.THROTTLE,
    Fault.SERVER_ERROR,
    Fault.CONFLICT,
    Fault.ECHO,
    Fault.STALL,
)
AT_INVOKES = (
    Fault.KILL_BEFORE,
    Fault.KILL_AFTER,
    Fault.INVOKE_REFUSED,
    Fault.INVOKE_DROPPED,
    Fault.INVOKE_TWICE,
    Fault.INVOKE_LATE,
)
AT_RECORDS = (Fault.RECORD_DROPPED, Fault.RECORD_TWICE, Fault.RECORD_LATE)
KILLS = frozenset({Fault.KILL_BEFORE, Fault.KILL_AFTER, Fault.KILL_LATE, Fault.KILL_ECHO})


def possible_at(operation: str) -> tuple[Fault, ...]:
    return AT_READS if operation in READS else AT_WRITES
