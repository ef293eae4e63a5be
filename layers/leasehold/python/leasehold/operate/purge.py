"""Purge: forget the personal data of an ended job. That it was done, and by whom, stays on record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.audit.records import audit_entry_on_job, retried
from leasehold.kernel.errors import WrongStateError
from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.partitions import payload, payload_partition, records_in
from leasehold.kernel.payload import PURGED
from leasehold.kernel.table import Delete
from leasehold.kernel.transitions import PURGE
from leasehold.operate.jobs import find
from leasehold.webhooks.model import delivery_ids

if TYPE_CHECKING:
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change


def purge(job_id: object, services: Services, *, reason: str) -> Job:
    """Forget payload, result, errors and artifacts: on the job, its dead letter, and what its webhooks were told.

    A job that has not ended needs its payload: cancel it first. So does a delivery that is still to be made.
    """

    def attempt() -> Job | None:
        job = find(job_id, services)
        if not job.has_ended:
            raise WrongStateError(job.job_id, "purge", job.status, "It needs its data: cancel it first.")
        if job.owed:
            hint = "A receiver is still to be told of it, or its group: a poller does that in a moment."
            raise WrongStateError(job.job_id, "purge", f"{job.status} and owes something", hint)
        audit_entry = audit_entry_on_job(job.job_id, "purge", services, reason=reason)
        changes: list[Change] = [transition(_write(job)), *_without_payloads(job, services)]
        dead_letter = services.store.dead_letters.get(job.job_id)
        if dead_letter is not None:
            changes.append(services.store.dead_letters.purged(dead_letter, _without_content(dead_letter.runs)))
        for delivery in _deliveries(job, services):
            changes += [transition(_write(delivery)), *_without_payloads(delivery, services)]
        audit = services.store.audits.audit(audit_entry)
        is_done = services.store.audits.commit(changes, audit)
        return find(job.job_id, services) if is_done else None

    return retried(f"job {job_id}", attempt, services)


def _deliveries(job: Job, services: Services) -> list[Job]:
    """What its receivers were told has the results and errors of its runs in it."""
    found = services.store.jobs.get_many(delivery_ids(job))
    for delivery in found.values():
        if not delivery.has_ended:
            told = f"The delivery {delivery.job_id} still tells its receiver of it: wait for it, or cancel it."
            raise WrongStateError(job.job_id, "purge", f"{job.status}, with a delivery {delivery.status}", told)
    return list(found.values())


def _without_payloads(job: Job, services: Services) -> list[Delete]:
    """What stands apart goes too: what edits have left at once, what the job still names together with its purge.

    So what is recorded as purged is gone, and a purge that came to nothing has taken nothing that is still in use.
    """
    table, named = services.store.table, []
    for record in list(records_in(table, payload_partition(job.job_id))):
        # One that is gone is as good as deleted.
        deletion = Delete(key=payload(job.job_id, cast("str", record["SK"])), conditions=())
        if record["SK"] == job.payload_name:
            named.append(deletion)
        else:
            table.write(deletion)
    return named


def _write(job: Job) -> Write:
    values: dict[str, object] = {"payload": PURGED}
    if job.runs:
        values["runs"] = _without_content(job.runs)
    if job.last_error is not None:
        values["last_error"] = "purged"
    return Write(job_id=job.job_id, transition=PURGE, seen={"completed_at": job.completed_at}, values=values)


def _without_content(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Who ran when, and how it ended; not what was in it. A code names a kind of error, and stays."""
    return tuple(replace(run, error=_purged(run.error), reason=_purged(run.reason), artifacts=()) for run in runs)


def _purged(said: str | None) -> str | None:
    return None if said is None else "purged"
