"""Settle: do what a job owes since its run has ended, e.g. a webhook or a count in its group.

A poller that is alone with a backlog settles a page side by side. Only members of a group share something, its counts:
these are settled by one transaction, and one by one where that is refused or fails.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.end import expiry_values
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import Write, needs_wake, transition
from leasehold.kernel.next_attempt import due_values
from leasehold.kernel.refusals import TransitionRefused
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
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.services import Services

    # By due key: what settling a job alone would have answered, or raised.
    type Answers = dict[str, bool | Exception]

_TRIES = 5
_AGAIN_AFTER = timedelta(minutes=1)


def settle(entry: DueJob, services: Services) -> bool:
    """Do what a job owes, and let it leave the due index or wait for its next run; False if it owes nothing now."""
    job = trusted_job(services.store.jobs.get(entry.job_id), services)
    return job is not None and _owes_as_shown(job, entry) and _settle_jobs([job], services)


def _owes_as_shown(job: Job, entry: DueJob) -> bool:
    is_as_shown = job.due is not None and job.due.key == entry.due_key
    return is_as_shown and (job.has_ended or entry.due.afterwards is not None)


def _settle_jobs(jobs: Sequence[Job], services: Services) -> bool:
    """Settle these together; False if one of them is not what was read, or what several owe cannot be done together."""
    for _ in range(_TRIES):
        try:
            joinings = _joinings(jobs, services)
        except StoreUnavailableError:
            raise
        except LeaseholdError as error:
            return len(jobs) == 1 and _put_off(jobs[0], error, services)
        if len(jobs) > 1 and not any(each.changes for each in joinings):
            return False  # they share nothing: a transaction would cost twice the units of their own writes
        try:
            expiries = _commit(jobs, joinings, services)
        except TransitionRefused:
            return False
        except TransactionCancelled:
            if len(jobs) > 1:
                return False
            continue  # what it is settled with is not what was read: look again
        for each in joinings:
            if each.then is not None:
                each.then()
        for job, expires_at in zip(jobs, expiries, strict=True):
            if job.dedup is not None:
                from leasehold.kernel.dedup import retire_dedup_record

                retire_dedup_record(job, expires_at, services)
        return True
    # It stays due, and the next poll tries again.
    return False


def _joinings(jobs: Sequence[Job], services: Services) -> list[Joining]:
    """What the features do about these jobs, each asked once."""
    owing: dict[str, list[Job]] = {}
    for job in jobs:
        for each in job.owed:
            owing.setdefault(each.partition(":")[0], []).append(job)
    return [_hooks_of(name, services).settle(owed_by, services) for name, owed_by in owing.items()]


def _hooks_of(name: str, services: Services) -> Hooks:
    """The feature that a job owes something to."""
    feature = next((each for each in services.features if each.name == name), None)
    if feature is None:
        raise StoreError(f"nobody here knows how to settle {name!r}; a newer version may")
    return feature.load()


def _commit(jobs: Sequence[Job], joinings: Sequence[Joining], services: Services) -> list[object]:
    """Write it; returns when each of the jobs expires."""
    writes = [_write(job, _values(job, services)) for job in jobs]
    changes = [*map(transition, writes[1:]), *(change for each in joinings for change in each.changes)]
    if changes:
        token = request_token("settle", jobs[0].job_id, f"{services.random_source.bits(64):x}")
        services.store.jobs.apply_with(writes[0], changes, token=token)
    else:
        try:
            services.store.jobs.apply(writes[0])
        except TransitionRefused as refused:
            # What is not owed any more was done by this write: its response was lost.
            if not refused.was_repeated or refused.current is None or refused.current.owed:
                raise
    return [write.values.get("expires_at") for write in writes]


def _values(job: Job, services: Services) -> Mapping[str, object]:
    if not job.has_ended:
        return _next_run_values(job, services.clock.now())
    assert job.completed_at is not None
    return expiry_values(job, job.status, job.completed_at, services.deployment.settings_of(job.job_type))


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


# --- a page of them


def settle_page(entries: Sequence[DueJob], poll: Poll) -> list[DueJob]:
    """Settle these; returns those that cannot be read here."""
    answers = _settled(entries, poll)
    for entry in entries:
        answer = answers.get(entry.due_key)
        if answer is None:
            continue
        poll.seen[entry.due_key] = poll.services.clock.now()
        if isinstance(answer, StoreUnavailableError):
            raise answer
        if isinstance(answer, Exception):
            poll.claims.note_failed(entry.due_key, answer)
        else:
            poll.report.settled += answer
    return [entry for entry in entries if entry.due_key not in answers]


def _settled(entries: Sequence[DueJob], poll: Poll) -> Answers:
    services, pool = poll.services, poll.poller.pool or poll.services.pool
    found, _ = services.store.listings.look_up([entry.job_id for entry in entries])
    answers: Answers = {}
    chains: dict[str, dict[str, Job]] = {}
    for entry in entries:
        job = trusted_job(found.get(entry.job_id), services)
        if job is not None and _owes_as_shown(job, entry):
            chains.setdefault(job.group_id or job.job_id, {})[entry.due_key] = job
        elif entry.job_id in found:
            answers[entry.due_key] = False
    pending = [pool.submit(lambda chain=chain: _settle_chain(chain, services)) for chain in chains.values()]  # type: ignore[misc]
    for each in pending:
        answers |= each.result()
    return answers


def _settle_chain(chain: Mapping[str, Job], services: Services) -> Answers:
    """Settle one job, or members of a group."""
    jobs = list(chain.values())
    try:
        if len(jobs) > 1 and all(job.has_ended for job in jobs) and _settle_jobs(jobs, services):
            return dict.fromkeys(chain, True)
    except StoreUnavailableError as error:
        return dict.fromkeys(chain, error)
    except Exception:
        pass  # who is at fault shows when each is settled alone; or only all of them together are too large
    return {due_key: _alone(job, services) for due_key, job in chain.items()}


def _alone(job: Job, services: Services) -> bool | Exception:
    try:
        return _settle_jobs([job], services)
    except Exception as error:
        return error
