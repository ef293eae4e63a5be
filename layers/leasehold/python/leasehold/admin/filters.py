"""What a listing is asked for. A filter means the same whichever index answers it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.domain.conditions import After, Equals, NotAfter, OneOf
from leasehold.domain.dedup import parse_key
from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.group import parse_group_id
from leasehold.domain.instants import instant, to_text
from leasehold.domain.job_type import parse_job_type
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import ENDED, JobStatus
from leasehold.domain.schedule import parse_schedule_name
from leasehold.domain.template import parse_template_name
from leasehold.domain.webhook import DELIVERY

if TYPE_CHECKING:
    from leasehold.domain.conditions import Condition
    from leasehold.domain.control import Registry
    from leasehold.domain.job import Job

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Every field that is set must hold. Ranges include their start and exclude their end.

    job_type: none given means all but the system's own, the deliveries of webhooks.
    statuses: any of them; none given means all six.
    scheduled_from, scheduled_to: when the job was first meant to run.
    created_from, created_to: when it was made.
    ended_from, ended_to: when it ended; jobs that have not ended are then left out.
    """

    job_type: str | None = None
    statuses: frozenset[JobStatus] = frozenset()
    scheduled_from: datetime | None = None
    scheduled_to: datetime | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    ended_from: datetime | None = None
    ended_to: datetime | None = None
    dedup_key: str | None = None
    concurrency_key: str | None = None
    group_id: str | None = None
    schedule: str | None = None
    template: str | None = None

    def __post_init__(self) -> None:
        for name, parse in _PARSED.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, parse(value))
        object.__setattr__(self, "statuses", _parse_statuses(self.statuses))
        check_range("scheduled", self.scheduled_from, self.scheduled_to)
        check_range("created", self.created_from, self.created_to)
        check_range("ended", self.ended_from, self.ended_to)

    @property
    def asked(self) -> frozenset[str]:
        """The names of the fields that are set, with each range under one name."""
        names = {each.name for each in fields(self) if getattr(self, each.name) not in {None, frozenset()}}
        return frozenset(name.removesuffix("_from").removesuffix("_to") for name in names)

    @property
    def wanted_statuses(self) -> frozenset[JobStatus]:
        """Those that can match: an end date leaves out what has not ended."""
        chosen = self.statuses or frozenset(JobStatus)
        return chosen & ENDED if "ended" in self.asked else chosen

    @property
    def fingerprint(self) -> str:
        """Tells filters apart, so that a cursor of one is not taken for one of another."""
        return fingerprint(*(_canonical(getattr(self, each.name)) for each in fields(self)))

    def matches(self, job: Job) -> bool:
        """What the filter means, for one job; whatever an index says, this decides."""
        dedup_key = job.dedup.key if job.dedup else None
        return (
            self.is_of_type(job.job_type)
            and job.status in self.wanted_statuses
            and self.schedules(job.scheduled_for)
            and is_within(job.created_at, self.created_from, self.created_to)
            and is_within(job.completed_at, self.ended_from, self.ended_to)
            and self.dedup_key in {None, dedup_key}
            and self.concurrency_key in {None, job.concurrency_key}
            and self.group_id in {None, job.group_id}
            and self.schedule in {None, job.schedule}
            and self.template in {None, job.template}
        )

    def is_of_type(self, job_type: str) -> bool:
        """The type that is asked for, or else any but the system's own."""
        return job_type != DELIVERY if self.job_type is None else job_type == self.job_type

    def types(self, registry: Registry) -> list[str]:
        """The types whose jobs can match, as far as they are deployed or named."""
        return [self.job_type] if self.job_type is not None else sorted(filter(self.is_of_type, registry.types))

    def schedules(self, scheduled_for: datetime) -> bool:
        """Whether a job of that time is within the range; its id alone says which time that is."""
        return is_within(scheduled_for, self.scheduled_from, self.scheduled_to)

    def conditions(self, *attributes: str) -> tuple[Condition, ...]:
        """What a store can leave out by itself, of what an index projects or a record has."""
        found: list[Condition] = [
            Equals(name, getattr(self, name))
            for name in _EQUAL
            if name in attributes and getattr(self, name) is not None
        ]
        if "status" in attributes and self.wanted_statuses != frozenset(JobStatus):
            found.append(OneOf("status", tuple(sorted(map(str, self.wanted_statuses)))))
        for name, start, end in (
            ("created_at", self.created_from, self.created_to),
            ("completed_at", self.ended_from, self.ended_to),
        ):
            if name in attributes and start is not None:
                found.append(After(name, to_text(start - _MILLISECOND)))
            if name in attributes and end is not None:
                found.append(NotAfter(name, to_text(end - _MILLISECOND)))
        return tuple(found)


_EQUAL = ("job_type", "dedup_key", "concurrency_key", "group_id", "schedule", "template")
_PARSED: dict[str, Callable[[Any], object]] = {
    "job_type": parse_job_type,
    "scheduled_from": partial(instant, what="scheduled_from"),
    "scheduled_to": partial(instant, what="scheduled_to"),
    "created_from": partial(instant, what="created_from"),
    "created_to": partial(instant, what="created_to"),
    "ended_from": partial(instant, what="ended_from"),
    "ended_to": partial(instant, what="ended_to"),
    "dedup_key": partial(parse_key, what="dedup key"),
    "concurrency_key": partial(parse_key, what="concurrency key"),
    "group_id": parse_group_id,
    "schedule": parse_schedule_name,
    "template": parse_template_name,
}


def fingerprint(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def _parse_statuses(statuses: object) -> frozenset[JobStatus]:
    given = [statuses] if isinstance(statuses, str) else statuses
    try:
        if not isinstance(given, Iterable):
            raise ValueError
        return frozenset(JobStatus(each) for each in given)
    except ValueError:
        shown = sorted(map(str, given)) if isinstance(given, Iterable) else given
        raise InvalidOptionError(shown, "this is no status of jobs", f"Use some of {', '.join(JobStatus)}.") from None


def check_range(what: str, start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and start >= end:
        raise InvalidOptionError(
            (to_text(start), to_text(end)), f"{what}_from is not before {what}_to", "Exchange them, or leave one out."
        )


def is_within(value: datetime | None, start: datetime | None, end: datetime | None) -> bool:
    if value is None:
        return start is None and end is None
    return (start is None or start <= value) and (end is None or value < end)


def _canonical(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, frozenset) else value
