"""What a poll asks before it claims a job that is not plain: may it run, or where does it wait?

The kernel claims, holds and hands over; who may run is decided by a feature (limits, pauses, circuit breakers, direct
runs), which is opened once per poll and remembers what it has read. A type that none of them concerns is not asked for.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.jobs import DueJob, TransitionRefused, Write
from leasehold.kernel.table import TransactionCancelled, request_token
from leasehold.kernel.transitions import HOLD
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from leasehold.kernel.claim import Claims
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import DueScope
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.table import Change


_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What commits together with a claim: changes of other records, and values of the job itself."""

    changes: Sequence[Change]
    values: Mapping[str, object]


class Admitted(Protocol):
    """The job may run, if what joins its claim is still so."""

    def join(self, handover: Handover) -> Joined: ...

    def refused(self, failed: Collection[int]) -> None:
        """These changes did not hold, by their place in `changes`; none if it was the job that did not."""

    def claimed(self) -> None: ...

    def undelivered(self, handover: Handover) -> None:
        """It was claimed, reached no handler, and was put back."""


@dataclass(frozen=True, slots=True)
class Waits:
    """It waits in this lane: whoever decided so has seen to it that the lane is looked at."""

    lane: str
    scope: str
    why: str


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """It ends, because its type does not want to wait."""

    why: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """Others changed what it depends on, again and again: it stays as it is, and the next poll decides."""


class Outcome(Enum):
    CLAIMED = auto()
    # The job is not what the index showed: another was faster, or it is too late for it.
    LOST = auto()
    # What was to join the claim is not what it was: decide anew.
    CHANGED = auto()


type Decision = Admitted | Waits | TurnedAway | Undecided


class Visits(Protocol):
    """Looks at scopes that are due: those who wait for them may run."""

    def begin(self, entry: DueScope, switches: Switches) -> None: ...

    def look_now(self, scope: str, switches: Switches) -> None:
        """A seat was freed here: look, whenever that is due."""

    def look_later(self, scope: str) -> None:
        """A seat was freed here, and cannot be looked for now: the next poll does."""

    @property
    def is_open(self) -> bool:
        """Whether a look is not over."""

    def after_page(self) -> None: ...

    def go_on(self) -> bool:
        """One more page for each look that is not over; True if any goes on. Others have their turn in between."""

    def close(self) -> None:
        """The poll ends: leave what is not over to the next."""


class Gate(Protocol):
    """One poll's view of what may run."""

    def concerns(self, entry: DueJob, switches: Switches) -> bool:
        """Whether anything but the job's own condition decides about it."""

    def admit(self, entry: DueJob, switches: Switches, *, must_wait: bool = False) -> Decision:
        """`must_wait`: a job that has run before is not turned away."""

    def turn_away(self, entry: DueJob, why: str, *, worker_id: str) -> bool | None:
        """End a new job as its type says; False if somebody was faster, None if it has run before and shall wait."""

    def after_page(self) -> None:
        """What was seen as full while jobs began to wait for it is looked at once more."""

    def visits(
        self, claims: Claims, *, page_limit: int, lower_share: float, may_go_on: Callable[[], bool]
    ) -> Visits: ...


def offer(entry: DueJob, switches: Switches, claims: Claims) -> None:
    """Claim a waiting job that more than its own condition decides about, or see that it waits in nobody's way."""
    must_wait = False
    for _ in range(_TRIES):
        decision = claims.gate.admit(entry, switches, must_wait=must_wait)
        match decision:
            case Waits():
                _hold(entry, decision, claims)
                return
            case TurnedAway(why):
                is_ended = claims.gate.turn_away(entry, why, worker_id=claims.worker_id)
                if is_ended is not None:
                    claims.report.turned_away += is_ended
                    claims.report.lost_races += not is_ended
                    return
                must_wait = True
            case Undecided():
                return
            case _:
                if claims.claim(entry, decision) is not Outcome.CHANGED:
                    return


def _hold(entry: DueJob, waits: Waits, claims: Claims) -> None:
    """Move a due job to where it waits, unless it is not what the index showed."""
    seen = {"due_key": entry.due_key, "due_lane": entry.lane}
    write = Write(job_id=entry.job_id, transition=HOLD, seen=seen, values={"due_lane": waits.lane})
    try:
        claims.services.store.jobs.apply(write)
    except TransitionRefused as refused:
        # Where it is there already, this try or another's has done the same.
        if refused.current is None or refused.current.due_lane != waits.lane:
            claims.report.lost_races += 1
            return
    claims.report.held += 1
    claims.services.telemetry.event(
        Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, scope=waits.scope, reason=waits.why
    )


def claim_joined(entry: DueJob, job_type: JobType, admitted: Admitted, claims: Claims) -> Handover | None:
    """One transaction; None if something that was to join it is not what it was."""
    wanted = claims.prepare(entry, job_type)
    joined = admitted.join(wanted.handover)
    write = claims.write(entry, wanted.handover, joined.values)
    try:
        # A fresh token for a fresh content: the seats of two tries differ.
        token = request_token(wanted.handover.token)
        claims.services.store.jobs.apply_with(write, joined.changes, token=token)
    except TransactionCancelled as cancelled:
        admitted.refused([at - 1 for at in cancelled.failed])
        return None
    except BaseException:
        admitted.refused(())
        raise
    admitted.claimed()
    claims.note_claimed(wanted.handover)
    return wanted.handover
