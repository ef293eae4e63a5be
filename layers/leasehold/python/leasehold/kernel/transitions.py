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


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    name: str
    by: tuple[Writer, ...]
    sources: frozenset[JobStatus]
    target: JobStatus | None = None
    guards: tuple[Condition, ...] = ()
    sets: frozenset[str] = frozenset()
    may_set: frozenset[str] = frozenset()
    adds: tuple[tuple[str, int], ...] = ()
    removes: frozenset[str] = frozenset()
    signature: str | None = None


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
_START_IS_TOO_LATE = (NotAfter("start_by", Seen("now")), Missing("last_attempt_at"), _NOT_STARTED)

_LEASE = frozenset({"locked_by", "locked_at", "lock_expires_at"})
_DUE = frozenset({"due_lane", "due_key"})
_END = frozenset({"completed_at"})
# An ended job that owes something stays in the due index, and wakes a poller.
_END_MAY_SET = frozenset({"expires_at", "ended_lane", "ended_key", "wake", "owed", "last_attempt_at", *_DUE})
_END_REMOVES = frozenset({*_LEASE, *_DUE, "wake", "seat", "dispatches", "undelivered_since"})
_BACK_REMOVES = frozenset({*_LEASE, "wake", "seat", "started_at"})
_ERROR = frozenset({"last_error", "last_error_code"})

CLAIM = Transition(
    name="claim",
    by=(Writer.POLLER,),
    sources=WAITING,
    target=JobStatus.IN_PROGRESS,
    guards=(_ENTRY_AS_READ, _MAY_STILL_START),
    sets=_LEASE | _DUE,
    may_set=frozenset({"seat"}),
    adds=(("dispatches", 1),),
    removes=frozenset({"wake"}),
    signature="locked_by",
)
RELEASE = Transition(
    name="release",
    by=(Writer.POLLER, Writer.HANDLER),
    sources=RUNNING,
    target=JobStatus.PENDING,
    guards=(_OWNER_IS_MINE, _NOT_STARTED),
    sets=_DUE,
    may_set=frozenset({"wake", "undelivered_since"}),
    removes=_BACK_REMOVES,
    signature="due_key",
)
START = Transition(
    name="start",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    guards=(_OWNER_IS_MINE, _MAY_STILL_START),
    sets=frozenset({"locked_by", "started_at"}),
    may_set=frozenset({"lock_expires_at", "due_key"}),
    adds=(("attempts", 1),),
    removes=frozenset({"dispatches", "undelivered_since"}),
    signature="locked_by",
)
EXTEND = Transition(
    name="extend",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    guards=(_OWNER_IS_MINE, _LEASE_IS_LIVE, _LEASE_GROWS),
    sets=frozenset({"lock_expires_at", "due_key"}),
    signature="lock_expires_at",
)
COMPLETE = Transition(
    name="complete",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    target=JobStatus.COMPLETED,
    guards=(_OWNER_IS_MINE,),
    sets=_END | {"runs"},
    may_set=_END_MAY_SET | {"result", "artifacts"},
    removes=_END_REMOVES,
    signature="runs",
)
FAIL = Transition(
    name="fail",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    target=JobStatus.FAILED,
    guards=(_OWNER_IS_MINE, _NO_CANCEL_REQUESTED),
    sets=_DUE | _ERROR | {"runs", "last_attempt_at"},
    may_set=frozenset({"wake", "owed"}),
    removes=_BACK_REMOVES,
    signature="runs",
)
DEAD_LETTER = Transition(
    name="dead_letter",
    by=(Writer.HANDLER, Writer.POLLER),
    sources=RUNNING,
    target=JobStatus.DEAD_LETTER,
    guards=(_OWNER_IS_MINE, _NO_CANCEL_REQUESTED),
    sets=_END | _ERROR,
    may_set=_END_MAY_SET | {"runs"},
    removes=_END_REMOVES,
    signature="runs",
)
SNOOZE = Transition(
    name="snooze",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    target=JobStatus.PENDING,
    guards=(_OWNER_IS_MINE, _NO_CANCEL_REQUESTED),
    sets=_DUE | {"last_attempt_at"},
    may_set=frozenset({"wake"}),
    adds=(("attempts", -1),),
    removes=_BACK_REMOVES,
    signature="due_key",
)
# The handler's own end without a retry: it raised Cancel, or it failed after a cancel was requested.
ABORT = Transition(
    name="abort",
    by=(Writer.HANDLER,),
    sources=RUNNING,
    target=JobStatus.CANCELLED,
    guards=(_OWNER_IS_MINE,),
    sets=_END | {"runs", "cancel_reason"},
    may_set=_END_MAY_SET | _ERROR,
    removes=_END_REMOVES,
    signature="runs",
)
# The poller does so too, with members of a group that was cancelled.
CANCEL = Transition(
    name="cancel",
    by=(Writer.OPERATOR, Writer.POLLER),
    sources=WAITING | RUNNING,
    target=JobStatus.CANCELLED,
    guards=(_NOT_STARTED, _OWNER_AS_READ),
    sets=_END | {"cancel_reason"},
    may_set=_END_MAY_SET,
    removes=_END_REMOVES,
)
REQUEST_CANCEL = Transition(
    name="request_cancel",
    by=(Writer.OPERATOR, Writer.POLLER),
    sources=RUNNING,
    guards=(_STARTED,),
    sets=frozenset({"cancel_requested", "cancel_reason"}),
)
EXPIRE = Transition(
    name="expire",
    by=(Writer.POLLER, Writer.HANDLER),
    sources=WAITING | RUNNING,
    target=JobStatus.CANCELLED,
    guards=(*_START_IS_TOO_LATE, _OWNER_AS_READ),
    sets=_END | {"cancel_reason"},
    may_set=_END_MAY_SET,
    removes=_END_REMOVES,
    signature="completed_at",
)

_ORPHANED = (_ENTRY_AS_READ, _OWNER_IS_MINE, _LEASE_HAS_EXPIRED)

REAP_UNSTARTED = Transition(
    name="reap_unstarted",
    by=(Writer.POLLER,),
    sources=RUNNING,
    target=JobStatus.PENDING,
    guards=(*_ORPHANED, _NOT_STARTED),
    sets=_DUE,
    may_set=frozenset({"wake", "undelivered_since"}),
    removes=_BACK_REMOVES,
    signature="due_key",
)
REAP_FAILED = Transition(
    name="reap_failed",
    by=(Writer.POLLER,),
    sources=RUNNING,
    target=JobStatus.FAILED,
    guards=(*_ORPHANED, _STARTED, _NO_CANCEL_REQUESTED),
    sets=_DUE | _ERROR | {"runs", "last_attempt_at"},
    may_set=frozenset({"wake", "owed"}),
    removes=_BACK_REMOVES,
    signature="last_error",
)
REAP_DEAD = Transition(
    name="reap_dead",
    by=(Writer.POLLER,),
    sources=RUNNING,
    target=JobStatus.DEAD_LETTER,
    guards=(*_ORPHANED, _NO_CANCEL_REQUESTED),
    sets=_END | _ERROR,
    may_set=_END_MAY_SET | {"runs"},
    removes=_END_REMOVES,
    signature="last_error",
)
REAP_CANCELLED = Transition(
    name="reap_cancelled",
    by=(Writer.POLLER,),
    sources=RUNNING,
    target=JobStatus.CANCELLED,
    guards=(*_ORPHANED, _CANCEL_REQUESTED),
    sets=_END | _ERROR | {"runs"},
    may_set=_END_MAY_SET,
    removes=_END_REMOVES,
    signature="last_error",
)
HOLD = Transition(
    name="hold",
    by=(Writer.POLLER,),
    sources=WAITING,
    # By its lane too: its place in it stays the same, so two who see it due would move it twice.
    guards=(_ENTRY_AS_READ, _LANE_AS_READ),
    sets=frozenset({"due_lane"}),
    # The stream must not wake a poller for a job that may not run.
    removes=frozenset({"wake"}),
)
# A waiting job that need not run: its limit is full and its type says `skip`, or its group skips what is left.
SKIP = Transition(
    name="skip",
    by=(Writer.POLLER,),
    sources=WAITING,
    target=JobStatus.COMPLETED,
    guards=(_ENTRY_AS_READ,),
    sets=_END | {"runs"},
    may_set=_END_MAY_SET,
    removes=_END_REMOVES,
    signature="runs",
)
# A waiting job that may not run: its limit is full and its type says `cancel_new`, or its group was stopped.
TURN_AWAY = Transition(
    name="turn_away",
    by=(Writer.POLLER,),
    sources=WAITING,
    target=JobStatus.CANCELLED,
    guards=(_ENTRY_AS_READ,),
    sets=_END | {"cancel_reason"},
    may_set=_END_MAY_SET,
    removes=_END_REMOVES,
    signature="completed_at",
)
RESCHEDULE = Transition(
    name="reschedule",
    by=(Writer.OPERATOR,),
    sources=WAITING,
    # A hold changes the lane and keeps the key: who moves a job within a hold lane must know that it is still there.
    guards=(_ENTRY_AS_READ, _LANE_AS_READ),
    sets=_DUE,
    may_set=frozenset({"wake", "priority"}),
    removes=frozenset({"wake"}),
)
# A member of a sequential group is let in; its group moves on in the same transaction.
TAKE_TURN = Transition(
    name="take_turn",
    by=(Writer.SDK, Writer.POLLER),
    sources=WAITING,
    # The lane that it goes to follows from its priority, which an operator may change meanwhile.
    guards=(_ENTRY_AS_READ, Equals("priority", Seen("priority"))),
    sets=_DUE,
    may_set=frozenset({"wake"}),
)
EDIT = Transition(
    name="edit",
    by=(Writer.OPERATOR,),
    sources=WAITING,
    # Another priority is another lane: the job must still wait where it was seen to.
    guards=(_ENTRY_AS_READ, _LANE_AS_READ, Equals("payload", Seen("payload"))),
    may_set=frozenset({"payload", "priority", "max_attempts", "due_lane", "wake"}),
)
# A call of a burst: the job that waits for the burst's end takes its payload, and waits anew.
DEBOUNCE = Transition(
    name="debounce",
    by=(Writer.SDK,),
    sources=frozenset({JobStatus.PENDING}),
    guards=(_ENTRY_AS_READ, _LANE_AS_READ),
    sets=_DUE | {"payload"},
    may_set=frozenset({"wake"}),
    removes=frozenset({"wake"}),
)
SETTLE = Transition(
    name="settle",
    by=(Writer.POLLER,),
    sources=ENDED,
    guards=(_ENTRY_AS_READ,),
    # What could not be done yet keeps its job in the index, at a later time; what is done lets it go.
    may_set=_DUE | {"expires_at", "owed"},
    removes=_DUE | {"wake", "owed"},
)
# What a failed run owed is done, and its job waits for the next one.
SETTLE_RUN = Transition(
    name="settle_run",
    by=(Writer.POLLER,),
    sources=WAITING,
    guards=(_ENTRY_AS_READ,),
    sets=_DUE,
    may_set=frozenset({"wake", "owed"}),
    removes=frozenset({"wake", "owed"}),
)
# A dead letter that an operator redrove or discarded may go, after the usual retention.
RESOLVE = Transition(
    name="resolve",
    by=(Writer.OPERATOR,),
    sources=frozenset({JobStatus.DEAD_LETTER}),
    sets=frozenset({"expires_at"}),
)

# What an ended job held of people's data is forgotten; that it ran, and how it ended, is not.
PURGE = Transition(
    name="purge",
    by=(Writer.OPERATOR,),
    sources=ENDED,
    # A receiver that is still to be told of it would be told what is forgotten.
    guards=(Equals("completed_at", Seen("completed_at")), Missing("owed")),
    sets=frozenset({"payload"}),
    may_set=frozenset({"runs", "last_error"}),
    removes=frozenset({"result", "artifacts", "trace"}),
)

# In the order of this file.
TRANSITIONS = tuple(each for each in list(vars().values()) if isinstance(each, Transition))
