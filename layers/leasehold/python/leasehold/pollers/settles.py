"""Settles of a page: what several ended jobs owe is done side by side, by a poller that is alone with a backlog.

Only members of a group share something, its counts: these are settled by one transaction, and one by one where that is
refused or fails. Everything else is as if each were settled alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.settle import owes_as_shown, settle_jobs
from leasehold.kernel.trust import trusted_job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.page import Poll
    from leasehold.kernel.services import Services

    # By due key: what settling a job alone would have answered, or raised.
    type Answers = dict[str, bool | Exception]


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
            poll.note_failed(entry.due_key, answer)
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
        if job is not None and owes_as_shown(job, entry):
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
        if len(jobs) > 1 and all(job.has_ended for job in jobs) and settle_jobs(jobs, services):
            return dict.fromkeys(chain, True)
    except StoreUnavailableError as error:
        return dict.fromkeys(chain, error)
    except Exception:
        pass  # who is at fault shows when each is settled alone; or only all of them together are too large
    return {due_key: _alone(job, services) for due_key, job in chain.items()}


def _alone(job: Job, services: Services) -> bool | Exception:
    try:
        return settle_jobs([job], services)
    except Exception as error:
        return error
