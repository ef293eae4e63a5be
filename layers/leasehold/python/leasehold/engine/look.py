"""Look at a job with its payload, wherever that stands; and at a listing, whatever in it cannot be read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.unreadable import Listed, Unreadable


def shown(job: Job, parts: Parts) -> Job:
    """The job with its payload, or with a word in its place if that is gone."""
    if job.status is JobStatus.DEAD_LETTER and job.payload_name is not None:
        letter = parts.store.letters.get(job.job_id)
        job = job if letter is None else with_payload_of(letter, job)
    return parts.store.payloads.shown(job)


def with_payload_of(letter: DeadLetter, job: Job) -> Job:
    """A dead job's own payload may have expired; its letter has a copy for as long as it is needed."""
    return job if job.payload_name is None else replace(job, read_payload=letter.payload_text)


def readable[Item](listed: Listed[Item], parts: Parts) -> list[Item]:
    """What can be read of a listing; the rest is reported, and hides nothing."""
    report_unreadable(listed.unreadable, parts)
    return listed.items


def report_unreadable(unreadable: Sequence[Unreadable], parts: Parts) -> None:
    for each in unreadable:
        parts.telemetry.event(Event.RECORD_UNREADABLE, key=each.key, problem=each.problem)
