"""Failed attempts and lost workers are told; whatever happens to the report, the job goes on as it would."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, NonRetryableError, Snooze
from leasehold.kernel.poll import Poller
from leasehold.operate.failure_report import Severity
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest
from tests.real_queue import Inbox

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json
    from leasehold.operate.failure_report import FailureReport

PAYLOAD: dict[str, Json] = {"order": "o-1234", "email": "ada@example.com"}


class Order(BaseModel):
    order: str
    email: str


class Reports:
    """A reporter that keeps what it is told, or does worse."""

    def __init__(self, *, is_on: bool = True, taken: bool = True, error: Exception | None = None) -> None:
        self.is_on = is_on
        self.told: list[FailureReport] = []
        self._taken = taken
        self._error = error

    def report(self, report: FailureReport) -> bool:
        self.told.append(report)
        if self._error is not None:
            raise self._error
        return self._taken


class Unknown(Reports):
    """Whether anybody takes reports cannot be found out: the store of the DSN is out of reach."""

    @property
    def is_on(self) -> bool:
        raise OSError("SSM does not answer")

    @is_on.setter
    def is_on(self, _: bool) -> None:
        pass


def queue_that_raises(error: Exception, reports: Reports, **settings: object) -> LeaseholdTest:
    class Handler(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Order

        def handle(self, payload: Order) -> None:
            raise error

    job_type = JobType(name="order", **settings)  # type: ignore[arg-type]
    test = LeaseholdTest({"order": Handler}, types=[job_type])
    test.services.reporter = reports
    test.queue.enqueue("order", PAYLOAD)
    return test


def test_a_failed_attempt_is_a_warning_with_its_run_and_traceback() -> None:
    reports = Reports()
    test = queue_that_raises(ValueError("no such order"), reports, max_attempts=3)

    assert test.drain()["failed"] == 1

    (report,) = reports.told
    (job,) = test.jobs()
    assert report.severity is Severity.WARNING
    assert (report.job_id, report.job_type, report.error_code) == (job.job_id, "order", "ValueError")
    assert (report.attempts, report.max_attempts) == (1, 3)
    assert report.error.endswith("ValueError: no such order")
    assert report.runs == job.runs


def test_each_attempt_is_told_but_the_last_which_is_the_dead_letters_to_tell() -> None:
    reports = Reports()
    test = queue_that_raises(ValueError("no"), reports, max_attempts=3)

    assert test.drain(until_idle=True)["dead_letter"] == 1

    assert [report.attempts for report in reports.told] == [1, 2]
    assert [len(report.runs) for report in reports.told] == [1, 2]


@pytest.mark.parametrize("signal", [NonRetryableError("no"), Snooze(60)])
def test_what_is_no_failed_attempt_is_no_warning(signal: Exception) -> None:
    reports = Reports()
    queue_that_raises(signal, reports).drain()

    assert reports.told == []


def test_payload_values_stay_unless_their_field_is_allowed() -> None:
    reports = Reports()
    test = queue_that_raises(ValueError("o-1234 of ada@example.com"), reports, reported_fields=("order",))
    test.drain()

    (report,) = reports.told
    assert report.fields == {"order": "o-1234"}
    assert report.error.endswith("ValueError: o-1234 of [payload.email]")
    assert "ada@" not in repr((report.error, report.fields))


@pytest.mark.parametrize("reports", [Reports(error=OSError("Sentry is on fire")), Reports(taken=False), Unknown()])
def test_a_report_that_fails_changes_nothing_but_the_log(reports: Reports) -> None:
    test = queue_that_raises(ValueError("no"), reports)

    assert test.drain()["failed"] == 1

    assert test.jobs()[0].last_error_code == "ValueError"
    (told,) = test.telemetry.of(Event.REPORT_FAILED)
    assert told["job_id"] == test.jobs()[0].job_id


def test_a_reporter_that_is_off_is_not_asked() -> None:
    reports = Reports(is_on=False)
    test = queue_that_raises(ValueError("no"), reports)

    assert test.drain()["failed"] == 1
    assert reports.told == []
    assert test.telemetry.of(Event.REPORT_FAILED) == []


def test_a_lost_worker_is_a_warning_like_any_failure() -> None:
    reports = Reports()
    test = queue_that_raises(ValueError("never raised"), reports)
    inbox = Inbox()
    Poller(test.services, inbox, worker_id="poller").poll()
    lose_the_worker(test, inbox)

    test.drain()

    (report,) = reports.told
    assert report.severity is Severity.WARNING
    assert report.error_code == "worker_lost"
    assert report.runs == test.jobs()[0].runs


@pytest.mark.parametrize("reports", [Reports(error=OSError("no")), Unknown()])
def test_a_reporter_that_fails_does_not_keep_a_lost_job_from_coming_back(reports: Reports) -> None:
    test = queue_that_raises(ValueError("never raised"), reports)
    inbox = Inbox()
    Poller(test.services, inbox, worker_id="poller").poll()
    lose_the_worker(test, inbox)

    assert Poller(test.services, inbox, worker_id="poller").poll().reaped == 1
    assert test.jobs()[0].status == "failed"


def lose_the_worker(test: LeaseholdTest, inbox: Inbox) -> None:
    """Start the hand-over and never end it; its lease runs out."""
    from leasehold.kernel.execute import Executor

    Executor(test.services, worker_id="lost").begin(inbox.handovers.pop())
    test.clock.advance(timedelta(hours=1))
