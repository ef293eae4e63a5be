"""Settle: do what a job owes since its run has ended, e.g. a webhook or a count in its group."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.end import due_values, expiry_values, retire_dedup_record
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import TransitionRefused, Write, needs_wake
from leasehold.kernel.table import TransactionCancelled, request_token
from leasehold.kernel.transitions import SETTLE, SETTLE_RUN
from leasehold.kernel.trust import trusted_job
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.hooks import Hooks, Joining
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.services import Services

_TRIES = 5
_AGAIN_AFTER = timedelta(minutes=1)


def settle(entry: DueJob, services: Services) -> bool:
    """Do what a job owes, and let it leave the due index or wait for its next run; False if it owes nothing now."""
    job = trusted_job(services.store.jobs.get(entry.job_id), services)
    if job is None or job.due is None or job.due.key != entry.due_key:
        return False
    if not job.has_ended and job.due.afterwards is None:
        return False
    for _ in range(_TRIES):
        try:
            names = [each.partition(":")[0] for each in job.owed]
            joinings = [_hooks_of(each, services).settle(job, services) for each in names]
        except StoreUnavailableError:
            raise
        except LeaseholdError as error:
            return _put_off(job, error, services)
        try:
            values = _settled(job, joinings, services)
        except TransitionRefused:
            return False
        except TransactionCancelled:
            continue  # what it is settled with is not what was read: look again
        for each in joinings:
            if each.then is not None:
                each.then()
        retire_dedup_record(job, values.get("expires_at"), services)
        return True
    # It stays due, and the next poll tries again.
    return False


def _hooks_of(name: str, services: Services) -> Hooks:
    """The feature that a job owes something to."""
    feature = next((each for each in services.features if each.name == name), None)
    if feature is None:
        raise StoreError(f"nobody here knows how to settle {name!r}; a newer version may")
    return feature.load()


def _settled(job: Job, joinings: Sequence[Joining], services: Services) -> Mapping[str, object]:
    if job.has_ended:
        assert job.completed_at is not None
        values = expiry_values(job, job.status, job.completed_at, services.deployment.settings_of(job.job_type))
    else:
        values = _next_run_values(job, services.clock.now())
    write = _write(job, values)
    for item in (item for each in joinings for item in each.first):
        services.store.payloads.put(item)
    changes = [change for each in joinings for change in each.changes]
    if changes:
        token = request_token("settle", job.job_id, f"{services.random_source.bits(64):x}")
        services.store.jobs.apply_with(write, changes, token=token)
    else:
        try:
            services.store.jobs.apply(write)
        except TransitionRefused as refused:
            # What is not owed any more was done by this write: its response was lost.
            if not refused.was_repeated or refused.current is None or refused.current.owed:
                raise
    return values


def _write(job: Job, values: Mapping[str, object]) -> Write:
    return Write(
        job_id=job.job_id,
        transition=SETTLE if job.has_ended else SETTLE_RUN,
        seen={"due_key": job.due},
        values=values,
    )


def _next_run_values(job: Job, now: datetime) -> dict[str, object]:
    assert job.due is not None
    due = job.due.afterwards
    assert due is not None
    values: dict[str, object] = {"due_lane": job.run_lane, "due_key": due}
    return {**values, "wake": True} if needs_wake(due.at, now) else values


def _put_off(job: Job, error: LeaseholdError, services: Services) -> bool:
    """It stays owed. Later, so that it does not stand first in its lane at every poll; its next run does not wait."""
    services.telemetry.event(
        Event.SETTLE_FAILED, job_id=job.job_id, job_type=job.job_type, error_code=error.code, error=str(error)
    )
    now = services.clock.now()
    values = due_values(job, now + _AGAIN_AFTER, now) if job.has_ended else _next_run_values(job, now)
    try:
        services.store.jobs.apply(_write(job, {**values, "owed": job.owed}))
    except TransitionRefused:
        return False
    return True
