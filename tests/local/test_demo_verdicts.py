"""The demo's verdicts can be bad: each of its checks is shown a job that went another way."""

from __future__ import annotations

import importlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold import BaseJobHandler, JobType, Queue
from leasehold.job_folders.folder import EXERCISES, load_job_folders
from leasehold.local.demo import mix
from leasehold.local.demo.case import Asked, Desk, judge
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from leasehold.job_folders.job_toml import JobFolder
    from leasehold.kernel.job import Job
    from leasehold.local.demo.case import Case, Verdict

ROOT = Path(__file__).parents[2]
FOLDERS = (*load_job_folders(ROOT), *load_job_folders(ROOT, EXERCISES))


def handler_of(folder: JobFolder) -> type[BaseJobHandler]:
    module = importlib.import_module(f"{folder.path.replace('/', '.')}.handler")
    (found,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, BaseJobHandler) and each is not BaseJobHandler
    ]
    return found


HANDLERS = {folder.name: handler_of(folder) for folder in FOLDERS}
JOB_TYPES = [folder.job_type for folder in FOLDERS]


@pytest.fixture
def test(monkeypatch: pytest.MonkeyPatch) -> LeaseholdTest:
    # Here it matters how jobs end, not how long their pretended work takes.
    monkeypatch.setattr("time.sleep", lambda _: None)
    return LeaseholdTest(HANDLERS, types=JOB_TYPES)


def case_named(name: str) -> Case:
    return next(case for case in mix.CASES if case.name == name)


def run(name: str, test: LeaseholdTest) -> tuple[Asked, list[Job]]:
    asked = case_named(name).ask(Desk(test.queue, lambda _: None))
    test.drain(until_idle=True)
    return asked, [test.queue.get(job_id) for job_id in asked.job_ids]


def verdict(name: str, asked: Asked, jobs: list[Job]) -> Verdict:
    return judge(case_named(name), asked, {job.job_id: job for job in jobs})


@pytest.mark.parametrize("name", ["at once", "scheduled", "recovering", "dead letter", "cancelled", "skipped", "bulk"])
def test_a_job_that_went_as_it_should_is_good(name: str, test: LeaseholdTest) -> None:
    assert verdict(name, *run(name, test)).problems == ()


@pytest.mark.parametrize("name", [case.name for case in mix.CASES])
def test_a_job_that_never_ran_is_bad_in_every_case_but_one(name: str, test: LeaseholdTest) -> None:
    case = case_named(name)
    asked = case.ask(Desk(test.queue, lambda _: None))
    jobs = [test.queue.get(job_id) for job_id in asked.job_ids]

    assert verdict(name, asked, jobs).is_good is (name == "cancelled")


def test_a_job_that_is_gone_is_called_lost(test: LeaseholdTest) -> None:
    asked, jobs = run("at once", test)

    assert verdict("at once", asked, jobs[1:]).problems == (f"{asked.job_ids[0]}: lost",)


def test_a_second_enqueue_that_is_not_told_of_the_first_job_is_bad(test: LeaseholdTest) -> None:
    class Forgetful(Queue):
        def enqueue(self, *args: object, **options: object) -> object:  # type: ignore[override]
            return super().enqueue(*args, **{**options, "dedup_key": None})  # type: ignore[arg-type]

    asked = case_named("deduplicated").ask(Desk(Forgetful(test.services), lambda _: None))

    assert "not the first job" in asked.problems[0]


def test_a_start_before_the_jobs_time_is_bad(test: LeaseholdTest) -> None:
    asked, (job,) = run("scheduled", test)
    early = replace(job.runs[0], started_at=job.scheduled_for - timedelta(milliseconds=1))

    assert "started before its time" in verdict("scheduled", asked, [replace(job, runs=(early,))]).problems[0]


def test_more_at_once_than_the_limit_is_bad(test: LeaseholdTest) -> None:
    test.register("limited", HANDLERS["limited"], JobType(name="limited"))
    asked, jobs = run("limited", test)
    at, until = test.clock.now(), test.clock.now() + timedelta(seconds=1)
    together = [replace(job, runs=(replace(job.runs[0], started_at=at, ended_at=until),)) for job in jobs]

    assert verdict("limited", asked, together).problems == ("6 ran at once, but the limit is 2",)


def test_one_after_the_other_is_within_the_limit(test: LeaseholdTest) -> None:
    assert "limit" not in str(verdict("limited", *run("limited", test)).problems)
