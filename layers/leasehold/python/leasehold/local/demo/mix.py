"""The mix: one case for each way in which a job can go through the queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from leasehold.client.queue import NewJob
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.run import Outcome
from leasehold.engine.enqueue import Rejected
from leasehold.local.demo.case import Asked, Case, Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.domain.job import Job
    from leasehold.local.demo.case import Desk

AT_ONCE = 10
BULK = 100
LIMITED = 8
LIMIT = 2
SCHEDULED_AHEAD = timedelta(seconds=4)
EXTENDED_BY = timedelta(seconds=3)

_FAILED, _COMPLETED, _SKIPPED = Outcome.FAILED, Outcome.COMPLETED, Outcome.SKIPPED


def _crashed(desk: Desk) -> Asked:
    desk.say("backup: its first worker will die without a word; the lease of 15 s is what brings the job back")
    return Asked([desk.queue.enqueue("backup", {"volume": "db-1", "worker_dies_once": True}).job_id])


def _at_once(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("daily_summary", {"user": f"u{n}"}).job_id for n in range(AT_ONCE)])


def _scheduled(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("daily_summary", {"user": "later"}, run_in=SCHEDULED_AHEAD).job_id])


def _deduplicated(desk: Desk) -> Asked:
    first = desk.queue.enqueue("referral_timeout", {"petition": "p1"}, dedup_key="p1", run_in=timedelta(seconds=1))
    second = desk.queue.enqueue("referral_timeout", {"petition": "p1"}, dedup_key="p1")
    desk.say(f"referral_timeout p1: the second enqueue was told of the first job, {second.job_id}")
    told = (second.job_id, second.created) == (first.job_id, False)
    return Asked([first.job_id], [] if told else [f"the second enqueue answered {second}, not the first job"])


def _recovering(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("escalation_check", {"petition": "p2", "co_signers": 7, "outages": 2}).job_id])


def _dying(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("deliberation_timeout", {"petition": "p3"}).job_id])


def _snoozed(desk: Desk) -> Asked:
    deadline = datetime.now(UTC) + EXTENDED_BY
    return Asked([desk.queue.enqueue("referral_timeout", {"petition": "p4", "extended_to": deadline}).job_id])


def _cancelled(desk: Desk) -> Asked:
    job_id = desk.queue.enqueue("deliberation_timeout", {"petition": "p5"}, run_in=timedelta(hours=1)).job_id
    ended = desk.queue.cancel(job_id, reason="the petition was withdrawn").job_ended
    return Asked([job_id], [] if ended else ["cancel did not say that the job had ended"])


def _skipped(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("escalation_check", {"petition": "p6"}).job_id])


def _limited(desk: Desk) -> Asked:
    return Asked([desk.queue.enqueue("cleanup", {"folder": f"/tmp/{n}"}).job_id for n in range(LIMITED)])


def _bulk(desk: Desk) -> Asked:
    jobs = [NewJob(job="user_sync", payload={"user": f"u{n}"}) for n in range(BULK)]
    results = desk.queue.enqueue_many(jobs, progress=lambda done, total: desk.say(f"bulk enqueue: {done} of {total}"))
    asked = Asked()
    for result in results:
        if isinstance(result, Rejected):
            asked.problems.append(f"bulk enqueue refused a job: {result.error}")
        else:
            asked.job_ids.append(result.job_id)
    return asked


def _not_early(jobs: Sequence[Job]) -> Iterator[str]:
    for job in jobs:
        if any(run.started_at < job.scheduled_for for run in job.runs):
            yield f"{job.job_id}: it started before its time"


def _not_before_the_deadline(jobs: Sequence[Job]) -> Iterator[str]:
    for job in jobs:
        if job.last_attempt_at is None:
            yield f"{job.job_id}: it was never snoozed"
        if any(run.started_at < job.created_at + EXTENDED_BY for run in job.runs):
            yield f"{job.job_id}: it closed the petition before the extended deadline"


def _within_the_limit(jobs: Sequence[Job]) -> Iterator[str]:
    runs = [run for job in jobs for run in job.runs]
    # At one and the same moment an end counts before a start.
    edges = sorted(chain(((run.started_at, 1) for run in runs), ((run.ended_at, -1) for run in runs)))
    most = max(accumulate(step for _, step in edges), default=0)
    if most > LIMIT:
        yield f"{most} cleanups ran at once, but the limit is {LIMIT}"


def _left_its_artifact(jobs: Sequence[Job]) -> Iterator[str]:
    for job in jobs:
        if len(job.artifacts) != 1:
            yield f"{job.job_id}: it should have left one artifact, but left {len(job.artifacts)}"


CASES: tuple[Case, ...] = (
    Case(
        name="crashed worker",
        asked="a backup whose first worker dies",
        expected="found by its lease, then completed",
        ask=_crashed,
        ending=Ending(outcomes=(_FAILED, _COMPLETED), codes=("worker_lost",)),
        also=_left_its_artifact,
    ),
    Case(name="at once", asked=f"{AT_ONCE} daily summaries, now", expected="completed, one attempt each", ask=_at_once),
    Case(
        name="scheduled",
        asked=f"a daily summary in {SCHEDULED_AHEAD.total_seconds():g} s",
        expected="completed, not before its time",
        ask=_scheduled,
        also=_not_early,
    ),
    Case(
        name="deduplicated",
        asked="the same referral timeout twice",
        expected="one job; the second call is told which",
        ask=_deduplicated,
    ),
    Case(
        name="recovering",
        asked="an escalation check during an outage",
        expected="fails twice, then completes",
        ask=_recovering,
        ending=Ending(outcomes=(_FAILED, _FAILED, _COMPLETED), codes=("ConnectionError",) * 2),
    ),
    Case(
        name="dead letter",
        asked="a deliberation timeout that cannot work",
        expected="dead letter after 3 attempts",
        ask=_dying,
        ending=Ending(status=JobStatus.DEAD_LETTER, outcomes=(_FAILED,) * 3, codes=("ConnectionError",) * 3),
    ),
    Case(
        name="snoozed",
        asked="a referral whose deadline was extended",
        expected="snoozes till then; uses one attempt",
        ask=_snoozed,
        also=_not_before_the_deadline,
    ),
    Case(
        name="cancelled",
        asked="a job for later, cancelled now",
        expected="cancelled, never started",
        ask=_cancelled,
        ending=Ending(status=JobStatus.CANCELLED, outcomes=()),
    ),
    Case(
        name="skipped",
        asked="an escalation check with nothing to do",
        expected="completed, its run SKIPPED",
        ask=_skipped,
        ending=Ending(outcomes=(_SKIPPED,)),
    ),
    Case(
        name="limited",
        asked=f"{LIMITED} cleanups, at most {LIMIT} at once",
        expected=f"completed, never more than {LIMIT} at once",
        ask=_limited,
        also=_within_the_limit,
    ),
    Case(name="bulk", asked=f"{BULK} user syncs in one call", expected="completed, one attempt each", ask=_bulk),
)
