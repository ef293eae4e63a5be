"""A case of the demo: what is asked of the queue, and how each of its jobs should end."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one job should have ended. `codes` are the error codes of its runs, in order."""

    status: JobStatus = JobStatus.COMPLETED
    outcomes: tuple[Outcome, ...] = (Outcome.COMPLETED,)
    codes: tuple[str, ...] = ()

    def problems(self, job: Job) -> Iterator[str]:
        outcomes = tuple(run.outcome for run in job.runs)
        codes = tuple(run.error_code for run in job.runs if run.error_code is not None)
        for what, wanted, actual in (
            ("status", self.status, job.status),
            ("runs", self.outcomes, outcomes),
            ("attempts", len(self.outcomes), job.attempts),
            ("error codes", self.codes, codes),
        ):
            if wanted != actual:
                yield f"{job.job_id}: {what} should be {_shown(wanted)}, but is {_shown(actual)}"
        if job.locked_by is not None or job.due is not None:
            yield f"{job.job_id}: it has ended, but still holds a lease or a place in the due index"


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a case asks for its jobs, and tells what it asks for."""

    queue: Queue
    say: Callable[[str], None]
    by: str = "demo"

    def enqueue(self, job_type: str, payload: Json, **options: Any) -> Enqueued:
        return self.queue.enqueue(job_type, payload, created_by=self.by, **options)


@dataclass(slots=True)
class Asked:
    """What enqueueing gave: the jobs, and whatever was wrong with the answers."""

    job_ids: list[JobId] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Case:
    """`asked` and `expected` are words for the reader, `ending` and `also` check the jobs.

    goes_ahead: the other cases are asked for only once its jobs have been started: they would be slow while all
    functions start.
    """

    name: str
    asked: str
    expected: str
    ask: Callable[[Desk], Asked]
    ending: Ending = Ending()
    _: KW_ONLY
    also: Callable[[Sequence[Job]], Iterator[str]] = lambda _: iter(())
    goes_ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one case; without problems it went as it should."""

    case: str
    asked: str
    expected: str
    came_out: str
    jobs: int
    problems: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        return not self.problems


def judge(case: Case, asked: Asked, found: Mapping[JobId, Job]) -> Verdict:
    jobs = [found[job_id] for job_id in asked.job_ids if job_id in found]
    problems = [*asked.problems, *(f"{each}: lost" for each in asked.job_ids if each not in found)]
    problems += [problem for job in jobs for problem in case.ending.problems(job)]
    problems += case.also(jobs)
    said = {"case": case.name, "asked": case.asked, "expected": case.expected, "came_out": _came_out(jobs)}
    return Verdict(**said, jobs=len(jobs), problems=tuple(problems))


def _came_out(jobs: Sequence[Job]) -> str:
    """Jobs in words, those that went the same way together: `10 completed`, `1 completed (FAILED, COMPLETED)`."""
    ways = Counter((str(job.status), tuple(str(run.outcome) for run in job.runs)) for job in jobs)
    return ", ".join(f"{count} {status}{_history(outcomes)}" for (status, outcomes), count in ways.items()) or "nothing"


def _history(outcomes: tuple[str, ...]) -> str:
    return "" if outcomes in {("COMPLETED",), ()} else f" ({', '.join(outcomes)})"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value) or "none"
    return str(value)
