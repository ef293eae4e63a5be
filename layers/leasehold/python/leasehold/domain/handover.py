"""What the poller hands to a handler: enough to start the job, and nothing of its payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.due import Due
from leasehold.domain.errors import InvalidInputError
from leasehold.domain.ids import parse_job_id
from leasehold.domain.job_type import parse_job_type
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.domain.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """`lease` is the due entry that the claim wrote: its time is when the lease expires."""

    job_id: JobId
    job_type: str
    token: str
    lease: Due

    def to_event(self) -> dict[str, str]:
        return {"job_id": self.job_id, "job_type": self.job_type, "token": self.token, "lease": self.lease.key}

    @classmethod
    def from_event(cls, event: Mapping[str, object]) -> Handover:
        try:
            return cls(
                job_id=parse_job_id(event["job_id"]),
                job_type=parse_job_type(event["job_type"]),
                token=str(event["token"]),
                lease=Due.parse(str(event["lease"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                event, f"this is not a hand-over from the poller ({error})", "See events/handover.json for one."
            ) from None


def batch_event(handovers: Sequence[Handover]) -> dict[str, object]:
    """Several hand-overs of one type as one event. An invocation is told its type before it looks at its jobs."""
    return {"job_type": handovers[0].job_type, "batch": [each.to_event() for each in handovers]}


def handovers_in(event: Mapping[str, object]) -> list[Handover]:
    """The hand-overs of an event: one, or a batch of one type."""
    batch = event.get("batch")
    if batch is None:
        return [Handover.from_event(event)]
    if not isinstance(batch, list) or not batch:
        raise InvalidInputError(event, "a batch has hand-overs in it", "See events/handover.json for one of them.")
    return [Handover.from_event(each) for each in batch]
