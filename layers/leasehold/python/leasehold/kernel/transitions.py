"""The state machine of a job, as data. Nothing changes a job's state except through this table.

Each transition is one conditional write on one item. `guards` are what must hold besides the status, `sets` are the
attributes its writer provides, `may_set` those it may provide, `removes` what is taken away unless provided.
`signature` names the set attribute that only this one writer can have made: a write whose response was lost is
recognised by it when the retry finds the condition failed.
"""

from __future__ import annotations

from enum import StrEnum

from leasehold.kernel.table import After, AnyOf, Condition, Equals, Exists, Missing, NotAfter, Seen
from leasehold.lean import dataclass


class JobStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"
    CANCELLED = "cancelled"

    def __init__(self, value: str) -> None:
        self.is_waiting = value in ("pending", "failed")
        self.has_ended = value in ("completed", "cancelled", "dead_letter")


class Writer(StrEnum):
    SDK = "sdk"
    POLLER = "poller"
    HANDLER = "handler"
    OPERATOR = "operator"


WAITING = frozenset(each for each in JobStatus if each.is_waiting)
RUNNING = frozenset({JobStatus.IN_PROGRESS})
ENDED = frozenset(each for each in JobStatus if each.has_ended)


@dataclass(frozen=True, slots=True)
class Transition:
    name: str
    by: tuple[Writer, ...]
    sources: frozenset[JobStatus]
    guards: tuple[Condition, ...] = ()
    sets: frozenset[str] = frozenset()
    may_set: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    signature: str | None = None
    adds: tuple[tuple[str, int], ...] = ()
    # None: it stays in its state.
    target: JobStatus | None = None


_PENDING, _IN_PROGRESS, _COMPLETED, _FAILED, _DEAD, _CANCELLED = JobStatus
_UNENDED = WAITING | RUNNING
_SDK, _POLLER, _HANDLER, _OPERATOR = ((each,) for each in Writer)

_OWNER_IS_MINE = Equals("locked_by", Seen("locked_by"))
# A claim in between took seats, which only who knows of them can give back.
_OWNER_AS_READ = _OWNER_IS_MINE
_ENTRY_AS_READ = Equals("due_key", Seen("due_key"))
_LANE_AS_READ = Equals("due_lane", Seen("due_lane"))
_NOT_STARTED = Missing("started_at")
_STARTED = Exists("started_at")
_NO_CANCEL_REQUESTED = Missing("cancel_requested")
_CANCEL_REQUESTED = Exists("cancel_requested")
_LEASE_IS_LIVE = After("lock_expires_at", Seen("now"))
_LEASE_HAS_EXPIRED = NotAfter("lock_expires_at", Seen("now"))
# A slow copy of an earlier extension must not undo a later one: its job would be taken from a handler at work.
_LEASE_GROWS = NotAfter("lock_expires_at", Seen("until"))
# `start_by` binds the first start only: a job that has run once was started in time.
_MAY_STILL_START = AnyOf((Missing("start_by"), After("start_by", Seen("now")), Exists("last_attempt_at")))

_TOO_LATE = (NotAfter("start_by", Seen("now")), Missing("last_attempt_at"), _NOT_STARTED, _OWNER_AS_READ)
_MINE = (_OWNER_IS_MINE,)
# And nobody asked to stop it.
_MINE_STILL = (_OWNER_IS_MINE, _NO_CANCEL_REQUESTED)
_ORPHANED = (_ENTRY_AS_READ, _OWNER_IS_MINE, _LEASE_HAS_EXPIRED)
_ORPHANED_STILL = (*_ORPHANED, _NO_CANCEL_REQUESTED)
_PLACE_AS_READ = (_ENTRY_AS_READ, _LANE_AS_READ)

_DUE = frozenset({"due_lane", "due_key"})
_LEASE = frozenset({"locked_by", "locked_at", "lock_expires_at"})
_LEASE_END = frozenset({"lock_expires_at", "due_key"})
_WAKE = frozenset({"wake"})
_UNDELIVERED = frozenset({"undelivered_since"})
_RUNS = frozenset({"runs"})
_OUTPUT = frozenset({"result", "artifacts"})
_ERROR = frozenset({"last_error", "last_error_code"})
_FAILURE = _ERROR | _RUNS | {"last_attempt_at"}
_WHY = frozenset({"cancel_reason"})
_OWED = frozenset({"owed"})
_EDITABLE = frozenset({"payload", "priority", "max_attempts", "due_lane"})


def _to(
    name: str,
    by: tuple[Writer, ...],
    target: JobStatus,
    guards: tuple[Condition, ...],
    *,
    sources: frozenset[JobStatus] = RUNNING,
    sets: frozenset[str] = frozenset(),
    may_set: frozenset[str] = frozenset(),
    signature: str | None = None,
    adds: tuple[tuple[str, int], ...] = (),
) -> Transition:
    """To an end state, or back to where the job waits for its next claim."""
    if target.has_ended:
        # A job that still owes something stays in the due index, and wakes a poller.
        sets |= {"completed_at"}
        may_set |= _DUE | _WAKE | _OWED | {"expires_at", "ended_lane", "ended_key", "last_attempt_at"}
        removes = _LEASE | _DUE | _WAKE | _UNDELIVERED | {"seat", "dispatches"}
    else:
        sets, may_set, signature = sets | _DUE, may_set | _WAKE, signature or "due_key"
        removes = _LEASE | _WAKE | {"seat", "started_at"}
    return Transition(name, by, sources, guards, sets, may_set, removes, signature, adds, target)


CLAIM = Transition(
    name="claim",
    by=_POLLER,
    sources=WAITING,
    target=_IN_PROGRESS,
    guards=(_ENTRY_AS_READ, _MAY_STILL_START),
    sets=_LEASE | _DUE,
    may_set=frozenset({"seat"}),
    removes=_WAKE,
    signature="locked_by",
    adds=(("dispatches", 1),),
)
RELEASE = _to("release", _POLLER + _HANDLER, _PENDING, (_OWNER_IS_MINE, _NOT_STARTED), may_set=_UNDELIVERED)
START = Transition(
    name="start",
    by=_HANDLER,
    sources=RUNNING,
    guards=(_OWNER_IS_MINE, _MAY_STILL_START),
    sets=frozenset({"locked_by", "started_at"}),
    may_set=_LEASE_END,
    removes=_UNDELIVERED | {"dispatches"},
    signature="locked_by",
    adds=(("attempts", 1),),
)
EXTEND = Transition(
    "extend", _HANDLER, RUNNING, (*_MINE, _LEASE_IS_LIVE, _LEASE_GROWS), _LEASE_END, signature="lock_expires_at"
)
COMPLETE = _to("complete", _HANDLER, _COMPLETED, _MINE, sets=_RUNS, may_set=_OUTPUT, signature="runs")
FAIL = _to("fail", _HANDLER, _FAILED, _MINE_STILL, sets=_FAILURE, may_set=_OWED, signature="runs")
DEAD_LETTER = _to("dead_letter", _HANDLER + _POLLER, _DEAD, _MINE_STILL, sets=_ERROR, may_set=_RUNS, signature="runs")
SNOOZE = _to("snooze", _HANDLER, _PENDING, _MINE_STILL, sets=frozenset({"last_attempt_at"}), adds=(("attempts", -1),))
# The handler's own end without a retry: it raised Cancel, or it failed after a cancel was requested.
ABORT = _to("abort", _HANDLER, _CANCELLED, _MINE, sets=_WHY | _RUNS, may_set=_ERROR, signature="runs")
# The poller does so too, with members of a group that was cancelled.
CANCEL = _to("cancel", _OPERATOR + _POLLER, _CANCELLED, (_NOT_STARTED, _OWNER_AS_READ), sources=_UNENDED, sets=_WHY)
REQUEST_CANCEL = Transition("request_cancel", _OPERATOR + _POLLER, RUNNING, (_STARTED,), _WHY | {"cancel_requested"})
EXPIRE = _to("expire", _POLLER + _HANDLER, _CANCELLED, _TOO_LATE, sources=_UNENDED, sets=_WHY, signature="completed_at")
REAP_UNSTARTED = _to("reap_unstarted", _POLLER, _PENDING, (*_ORPHANED, _NOT_STARTED), may_set=_UNDELIVERED)
REAP_FAILED = _to(
    "reap_failed",
    _POLLER,
    _FAILED,
    (*_ORPHANED, _STARTED, _NO_CANCEL_REQUESTED),
    sets=_FAILURE,
    may_set=_OWED,
    signature="last_error",
)
REAP_DEAD = _to("reap_dead", _POLLER, _DEAD, _ORPHANED_STILL, sets=_ERROR, may_set=_RUNS, signature="last_error")
REAP_CANCELLED = _to(
    "reap_cancelled", _POLLER, _CANCELLED, (*_ORPHANED, _CANCEL_REQUESTED), sets=_ERROR | _RUNS, signature="last_error"
)
# By its lane too: its place in it stays the same, so two who see it due would move it twice. And the stream must not
# wake a poller for a job that may not run.
HOLD = Transition("hold", _POLLER, WAITING, _PLACE_AS_READ, sets=frozenset({"due_lane"}), removes=_WAKE)
# A waiting job that need not run: its limit is full and its type says `skip`, or its group skips what is left.
SKIP = _to("skip", _POLLER, _COMPLETED, (_ENTRY_AS_READ,), sources=WAITING, sets=_RUNS, signature="runs")
# A waiting job that may not run: its limit is full and its type says `cancel_new`, or its group was stopped.
TURN_AWAY = _to(
    "turn_away", _POLLER, _CANCELLED, (_ENTRY_AS_READ,), sources=WAITING, sets=_WHY, signature="completed_at"
)
# A hold changes the lane and keeps the key: who moves a job within a hold lane must know that it is still there.
RESCHEDULE = Transition(
    "reschedule", _OPERATOR, WAITING, _PLACE_AS_READ, _DUE, may_set=_WAKE | {"priority"}, removes=_WAKE
)
# A member of a sequential group is let in; its group moves on in the same transaction. The lane that it goes to follows
# from its priority, which an operator may change meanwhile.
TAKE_TURN = Transition(
    "take_turn", _SDK + _POLLER, WAITING, (_ENTRY_AS_READ, Equals("priority", Seen("priority"))), _DUE, may_set=_WAKE
)
# Another priority is another lane: the job must still wait where it was seen to.
EDIT = Transition(
    "edit", _OPERATOR, WAITING, (*_PLACE_AS_READ, Equals("payload", Seen("payload"))), may_set=_WAKE | _EDITABLE
)
# A call of a burst: the job that waits for the burst's end takes its payload, and waits anew.
DEBOUNCE = Transition(
    "debounce", _SDK, frozenset({_PENDING}), _PLACE_AS_READ, sets=_DUE | {"payload"}, may_set=_WAKE, removes=_WAKE
)
# What could not be done yet keeps its job in the index, at a later time; what is done lets it go.
SETTLE = Transition(
    "settle", _POLLER, ENDED, (_ENTRY_AS_READ,), may_set=_DUE | _OWED | {"expires_at"}, removes=_DUE | _OWED | _WAKE
)
# What a failed run owed is done, and its job waits for the next one.
SETTLE_RUN = Transition(
    "settle_run", _POLLER, WAITING, (_ENTRY_AS_READ,), _DUE, may_set=_OWED | _WAKE, removes=_OWED | _WAKE
)
# A dead letter that an operator redrove or discarded may go, after the usual retention.
RESOLVE = Transition("resolve", _OPERATOR, frozenset({_DEAD}), sets=frozenset({"expires_at"}))
# What an ended job held of people's data is forgotten; that it ran, and how it ended, is not. A receiver that is still
# to be told of it would be told what is forgotten.
PURGE = Transition(
    "purge",
    _OPERATOR,
    ENDED,
    (Equals("completed_at", Seen("completed_at")), Missing("owed")),
    sets=frozenset({"payload"}),
    may_set=_RUNS | {"last_error"},
    removes=_OUTPUT | {"trace"},
)

# In the order of this file.
TRANSITIONS = tuple(each for each in list(vars().values()) if isinstance(each, Transition))
