"""A group: jobs that belong together, one after the other or side by side, with one end and one callback.

Its members are ordinary jobs whose ids derive from the group and their number, so that each can be found without an
index. The group's record counts their ends, and knows whose turn it is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from leasehold.kernel.errors import InvalidInputError, InvalidKeyError, RefusedError
from leasehold.kernel.job import SYSTEM, Outcome
from leasehold.kernel.keys import Due, JobPartition, derive_job_id, position_at
from leasehold.kernel.lanes import numbered
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass
from leasehold.limits.model import group_scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId


MAX_MEMBERS = 100_000
# An ended group stays readable, and its id taken, for this long.
KEPT_FOR = timedelta(days=30)

_GROUP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_CALLBACK_SHARD = 0
CODE_BYTES = 2


class GroupMode(StrEnum):
    SEQUENTIAL = "sequential"
    PARALLEL = "parallel"


class OnFailure(StrEnum):
    """What a member that ends as a dead letter means for those that wait; what runs always finishes."""

    STOP = "stop"  # they end as cancelled
    CONTINUE = "continue"  # nothing
    SKIP_REMAINING = "skip_remaining"  # they end as completed, with a run whose outcome is SKIPPED


class GroupState(StrEnum):
    CREATING = "creating"
    RUNNING = "running"
    STOPPING = "stopping"  # a member failed: those that wait are being ended
    CANCELLING = "cancelling"  # by hand, or because its creation broke off
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class MemberEnd(StrEnum):
    """How a group counts the end of a member."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """left: members that have not ended, those that are still to be made included.

    made: how many members exist; all of them do once it has left `creating`.
    turn: of a sequential group, the member that may run; `total` once there is none left.
    swept: while it stops, members from this number on have been seen to.
    codes: those of the members' types, two bytes for each, or for all of them: ids of members carry them.
    """

    group_id: str
    mode: GroupMode
    on_failure: OnFailure
    total: int
    created_at: datetime
    created_by: str = SYSTEM
    state: GroupState = GroupState.CREATING
    left: int
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    # Why it stops or was stopped.
    reason: str | None = None
    ended_at: datetime | None = None
    # The type of the job that is made at its end.
    callback: str | None = None
    callback_code: int = 0
    # What it was made of, so that the same id for something else is noticed; and which making of this id it is.
    content: str
    stamp: str
    shards: int = 1
    codes: bytes
    made: int = 0
    made_at: datetime
    turn: int | None = None
    swept: int | None = None
    # Its creation broke off: nothing of it ran, and its id is free again.
    abandoned: bool = False
    due_key: str | None = None
    wake: bool = False
    expires_at: int | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in {GroupState.COMPLETED, GroupState.FAILED, GroupState.CANCELLED}

    @property
    def scope(self) -> str:
        """Where the members of a parallel group wait until all of them exist."""
        return group_scope(self.group_id)

    @property
    def lowest_waiting(self) -> int:
        """No member with a lower number can be waiting."""
        return self.turn or 0

    @property
    def callback_job_id(self) -> JobId | None:
        """The job that its end has made."""
        if self.callback is None or self.ended_at is None:
            return None
        partition = JobPartition(self.callback_code, _CALLBACK_SHARD)
        return derive_job_id(self.ended_at, partition, "group", self.group_id, "callback")

    @property
    def end_of_waiting(self) -> MemberEnd:
        """How members that wait end while it stops."""
        is_skipping = self.state is GroupState.STOPPING and self.on_failure is OnFailure.SKIP_REMAINING
        return MemberEnd.SKIPPED if is_skipping else MemberEnd.CANCELLED

    @property
    def progress(self) -> dict[str, str | int]:
        """What a callback is told."""
        return {
            "group_id": self.group_id,
            "state": str(self.state),
            "total": self.total,
            **{str(end): getattr(self, end) for end in MemberEnd},
        }

    def member_id(self, number: int) -> JobId:
        place = 0 if len(self.codes) == CODE_BYTES else number * CODE_BYTES
        code = int.from_bytes(self.codes[place : place + CODE_BYTES])
        partition = JobPartition(code, number % self.shards)
        return derive_job_id(self.created_at, partition, "group", self.group_id, str(number))

    def place_of(self, number: int) -> Due:
        """Where a member waits: all are due since the creation, in the order of their numbers."""
        return Due(self.created_at, numbered(position_at(self.created_at), number), self.member_id(number))

    def is_free(self, now: datetime) -> bool:
        """Whether its id may be used for another group: as TTL will have it, or because it never came to be."""
        is_over = self.expires_at is not None and self.expires_at <= now.timestamp()
        return self.has_ended and (self.abandoned or is_over)

    def counting(self, ends: Mapping[MemberEnd, int]) -> Self:
        """The group after so many members have ended; `finished` follows where they were the last."""
        counts = {str(end): getattr(self, end) + number for end, number in ends.items()}
        return replace(self, left=self.left - sum(ends.values()), **counts)

    def finished(self, now: datetime) -> Self:
        by_its_members = GroupState.FAILED if self.failed else GroupState.COMPLETED
        return replace(
            self.left_alone(),
            state=GroupState.CANCELLED if self.state is GroupState.CANCELLING else by_its_members,
            ended_at=now,
            expires_at=int((now + KEPT_FOR).timestamp()),
            turn=None,
            swept=None,
        )

    def due_at(self, at: datetime, now: datetime, stamp: str) -> Self:
        """The group as one that a poll tends at that time; `stamp` is the writer's own, as a due key never recurs."""
        return replace(self, due_key=Due(at, f"{position_at(now)}{stamp}", self.group_id).key, wake=at <= now)

    def left_alone(self) -> Self:
        return replace(self, due_key=None, wake=False)


def packed_codes(codes: Sequence[int]) -> bytes:
    """The codes of a group's members, in their order; one stands for all where all are the same.

    >>> packed_codes([0x3fa1, 0x3fa1]).hex(), packed_codes([0x3fa1, 7]).hex()
    ('3fa1', '3fa10007')
    """
    distinct = codes[:1] if len(set(codes)) == 1 else codes
    return b"".join(code.to_bytes(CODE_BYTES) for code in distinct)


def parse_group_id(group_id: object) -> str:
    if not isinstance(group_id, str) or not _GROUP_ID.fullmatch(group_id):
        problem = "a group's id is 1 to 64 characters of letters, digits, _ . : and -, starting with a letter or digit"
        raise InvalidKeyError(group_id, problem, "Use an id like import-2026-11-15, or leave it out.")
    return group_id


def end_of(job: Job) -> MemberEnd:
    """How a member that has ended counts."""
    if not job.has_ended:
        raise ValueError(f"{job.status} is no end state")
    is_skipped = job.status is JobStatus.COMPLETED and bool(job.runs) and job.runs[-1].outcome is Outcome.SKIPPED
    return MemberEnd.SKIPPED if is_skipped else _ENDS[job.status]


_ENDS = {
    JobStatus.COMPLETED: MemberEnd.COMPLETED,
    JobStatus.DEAD_LETTER: MemberEnd.FAILED,
    JobStatus.CANCELLED: MemberEnd.CANCELLED,
}


class InvalidMemberError(InvalidInputError, code="invalid_member"):
    def __init__(self, member: int, error: InvalidInputError) -> None:
        super().__init__(error.value, f"member {member}: {error.reason}", error.fix)
        self.member = member
        self.error = error


class GroupNotFoundError(RefusedError, code="group_not_found"):
    def __init__(self, group_id: str) -> None:
        super().__init__(f"there is no group {group_id!r}. It never existed, or its retention is over.")
        self.group_id = group_id


class GroupExistsError(RefusedError, code="group_exists"):
    def __init__(self, group_id: str, state: str) -> None:
        super().__init__(
            f"there is a group {group_id!r} of other jobs already ({state}). Choose another id, or leave it out."
        )
        self.group_id = group_id


class GroupEndedError(RefusedError, code="group_ended"):
    def __init__(self, group_id: str, wanted: str, state: str) -> None:
        super().__init__(f"cannot {wanted} group {group_id!r}: it has ended already ({state}).")
        self.group_id = group_id
        self.state = state


class GroupBrokenOffError(RefusedError, code="group_broken_off"):
    def __init__(self, group_id: str, reason: str | None) -> None:
        super().__init__(
            f"group {group_id!r} was cancelled before all of it existed: "
            f"{reason or 'somebody else created it anew'}. Nothing of it has run. "
            "Once its members are cancelled, it can be created anew."
        )
        self.group_id = group_id
