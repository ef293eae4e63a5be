"""Bulk enqueue: 25 jobs to a call, and calls side by side; half as many at once after each that was throttled.

And a job as changes for a transaction of the caller's own.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from leasehold.kernel.dedup import insertions, is_free, job_of_holder, repointed
from leasehold.kernel.enqueue import (
    Draft,
    Enqueued,
    JobRequest,
    NewJob,
    OnDuplicate,
    creation,
    draft,
    inserted,
    log_enqueued,
    request_of,
    write,
)
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import insertion
from leasehold.kernel.lanes import numbered
from leasehold.kernel.offload import plan_offload
from leasehold.kernel.table import ConditionFailed
from leasehold.lean import dataclass
from leasehold.telemetry.spans import span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.offload import Offload
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change
    from leasehold.pool import Pending

    type Answers = list[Exception | None]


_JOBS_PER_CALL = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """One item of a bulk enqueue that was not accepted."""

    error: LeaseholdError


type BulkResult = Enqueued | Rejected


def enqueue_many(
    jobs: Sequence[NewJob],
    services: Services,
    *,
    on_duplicate: OnDuplicate = OnDuplicate.RETURN_EXISTING,
    progress: Callable[[int, int], None] | None = None,
) -> list[BulkResult]:
    """Enqueue each job; one that cannot be accepted does not stop the others."""
    services.deployment.refuse_if_halted()
    results: list[BulkResult] = []
    # Jobs that were given no trace of their own are part of this one.
    with span("enqueue") as sending:
        sending.note(count=len(jobs))
        batches = (
            _draft_batch(start, jobs[start : start + _JOBS_PER_CALL], services, on_duplicate)
            for start in range(0, len(jobs), _JOBS_PER_CALL)
        )
        for batch in _Inserts(services).of(batches):
            results += batch
            if progress is not None:
                progress(len(results), len(jobs))
    return results


@dataclass(slots=True)
class _Batch:
    """What is known of each job, by its place; those of `plain` are inserted together."""

    results: dict[int, BulkResult]
    plain: list[tuple[int, Job, Offload]]


def _draft_batch(start: int, jobs: Sequence[NewJob], services: Services, on_duplicate: OnDuplicate) -> _Batch:
    """Write what needs a call of its own, in order, since two may have the same dedup key; the others are plain."""
    batch = _Batch({}, [])
    for position, wanted in enumerate(jobs):
        try:
            request = request_of(wanted)
            # A long bulk must notice a halt that comes half-way; the cache keeps this cheap.
            services.deployment.refuse_if_halted()
            drafted = _numbered(draft(request, services), start + position + 1)
            audit_entry = creation(drafted.job, services)
            if drafted.record is None and audit_entry is None:
                batch.plain.append((position, drafted.job, plan_offload(drafted.job, services)))
            else:
                batch.results[position] = write(drafted, services, on_duplicate=on_duplicate, audit_entry=audit_entry)
        except LeaseholdError as error:
            batch.results[position] = Rejected(error=error)
    return batch


def _numbered(drafted: Draft, number: int) -> Draft:
    """Jobs of one call are often made within one millisecond: their number keeps them in order."""
    due = drafted.job.due
    assert due is not None
    return replace(drafted, job=replace(drafted.job, due=due._replace(position=numbered(due.position, number))))


class _Inserts:
    """As many calls at once as the pool has room for, and as the table takes."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._at_once = services.pool.size

    def of(self, batches: Iterable[_Batch]) -> Iterator[list[BulkResult]]:
        """The results of each batch, in order."""
        under_way: deque[tuple[_Batch, Pending[Answers]]] = deque()
        try:
            for batch in batches:
                under_way.append((batch, self._begin([offload for *_, offload in batch.plain])))
                while len(under_way) >= self._at_once:
                    yield self._results(*under_way.popleft())
            while under_way:
                yield self._results(*under_way.popleft())
        finally:
            # Whoever stops half-way leaves nothing behind that still runs.
            for _, pending in under_way:
                with suppress(BaseException):
                    pending.result()

    def _begin(self, offloads: Sequence[Offload]) -> Pending[Answers]:
        return self._services.pool.submit(partial(_insert, offloads, self._services))

    def _results(self, batch: _Batch, pending: Pending[Answers]) -> list[BulkResult]:
        answers = self._answers([offload for *_, offload in batch.plain], pending)
        for (position, job, _), answer in zip(batch.plain, answers, strict=True):
            batch.results[position] = _result(job, answer, self._services)
        return [batch.results[position] for position in sorted(batch.results)]

    def _answers(self, offloads: Sequence[Offload], pending: Pending[Answers]) -> Answers:
        """Ask again for what the table was too busy for, each time with half as many calls at once."""
        answers = pending.result()
        throttled = _throttled(answers)
        if not throttled:
            self._at_once = min(self._at_once + 1, self._services.pool.size)
        while throttled and self._at_once > 1:
            self._at_once //= 2
            again = self._begin([offloads[position] for position in throttled]).result()
            for position, answer in zip(throttled, again, strict=True):
                # The try before may have written it, and only its answer was lost.
                if isinstance(answer, ConditionFailed):
                    answer = ConditionFailed(answer.current, was_repeated=True)  # noqa: PLW2901
                answers[position] = answer
            throttled = _throttled(answers)
        return answers


def _throttled(answers: Answers) -> list[int]:
    return [position for position, answer in enumerate(answers) if isinstance(answer, StoreUnavailableError)]


def _insert(offloads: Sequence[Offload], services: Services) -> Answers:
    """Insert jobs behind their payloads, with an answer for each. It runs in the pool."""
    if not offloads:
        return []
    try:
        answers = put_items(offloads, services)
        ready = [position for position, answer in enumerate(answers) if answer is None]
        inserts = services.store.jobs.insert_many([offloads[position].job for position in ready]) if ready else []
    except StoreUnavailableError as error:
        # Raised, it would take the answers of all other batches with it.
        return [error] * len(offloads)
    for position, answer in zip(ready, inserts, strict=True):
        answers[position] = answer
    return answers


def _result(job: Job, answer: Exception | None, services: Services) -> BulkResult:
    if isinstance(answer, ConditionFailed):
        try:
            job, answer = inserted(Draft(job), services, refused=answer), None
        except LeaseholdError as error:
            answer = error
    if answer is not None:
        return Rejected(error=answer if isinstance(answer, LeaseholdError) else StoreError(str(answer)))
    log_enqueued(job, services)
    return Enqueued(job_id=job.job_id, created=True)


# --- payloads that do not fit into their jobs


def offloaded_many(jobs: Sequence[Job], services: Services) -> list[Job]:
    """As `offloaded`, in as few calls as possible; the first error if one of them cannot be."""
    offloads = [plan_offload(job, services) for job in jobs]
    for answer in put_items(offloads, services):
        if answer is not None:
            raise answer
    return [offload.job for offload in offloads]


def put_items(offloads: Sequence[Offload], services: Services) -> Answers:
    """Write what goes apart, in as few calls as possible; for each offload None, or what kept its item from it."""
    answers: Answers = [None] * len(offloads)
    items = {position: offload.item for position, offload in enumerate(offloads) if offload.item is not None}
    written = services.store.table.insert_many([*items.values()]) if items else []
    for (position, item), answer in zip(items.items(), written, strict=True):
        if isinstance(answer, ConditionFailed):
            # There already, by a try whose response was lost, or of an older job of this id: its time counts anew.
            try:
                services.store.table.write(item)
            except StoreError as error:
                answers[position] = error
        elif answer is not None:
            answers[position] = answer if isinstance(answer, StoreError) else StoreError(str(answer))
    return answers


# --- in the caller's own transaction


def enqueue_changes(request: JobRequest, services: Services) -> tuple[JobId, list[Change]]:
    """What makes the job, as changes for a caller's own transaction; it is cancelled where the dedup key is taken."""
    services.deployment.refuse_if_halted()
    with span("create", request.job_type, parent=request.trace) as creating:
        drafted = draft(request, services, trace=creating.trace)
        creating.note(job_id=drafted.job.job_id)
    if drafted.burst is not None:
        raise InvalidOptionError(
            drafted.burst.debounce, "a job of your own transaction cannot be debounced", "Use enqueue, or leave it out."
        )
    offload = plan_offload(drafted.job, services)
    changes: list[Change] = [insertion(offload.job)]
    if drafted.record is not None:
        holder = services.store.dedups.get(drafted.record.ref)
        if holder is not None and is_free(holder, job_of_holder(holder, services), services):
            changes.append(repointed(drafted.record, holder))
        else:
            # Also where somebody holds the key: it is the caller's transaction that is to say so.
            changes = insertions(offload.job, drafted.record)
    if offload.item is not None:
        changes.append(offload.item)
    audit_entry = creation(drafted.job, services)
    if audit_entry is not None:
        changes += services.store.audits.audit(audit_entry, is_first=True).changes
    return drafted.job.job_id, changes
