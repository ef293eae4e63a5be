"""The mix: one case for each way in which a job can go through the queue.

What goes wrong on purpose is done by the job types of functions/exercises, the rest by those of functions/jobs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from leasehold.bulk.enqueue_many import Rejected
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus
from leasehold.local.demo.case import Asked, Case, Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Json
    from leasehold.local.demo.case import Desk

AT_ONCE = 5
BULK = 100
LIMITED = 6
LIMIT = 2
SCHEDULED_AHEAD = timedelta(seconds=5)
# Long enough that it lies ahead even where functions start slowly; the crashed worker takes as long anyway.
EXTENDED_BY = timedelta(seconds=12)
# The deadline is set before its job is made, and the job runs again right at it.
_A_MOMENT = timedelta(seconds=1)

_FAILED, _COMPLETED, _SKIPPED = Outcome.FAILED, Outcome.COMPLETED, Outcome.SKIPPED


def _jobs(job_type: str, *payloads: Any, **options: Any) -> Callable[[Desk], Asked]:
    return lambda desk: Asked([desk.enqueue(job_type, each, **options).job_id for each in payloads])


def _crashed(desk: Desk) -> Asked:
    desk.say("crasher: its first worker will end without a word; the lease of 15 s is what brings the job back")
    return Asked([desk.enqueue("crasher", {"crashes": 1}).job_id])


def _deduplicated(desk: Desk) -> Asked:
    options: dict[str, Any] = {"dedup_key": f"{desk.by}-p1", "run_in": timedelta(seconds=2)}
    first = desk.enqueue("referral_timeout", _referral("p1"), **options)
    second = desk.enqueue("referral_timeout", _referral("p1"), **options)
    desk.say(f"referral_timeout: the second enqueue was told of the first job, {second.job_id}")
    told = (second.job_id, second.created) == (first.job_id, False)
    return Asked([first.job_id], [] if told else [f"the second enqueue answered {second}, not the first job"])


def _snoozed(desk: Desk) -> Asked:
    payload = {**_referral("p2"), "extended_until": datetime.now(UTC) + EXTENDED_BY}
    return Asked([desk.enqueue("referral_timeout", payload).job_id])


def _cancelled(desk: Desk) -> Asked:
    job_id = desk.enqueue("referral_timeout", _referral("p3"), run_in=timedelta(hours=1)).job_id
    ended = desk.queue.cancel(job_id, reason="the petition was withdrawn").job_ended
    return Asked([job_id], [] if ended else ["cancel did not say that the job had ended"])


def _bulk(desk: Desk) -> Asked:
    payloads: list[Json] = [{"user_id": f"u{n}", "source": {"name": "Ada"}, "target": {}} for n in range(BULK)]
    jobs = [NewJob(job="user_sync", payload=payload, created_by=desk.by) for payload in payloads]
    results = desk.queue.enqueue_many(jobs, progress=lambda done, total: desk.say(f"bulk enqueue: {done} of {total}"))
    refused = [f"bulk enqueue refused a job: {each.error}" for each in results if isinstance(each, Rejected)]
    return Asked([each.job_id for each in results if not isinstance(each, Rejected)], refused)


def _referral(petition_id: str) -> dict[str, Json]:
    return {"petition_id": petition_id, "knight_id": "k1", "due_at": datetime.now(UTC)}


def _not_early(jobs: Sequence[Job]) -> Iterator[str]:
    for job in jobs:
        if any(run.started_at < job.scheduled_for for run in job.runs):
            yield f"{job.job_id}: it started before its time"


def _not_before_the_deadline(jobs: Sequence[Job]) -> Iterator[str]:
    for job in jobs:
        if job.last_attempt_at is None:
            yield f"{job.job_id}: it was never snoozed"
        if any(run.started_at < job.created_at + EXTENDED_BY - _A_MOMENT for run in job.runs):
            yield f"{job.job_id}: it closed the petition before the extended deadline"


def _within_the_limit(jobs: Sequence[Job]) -> Iterator[str]:
    runs = [run for job in jobs for run in job.runs]
    # At one and the same moment an end counts before a start.
    edges = sorted(chain(((run.started_at, 1) for run in runs), ((run.ended_at, -1) for run in runs)))
    most = max(accumulate(step for _, step in edges), default=0)
    if most > LIMIT:
        yield f"{most} ran at once, but the limit is {LIMIT}"


CASES: tuple[Case, ...] = (
    Case(
        "snoozed",
        "a referral whose deadline was extended",
        "snoozes till then; uses one attempt",
        _snoozed,
        goes_ahead=True,
        also=_not_before_the_deadline,
    ),
    Case(
        "crashed worker",
        "a job whose first worker dies",
        "found by its lease, then completed",
        _crashed,
        Ending(outcomes=(_FAILED, _COMPLETED), codes=("worker_lost",)),
    ),
    Case("bulk", f"{BULK} user syncs in one call", "completed, one attempt each", _bulk),
    Case(
        "at once",
        f"{AT_ONCE} daily summaries, now",
        "completed, one attempt each",
        _jobs("daily_summary", *({"user_id": f"u{n}"} for n in range(AT_ONCE))),
    ),
    Case(
        "scheduled",
        f"a daily summary in {SCHEDULED_AHEAD.total_seconds():g} s",
        "completed, not before its time",
        _jobs("daily_summary", {"user_id": "later"}, run_in=SCHEDULED_AHEAD),
        also=_not_early,
    ),
    Case("deduplicated", "the same referral timeout twice", "one job; the second call is told which", _deduplicated),
    Case(
        "recovering",
        "a job that fails at first",
        "fails twice, then completes",
        _jobs("flaky", {"failures": 2}),
        Ending(outcomes=(_FAILED, _FAILED, _COMPLETED), codes=("ConnectionError",) * 2),
    ),
    Case(
        "dead letter",
        "a job that never works",
        "dead letter after 3 attempts",
        _jobs("flaky", {"failures": 3}),
        Ending(status=JobStatus.DEAD_LETTER, outcomes=(_FAILED,) * 3, codes=("ConnectionError",) * 3),
    ),
    Case(
        "cancelled",
        "a job for later, cancelled now",
        "cancelled, never started",
        _cancelled,
        Ending(status=JobStatus.CANCELLED, outcomes=()),
    ),
    Case(
        "skipped",
        "a user sync with nothing to do",
        "completed, its run SKIPPED",
        _jobs("user_sync", {"user_id": "u0", "source": {"name": "Ada"}, "target": {"name": "Ada"}}),
        Ending(outcomes=(_SKIPPED,)),
    ),
    Case(
        "limited",
        f"{LIMITED} jobs of a type that allows {LIMIT} at once",
        f"completed, never more than {LIMIT} at once",
        _jobs("limited", *({} for _ in range(LIMITED))),
        also=_within_the_limit,
    ),
)
