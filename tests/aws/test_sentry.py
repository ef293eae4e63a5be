"""Reports to a real HTTP endpoint: what arrives there, and what the reporter knows about it."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from leasehold.aws.sentry import REST_SECONDS, SentryReporter
from leasehold.kernel.job import Outcome, Run
from leasehold.kernel.keys import JobPartition, make_job_id
from leasehold.operate.failure_report import FailureReport, Severity
from tests.sentry_server import SentryServer

if TYPE_CHECKING:
    from collections.abc import Iterator

FAILED_AT = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
JOB_ID = make_job_id(FAILED_AT, JobPartition(1), 7)
TRACEBACK = """Traceback (most recent call last):
  File "/var/task/handler.py", line 31, in handle
    sync(user)
    ~~~~^^^^^^
  File "/opt/python/crm.py", line 8, in sync
    raise CrmDown("no answer")
crm.CrmDown: no answer"""
RUNS = tuple(
    Run(
        number=number,
        worker=f"worker.{number}",
        started_at=FAILED_AT - timedelta(minutes=3 - number),
        ended_at=FAILED_AT - timedelta(minutes=3 - number) + timedelta(seconds=2),
        outcome=Outcome.FAILED,
        error="a run's own text stays at home",
        error_code="CrmDown",
    )
    for number in range(1, 13)
)


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def a_report(**changes: object) -> FailureReport:
    values: dict[str, object] = {
        "job_id": JOB_ID,
        "job_type": "user_sync",
        "severity": Severity.ERROR,
        "error": TRACEBACK,
        "error_code": "CrmDown",
        "failed_at": FAILED_AT,
        "attempts": 3,
        "max_attempts": 5,
        "runs": RUNS,
    }
    return FailureReport(**{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture
def sentry() -> Iterator[SentryServer]:
    with SentryServer() as server:
        yield server


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def reporter(sentry: SentryServer, seconds: Seconds) -> SentryReporter:
    return SentryReporter(lambda: sentry.dsn, environment="test", seconds=seconds)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.aws.sentry_event.KnownOutcomeTransport.TIMEOUT", 0.2)


class TestWhatArrives:
    def test_a_report_says_which_job_failed_and_how_badly(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        assert reporter.report(a_report())

        (event,) = sentry.events
        assert event["level"] == "error"
        assert event["environment"] == "test"
        assert event["timestamp"] == "2026-01-01T09:30:00.000000Z"
        assert event["fingerprint"] == ["leasehold", "user_sync", "CrmDown"]
        assert event["tags"] == {
            "job_id": JOB_ID,
            "job_type": "user_sync",
            "attempt": "3",
            "error_code": "CrmDown",
        }
        assert event["contexts"]["job"] == {
            "job_id": JOB_ID,
            "job_type": "user_sync",
            "attempts": 3,
            "max_attempts": 5,
            "will_retry": False,
        }

    def test_a_warning_says_that_the_job_will_be_tried_again(
        self, sentry: SentryServer, reporter: SentryReporter
    ) -> None:
        reporter.report(a_report(severity=Severity.WARNING))

        (event,) = sentry.events
        assert event["level"] == "warning"
        assert event["contexts"]["job"]["will_retry"] is True

    def test_every_run_arrives_without_its_text(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        reporter.report(a_report())

        runs = sentry.events[0]["contexts"]["runs"]
        assert len(runs) == len(RUNS)
        assert runs["run 2"] == {
            "worker": "worker.2",
            "started_at": "2026-01-01T09:29:00.000Z",
            "ended_at": "2026-01-01T09:29:02.000Z",
            "outcome": "FAILED",
            "error_code": "CrmDown",
        }
        assert b"stays at home" not in sentry.posts[0]

    def test_a_traceback_arrives_as_frames(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        reporter.report(a_report())

        (raised,) = sentry.events[0]["exception"]["values"]
        assert (raised["type"], raised["module"], raised["value"]) == ("CrmDown", "crm", "no answer")
        frames = [(each["abs_path"], each["lineno"], each["function"]) for each in raised["stacktrace"]["frames"]]
        assert frames == [("/var/task/handler.py", 31, "handle"), ("/opt/python/crm.py", 8, "sync")]
        assert raised["stacktrace"]["frames"][0]["context_line"] == "sync(user)"

    def test_an_error_without_a_traceback_arrives_as_text(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        reporter.report(a_report(error="worker lost: the lease expired"))

        (event,) = sentry.events
        assert event["logentry"]["formatted"] == "worker lost: the lease expired"
        assert event["extra"]["error"] == "worker lost: the lease expired"
        assert "exception" not in event

    def test_allowed_fields_arrive_and_secrets_inside_of_them_do_not(
        self, sentry: SentryServer, reporter: SentryReporter
    ) -> None:
        secret = {"password": "hunter2hunter2"}
        fields = {"total": Decimal("1.10"), "account": {"id": 7, "keys": [secret]}, "logins": [secret]}
        reporter.report(a_report(fields=fields))

        payload = sentry.events[0]["contexts"]["payload"]
        assert payload["account"]["id"] == 7
        assert "1.10" in payload["total"]
        assert b"hunter2" not in sentry.posts[0]

    def test_nothing_of_the_process_arrives(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        before = threading.active_count()
        reporter.report(a_report())

        (event,) = sentry.events
        assert not event.get("server_name")
        assert event["sdk"]["integrations"] == []
        assert not {"modules", "breadcrumbs", "user", "request", "threads"} & event.keys()
        assert threading.active_count() <= before + 1, "only the server's own thread may be new"

    def test_copies_of_one_report_share_their_id_and_others_do_not(
        self, sentry: SentryServer, reporter: SentryReporter
    ) -> None:
        for report in (a_report(), a_report(), a_report(attempts=4), a_report(severity=Severity.WARNING)):
            reporter.report(report)

        first, copy, later, milder = (event["event_id"] for event in sentry.events)
        assert first == copy
        assert len({first, later, milder}) == 3


class TestWhatIsKnown:
    @pytest.mark.parametrize("status", [301, 400, 403, 413, 429, 500, 503])
    def test_a_report_that_is_refused_is_known_to_be(
        self, sentry: SentryServer, reporter: SentryReporter, status: int
    ) -> None:
        sentry.answer(status)

        assert not reporter.report(a_report())
        assert len(sentry.posts) == 1

    def test_a_report_that_the_sdk_drops_by_itself_is_known_to_be_lost(
        self, sentry: SentryServer, reporter: SentryReporter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sentry_sdk.client._Client.capture_event", lambda *_, **__: None)

        assert not reporter.report(a_report())

    def test_a_report_to_nobody_is_known_to_be_lost(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        sentry.down()

        assert not reporter.report(a_report())

    @pytest.mark.usefixtures("impatient")
    def test_a_sentry_that_hangs_is_not_waited_for(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        sentry.hang()

        assert not reporter.report(a_report())
        assert len(sentry.posts) == 1, "a second try would wait a second time"

    def test_a_sentry_out_of_reach_is_left_alone_for_a_while(
        self, sentry: SentryServer, reporter: SentryReporter, seconds: Seconds
    ) -> None:
        sentry.answer(503)
        reporter.report(a_report())
        sentry.answer(200)
        seconds.now += REST_SECONDS - 0.1
        assert not reporter.report(a_report())
        assert len(sentry.posts) == 1

        seconds.now += 0.2
        assert reporter.report(a_report())
        assert len(sentry.events) == 1

    def test_a_refused_report_does_not_hold_up_the_next(self, sentry: SentryServer, reporter: SentryReporter) -> None:
        sentry.answer(413)
        reporter.report(a_report())
        sentry.answer(200)

        assert reporter.report(a_report(attempts=4))

    def test_a_rate_limit_is_kept(self, sentry: SentryServer, reporter: SentryReporter, seconds: Seconds) -> None:
        sentry.answer(429, Retry_After="120")
        reporter.report(a_report())
        sentry.answer(200)
        seconds.now += REST_SECONDS + 1

        assert not reporter.report(a_report())
        assert len(sentry.posts) == 1

    def test_a_changed_dsn_counts_from_the_next_report_on(self, sentry: SentryServer) -> None:
        with SentryServer() as other:
            dsns = iter([sentry.dsn, other.dsn])
            reporter = SentryReporter(lambda: next(dsns), environment="test")
            reporter.report(a_report())
            reporter.report(a_report(attempts=4))

            assert [len(sentry.events), len(other.events)] == [1, 1]


class TestNoSentry:
    def test_without_a_dsn_nothing_is_sent_or_imported(self) -> None:
        program = (
            "import sys\n"
            "from leasehold.aws.container import reporter_of\n"
            "from leasehold.aws.sentry import SentryReporter\n"
            "from leasehold.aws.settings import Settings\n"
            "import leasehold.kernel.execute, leasehold.kernel.reap, leasehold.operate.reports\n"
            "assert not reporter_of(Settings(jobs_table='j', dead_letters_table='d'))\n"
            "assert not SentryReporter(lambda: None, environment='test').is_on\n"
            "sys.exit('sentry_sdk' in sys.modules or 'boto3' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 0

    def test_without_a_dsn_no_report_is_taken(self) -> None:
        assert not SentryReporter(lambda: None, environment="test").report(a_report())
