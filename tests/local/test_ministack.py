"""What the local AWS is taught of AWS: the stream shows PartiQL, functions start in turn, failed records come again."""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import pytest
from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.ministack
PATIENCE_SECONDS = 60


@pytest.fixture
def aws(ministack_endpoint: str) -> Callable[[str], Any]:
    return lambda service: boto3.client(service, endpoint_url=ministack_endpoint)  # type: ignore[call-overload]


@pytest.fixture
def table(aws: Callable[[str], Any]) -> str:
    """The name of a table with a stream."""
    name = f"streamed-{uuid4()}"
    aws("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return name


def stream_of(aws: Callable[[str], Any], table: str) -> str:
    return str(aws("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"])


def on_the_stream(aws: Callable[[str], Any], table: str) -> list[tuple[str, Any, Any]]:
    streams, arn = aws("dynamodbstreams"), stream_of(aws, table)
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    start = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    changes = [
        (each["eventName"], each["dynamodb"])
        for each in streams.get_records(ShardIterator=start["ShardIterator"])["Records"]
    ]
    return [(name, change.get("OldImage"), change.get("NewImage")) for name, change in changes]


def function(aws: Callable[[str], Any], code: str) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("index.py", code)
    name = f"function-{uuid4()}"
    aws("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="index.handler",
        Code={"ZipFile": archive.getvalue()},
        Timeout=30,
    )
    return name


def lines_of(file: Path, at_least: int) -> list[Any]:
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        if len(lines) >= at_least or time.monotonic() > give_up_at:
            return lines
        time.sleep(0.1)


def test_what_partiql_writes_is_on_the_stream_and_what_it_refuses_is_not(aws: Callable[[str], Any], table: str) -> None:
    update = f"UPDATE \"{table}\" SET n=2 WHERE PK='a' AND n=1"
    aws("dynamodb").batch_execute_statement(
        Statements=[
            {"Statement": f"INSERT INTO \"{table}\" VALUE {{'PK': 'a', 'n': 1}}"},
            {"Statement": update},
            {"Statement": update},
            {"Statement": f"DELETE FROM \"{table}\" WHERE PK='a'"},
        ]
    )

    one, two = ({"PK": {"S": "a"}, "n": {"N": n}} for n in ("1", "2"))
    assert on_the_stream(aws, table) == [("INSERT", None, one), ("MODIFY", one, two), ("REMOVE", two, None)]


def test_a_transaction_is_on_the_stream_whole_or_not_at_all(aws: Callable[[str], Any], table: str) -> None:
    inserts = [{"Statement": f"INSERT INTO \"{table}\" VALUE {{'PK': '{name}'}}"} for name in ("a", "b")]
    refused = {"Statement": f"UPDATE \"{table}\" SET n=2 WHERE PK='absent'"}

    with pytest.raises(ClientError, match="TransactionCanceled"):
        aws("dynamodb").execute_transaction(TransactStatements=[*inserts, refused])
    assert on_the_stream(aws, table) == []

    aws("dynamodb").execute_transaction(TransactStatements=inserts)
    assert [(name, new) for name, _, new in on_the_stream(aws, table)] == [
        ("INSERT", {"PK": {"S": "a"}}),
        ("INSERT", {"PK": {"S": "b"}}),
    ]


def test_a_burst_starts_as_many_processes_at_once_as_there_are_cores_and_every_event_is_handled(
    aws: Callable[[str], Any], tmp_path: Path
) -> None:
    starts, events = tmp_path / "starts", tmp_path / "events"
    name = function(
        aws,
        f"""
import json, time
def note(file, value):
    with open(file, "a") as lines:
        lines.write(json.dumps(value) + "\\n")
began = time.time()
time.sleep(0.5)
note({str(starts)!r}, [began, time.time()])
def handler(event, context):
    note({str(events)!r}, event)
""",
    )

    for number in range(30):
        aws("lambda").invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps(number))

    assert sorted(lines_of(events, 30)) == list(range(30))
    noted = lines_of(starts, 1)
    at_once = max(sum(began <= other < ended for began, ended in noted) for other, _ in noted)
    assert at_once <= len(os.sched_getaffinity(0))
    # Whoever is free takes the next: most events start nothing.
    assert len(noted) < 15


def test_a_record_that_a_function_reports_as_failed_is_delivered_again_with_those_after_it(
    aws: Callable[[str], Any], table: str, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    name = function(
        aws,
        f"""
import json
def handler(event, context):
    names = [each["dynamodb"]["Keys"]["PK"]["S"] for each in event["Records"]]
    with open({str(seen)!r}, "a+") as lines:
        lines.seek(0)
        tries = len(lines.readlines())
        lines.write(json.dumps(names) + "\\n")
    failed = [each["dynamodb"]["SequenceNumber"] for each in event["Records"]
              if each["dynamodb"]["Keys"]["PK"]["S"] == "b" and tries < 2]
    return {{"batchItemFailures": [{{"itemIdentifier": each}} for each in failed]}}
""",
    )
    for key in ("a", "b", "c"):
        aws("dynamodb").put_item(TableName=table, Item={"PK": {"S": key}})
    aws("lambda").create_event_source_mapping(
        FunctionName=name,
        EventSourceArn=stream_of(aws, table),
        StartingPosition="TRIM_HORIZON",
        BatchSize=10,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )

    assert lines_of(seen, 3) == [["a", "b", "c"], ["b", "c"], ["b", "c"]]
