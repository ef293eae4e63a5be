"""End a run: its transition, and whatever is owed with it, in one write. What is owed cannot be lost, or made twice.

A job that nobody is to be told of pays nothing for this: its end is the one conditional write that it always was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.webhook import DELIVERY, event_of
from leasehold.domain.webhook_delivery import delivery
from leasehold.engine.telemetry import Event
from leasehold.store.jobs import insertion, letter_insertion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.due import Due
    from leasehold.domain.job import Job
    from leasehold.domain.lifecycle import Write
    from leasehold.domain.run import Run
    from leasehold.engine.parts import Parts
    from leasehold.store.payloads import Layout
    from leasehold.store.table import Change, ForeignItem


class RunEnd:
    """One end, decided once: however often it has to be written, it is the same write with the same token."""

    def __init__(
        self,
        job: Job,
        write: Write,
        parts: Parts,
        *,
        token: str,
        letter: DeadLetter | None = None,
        foreign: Sequence[ForeignItem] = (),
    ) -> None:
        self._write = write
        self._token = token
        self._foreign = foreign
        self._store = parts.store
        self._changes: list[Change] = [letter_insertion(letter)] if letter else []
        layouts = _laid_out(_deliveries(job, write, parts), parts)
        self._changes += [insertion(each.job) for each in layouts]
        self._apart = [each.item for each in layouts if each.item is not None]

    def commit(self) -> None:
        """TransitionRefused if the job is not what the writer saw."""
        for item in self._apart:
            self._store.payloads.put(item)
        if self._changes or self._foreign:
            self._store.jobs.advance_with(self._write, self._changes, token=self._token, foreign=self._foreign)
        else:
            self._store.jobs.make(self._write)


def _laid_out(deliveries: Sequence[Job], parts: Parts) -> list[Layout]:
    if not deliveries:
        return []
    # Few jobs tell anybody of their runs, and every function's first call would pay for the import.
    from leasehold.engine.lay_out import lay_out

    return [lay_out(each, parts) for each in deliveries]


def webhook_of(job: Job, parts: Parts) -> str | None:
    """Who is told of this job's runs: its own address, or its type's."""
    if job.job_type == DELIVERY:
        return None
    if job.webhook is not None:
        return job.webhook
    of_type = parts.deployment.settings_of(job.job_type).webhook
    return of_type.url if of_type else None


def _deliveries(job: Job, write: Write, parts: Parts) -> list[Job]:
    url = webhook_of(job, parts)
    if url is None:
        return []
    ended = _after(job, write)
    run = ended.runs[-1] if "runs" in write.values else None
    event = event_of(ended.status, run)
    of_type = parts.deployment.settings_of(job.job_type).webhook
    if event is None or (of_type and event not in of_type.events):
        return []
    settings = parts.deployment.registry().types.get(DELIVERY)
    if settings is None:
        # Webhooks were switched off since it was enqueued. Its end matters more than who hears of it.
        parts.telemetry.event(Event.WEBHOOK_DROPPED, job_id=job.job_id, job_type=job.job_type, told=str(event))
        return []
    ended_at: datetime = run.ended_at if run else write.values["completed_at"]  # type: ignore[assignment]
    return [delivery(ended, run, event, url=url, ended_at=ended_at, settings=settings)]


def _after(job: Job, write: Write) -> Job:
    """The job as this write leaves it, as far as others are told of it."""
    values = write.values
    runs: tuple[Run, ...] = values.get("runs", job.runs)  # type: ignore[assignment]
    due: Due | None = values.get("due_key")  # type: ignore[assignment]
    result: str | None = values.get("result", job.result_text)  # type: ignore[assignment]
    error: str | None = values.get("last_error", job.last_error)  # type: ignore[assignment]
    code: str | None = values.get("last_error_code", job.last_error_code)  # type: ignore[assignment]
    return replace(
        job,
        status=write.transition.target or job.status,
        runs=runs,
        due=due,
        result_text=result,
        last_error=error,
        last_error_code=code,
    )
