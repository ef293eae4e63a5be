"""The function as Lambda calls it: real tables, the DSN in a real SSM, and a Sentry that may be down."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, NonRetryableError, Worker
from leasehold.aws import names as variables
from leasehold.functions import dead_letter_reporter as handler
from leasehold.kernel import partitions
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import Put
from leasehold.testing import FakeClock
from tests.real_queue import Inbox, RealQueue
from tests.sentry_server import SentryServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.keys import JobId

pytestmark = [pytest.mark.dynoxide, pytest.mark.ministack]

EVENTS = Path(__file__).parent.parent.parent / "events"
PARAMETER = "/leasehold/test/sentry-dsn"
SERVICE = "dead_letter_reporter"

type Log = Callable[[], list[dict[str, Any]]]


class Account(BaseModel):
    region: str = "eu-central-1"
    email: str = "ada@example.com"


class Close(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Account

    def handle(self, payload: Account) -> None:
        raise NonRetryableError(f"{payload.email} is not in {payload.region}")


class Context:
    aws_request_id = "request"
    function_name = "dead-letter-reporter"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def sentry() -> Iterator[SentryServer]:
    with SentryServer() as server:
        yield server


@pytest.fixture
def queue(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    """Tables with one job type, an hour ago: old enough for the sweep, which reads the real clock."""
    clock = FakeClock(datetime.now(UTC) - timedelta(hours=1))
    return RealQueue(make_client(dynoxide_endpoint), [JobType(name="close", reported_fields=("region",))], clock=clock)


@pytest.fixture
def deployed(queue: RealQueue, dynoxide_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynoxide_endpoint)
    monkeypatch.setenv(variables.JOBS_TABLE, queue.names.jobs)
    monkeypatch.setenv(variables.DEAD_LETTERS_TABLE, queue.names.dead_letters)
    monkeypatch.setenv(variables.ENVIRONMENT_NAME, "test")
    new_container()
    yield
    new_container()


@pytest.fixture
def with_dsn(deployed: None, sentry: SentryServer, ministack_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", ministack_endpoint)
    monkeypatch.setenv(variables.SENTRY_DSN_PARAMETER, PARAMETER)
    boto3.client("ssm").put_parameter(Name=PARAMETER, Value=sentry.dsn, Type="SecureString", Overwrite=True)


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Log:
    """The lines that the function wrote."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def new_container() -> None:
    handler._container.cache_clear()
    # Powertools would go on writing to the output of the test that first made this logger.
    logging.Logger.manager.loggerDict.pop(SERVICE, None)


def invoke(event: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(json.dumps(handler.lambda_handler(event, Context())))
    return answer


def bury(queue: RealQueue) -> JobId:
    """Let a job die as a worker would."""
    job_id = queue.queue.enqueue("close", {"region": "eu-central-1", "email": "ada@example.com"}).job_id
    inbox = Inbox()
    Poller(queue.services, inbox, worker_id="poller").poll()
    Worker(queue.services, {"close": Close}, worker_id="worker", limit_time=False).run(inbox.handovers.pop())
    return job_id


def stream(queue: RealQueue, *job_ids: JobId, name: str = "INSERT") -> dict[str, Any]:
    """What the stream delivers: the dead letters' images, with sequence numbers 1, 2, 3, …"""
    table = queue.names.dead_letters
    images = [queue.client.get_item(TableName=table, Key={"id": {"S": each}})["Item"] for each in job_ids]
    changes = [
        {"Keys": {"id": image["id"]}, "NewImage": image, "SequenceNumber": str(number)}
        for number, image in enumerate(images, 1)
    ]
    return {"Records": [{"eventName": name, "eventSource": "aws:dynamodb", "dynamodb": each} for each in changes]}


def dead_letter(queue: RealQueue, job_id: JobId) -> DeadLetter:
    found = queue.services.store.dead_letters.get(job_id)
    assert found is not None
    return found


def given_back(*sequence_numbers: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": each} for each in sequence_numbers]}


@pytest.mark.usefixtures("with_dsn")
class TestWithSentry:
    def test_a_dead_letter_reaches_sentry_as_an_error_and_is_marked(
        self, queue: RealQueue, sentry: SentryServer
    ) -> None:
        job_id = bury(queue)

        assert invoke(stream(queue, job_id)) == given_back()

        (event,) = sentry.events
        assert (event["level"], event["environment"]) == ("error", "test")
        assert event["tags"]["job_id"] == job_id
        assert event["fingerprint"] == ["leasehold", "close", "non_retryable"]
        assert event["exception"]["values"][-1]["type"] == "NonRetryableError"
        assert dead_letter(queue, job_id).reported_at is not None

    def test_payload_values_leave_only_where_the_type_allows_their_field(
        self, queue: RealQueue, sentry: SentryServer
    ) -> None:
        invoke(stream(queue, bury(queue)))

        (post,) = sentry.posts
        assert b"ada@example.com" not in post
        (event,) = sentry.events
        assert event["contexts"]["payload"] == {"region": "eu-central-1"}
        assert event["exception"]["values"][-1]["value"] == "[payload.email] is not in eu-central-1"

    def test_a_record_goes_back_while_sentry_is_down_and_is_taken_when_it_comes_again(
        self, queue: RealQueue, sentry: SentryServer
    ) -> None:
        job_id = bury(queue)
        records = stream(queue, job_id)
        sentry.down()

        for _ in range(3):
            assert invoke(records) == given_back("1")
        assert dead_letter(queue, job_id).reported_at is None

        sentry.up()
        new_container()
        assert invoke(records) == given_back()
        marked_at = dead_letter(queue, job_id).reported_at
        assert marked_at is not None

        assert invoke(records) == given_back()
        assert len(sentry.events) == 1
        assert dead_letter(queue, job_id).reported_at == marked_at

    @pytest.mark.parametrize("status", [429, 500])
    def test_a_record_that_sentry_refuses_goes_back(self, queue: RealQueue, sentry: SentryServer, status: int) -> None:
        job_id = bury(queue)
        sentry.answer(status)

        assert invoke(stream(queue, job_id)) == given_back("1")
        assert dead_letter(queue, job_id).reported_at is None

    def test_a_record_goes_back_when_sentry_hangs(
        self, queue: RealQueue, sentry: SentryServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("leasehold.aws.sentry_event.KnownOutcomeTransport.TIMEOUT", 0.2)
        first, second = bury(queue), bury(queue)
        sentry.hang()

        assert invoke(stream(queue, first, second)) == given_back("1", "2")
        assert len(sentry.posts) == 1, "the second is not waited for"

    def test_only_what_was_not_taken_goes_back(self, queue: RealQueue, sentry: SentryServer) -> None:
        first, second = bury(queue), bury(queue)
        invoke(stream(queue, first))
        sentry.answer(503)

        assert invoke(stream(queue, first, second)) == given_back("2")

    def test_changes_and_removals_of_dead_letters_are_no_news(self, queue: RealQueue, sentry: SentryServer) -> None:
        job_id = bury(queue)
        removal = {"eventName": "REMOVE", "dynamodb": {"Keys": {"id": {"S": job_id}}, "SequenceNumber": "9"}}
        stranger = {"eventName": "INSERT", "dynamodb": {"Keys": {"id": {"S": "stranger"}}, "SequenceNumber": "10"}}

        assert invoke(stream(queue, job_id, name="MODIFY")) == given_back()
        assert invoke({"Records": [removal, stranger]}) == given_back()
        assert sentry.posts == []

    def test_a_dead_letter_that_somebody_resolved_meanwhile_is_no_news(
        self, queue: RealQueue, sentry: SentryServer
    ) -> None:
        job_id = bury(queue)
        records = stream(queue, job_id)
        queue.operator.discard(job_id, reason="known")

        assert invoke(records) == given_back()
        assert sentry.posts == []

    def test_the_sample_stream_event_reports_its_dead_letters(self, queue: RealQueue, sentry: SentryServer) -> None:
        event = json.loads((EVENTS / "dead_letter_stream.json").read_text())
        inserts = [each["dynamodb"] for each in event["Records"] if each["eventName"] == "INSERT"]
        for each in inserts:
            record = from_item(each["NewImage"])
            key = partitions.dead_letter(record.pop("id"))  # type: ignore[arg-type]
            queue.services.store.table.write(Put(key=key, record=record))

        assert invoke(event) == given_back()

        reported = [each["tags"]["job_id"] for each in sentry.events]
        assert reported == [each["Keys"]["id"]["S"] for each in inserts]

    def test_the_sweep_reports_what_the_stream_lost_and_nothing_twice(
        self, queue: RealQueue, sentry: SentryServer
    ) -> None:
        told, missed = bury(queue), bury(queue)
        invoke(stream(queue, told))
        sweep = json.loads((EVENTS / "dead_letter_sweep.json").read_text())

        assert invoke(sweep) == {"seen": 1, "reported": 1, "untaken": 0}
        assert invoke(sweep) == {"seen": 0, "reported": 0, "untaken": 0}

        assert [each["tags"]["job_id"] for each in sentry.events] == [told, missed]

    def test_the_alert_and_its_metrics_go_to_the_log(self, queue: RealQueue, log: Log) -> None:
        job_id = bury(queue)
        invoke(stream(queue, job_id))

        lines = log()
        (alert,) = (line for line in lines if line.get("event") == "dead_letter_alert")
        assert alert["level"] == "ERROR"
        assert (alert["job_id"], alert["job_type"], alert["attempt_count"]) == (job_id, "close", 1)
        assert alert["failure_reason"].endswith("[payload.email] is not in [payload.region]")  # values stay home
        (metrics,) = (line for line in lines if "_aws" in line)
        assert metrics["dead_letter_depth"] == [1.0]
        assert metrics["dead_letter_oldest_age_seconds"][0] >= 3600

    def test_a_dsn_that_cannot_be_read_gives_records_back(
        self, queue: RealQueue, monkeypatch: pytest.MonkeyPatch, log: Log
    ) -> None:
        dead_letter = bury(queue)
        # Nobody listens there: SSM is out of reach, and whether a DSN is stored is not known.
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:9")

        assert invoke(stream(queue, dead_letter)) == given_back("1")
        (failed,) = (line for line in log() if line.get("event") == "report_failed")
        assert f"'{PARAMETER}'" in failed["reason"]
        assert "ssm:GetParameter" in failed["reason"]


@pytest.mark.usefixtures("deployed")
class TestWithoutSentry:
    def test_a_dead_letter_is_alerted_and_nothing_goes_back(self, queue: RealQueue, log: Log) -> None:
        job_id = bury(queue)

        assert invoke(stream(queue, job_id)) == given_back()
        assert [line["job_id"] for line in log() if line.get("event") == "dead_letter_alert"] == [job_id]

    def test_a_dsn_that_is_set_later_gets_what_happened_before(
        self, queue: RealQueue, sentry: SentryServer, request: pytest.FixtureRequest
    ) -> None:
        job_id = bury(queue)
        invoke(stream(queue, job_id))
        request.getfixturevalue("with_dsn")
        new_container()

        assert invoke({"source": "leasehold.sweep"})["reported"] == 1
        assert [each["tags"]["job_id"] for each in sentry.events] == [job_id]
