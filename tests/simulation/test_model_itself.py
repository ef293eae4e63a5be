"""What no engine on this machine shows of DynamoDB: reads of the past, streams, time to live, the cost of refusals."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.parsers import create_parser

from leasehold.kernel.table import JOBS
from tests.simulation.dynamodb.database import Change, Database
from tests.simulation.dynamodb.refusal import Refusal
from tests.simulation.dynamodb.wire import connect_to, let_go
from tests.tables import creation_request

TABLE = "jobs-table"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(clock: Clock) -> Database:
    made = Database(clock)
    made.call("CreateTable", creation_request(JOBS, TABLE))
    return made


def key(name: str) -> dict[str, Any]:
    return {"PK": {"S": name}, "SK": {"S": "job"}}


def put(database: Database, name: str, **attributes: Any) -> None:
    database.call("PutItem", {"TableName": TABLE, "Item": {**key(name), **attributes}})


def due(at: str) -> dict[str, Any]:
    return {"due_lane": {"S": "1#0"}, "due_key": {"S": at}}


def found(database: Database) -> list[str]:
    request = {
        "TableName": TABLE,
        "IndexName": "due",
        "KeyConditionExpression": "due_lane = :lane",
        "ExpressionAttributeValues": {":lane": {"S": "1#0"}},
    }
    return [f"{item['PK']['S']} {item['due_key']['S']}" for item in database.call("Query", request)["Items"]]


def test_an_index_is_read_as_it_was_some_changes_ago(database: Database) -> None:
    put(database, "a", **due("1"))
    put(database, "b", **due("2"))
    put(database, "a", **due("3"))
    database.call("DeleteItem", {"TableName": TABLE, "Key": key("b")})
    seen = []
    for lag in (0, 1, 2, 3, 4, 5, 0):
        database.index_lag = lambda lag=lag: lag
        seen.append(found(database))
    # A change of the key is two changes of the index: the old entry goes before the new one comes.
    assert seen == [["a 3"], ["b 2", "a 3"], ["b 2"], ["a 1", "b 2"], ["a 1"], [], ["a 3"]]


def test_a_table_is_read_in_the_past_only_without_consistency(database: Database) -> None:
    put(database, "a", n={"N": "1"})
    put(database, "a", n={"N": "2"})
    database.read_lag = lambda: 1
    reads = [
        database.call("GetItem", {"TableName": TABLE, "Key": key("a"), "ConsistentRead": consistent})["Item"]["n"]
        for consistent in (False, True)
    ]
    assert reads == [{"N": "1"}, {"N": "2"}]


def test_a_stream_tells_every_change_once_and_nothing_else(database: Database) -> None:
    told: list[Change] = []
    database.on_change = told.append
    put(database, "a", n={"N": "1"})
    put(database, "a", n={"N": "1.0"})
    put(database, "a", n={"N": "2"})
    database.call("DeleteItem", {"TableName": TABLE, "Key": key("a")})
    images = [(change.old and change.old["n"]["N"], change.new and change.new["n"]["N"]) for change in told]
    assert images == [(None, "1"), ("1", "2"), ("2", None)]
    assert [change.sequence for change in told] == [1, 2, 3]
    assert all(change.keys == key("a") for change in told)


def test_items_past_their_time_go_only_when_asked(database: Database, clock: Clock) -> None:
    specification = {"Enabled": True, "AttributeName": "expires_at"}
    database.call("UpdateTimeToLive", {"TableName": TABLE, "TimeToLiveSpecification": specification})
    told: list[Change] = []
    for name, seconds in (("gone", 10), ("kept", 1000)):
        put(database, name, expires_at={"N": str(int(START.timestamp()) + seconds)})
    put(database, "forever")
    database.on_change = told.append
    clock.now += timedelta(seconds=11)
    assert [database.expire(), database.expire()] == [1, 0]
    assert [(change.keys, change.expired) for change in told] == [(key("gone"), True)]


def test_a_token_is_forgotten_after_ten_minutes(database: Database, clock: Clock) -> None:
    update = {
        "TableName": TABLE,
        "Key": key("a"),
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    counts = []
    for minutes in (0, 9, 1):
        clock.now += timedelta(minutes=minutes)
        database.call("TransactWriteItems", {"TransactItems": [{"Update": update}], "ClientRequestToken": "t"})
        counts.append(database.call("GetItem", {"TableName": TABLE, "Key": key("a")})["Item"]["n"]["N"])
    assert counts == ["1", "1", "2"]


def test_a_refused_write_is_billed_and_a_transaction_twice(database: Database) -> None:
    put(database, "a", payload={"S": "x" * 2000}, **due("1"))
    assert database.units.write_units == 3
    refused = {"TableName": TABLE, "Key": key("a"), "ConditionExpression": "attribute_not_exists(PK)"}
    with pytest.raises(Refusal, match="ConditionalCheckFailedException"):
        database.call("DeleteItem", refused)
    assert database.units.write_units == 3 + 2
    database.call("TransactWriteItems", {"TransactItems": [{"Delete": {"TableName": TABLE, "Key": key("a")}}]})
    assert database.units.write_units == 3 + 2 + 2 * 3
    assert database.units.written == {(TABLE, ""): 2 + 2 + 4, (TABLE, "due"): 1 + 2}


def test_a_client_retries_as_botocore_does_and_a_next_process_has_all_of_its_retries(database: Database) -> None:
    pauses: list[float] = []
    failures = 0

    def deliver(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if failures == 0:
            return database.call(operation, request)
        raise ConnectionClosedError(endpoint_url="http://simulated")

    client = connect_to(deliver, sleep=pauses.append, random_source=lambda: 0.5)
    failures = 1
    tries = []
    for _ in range(40):
        before = len(pauses)
        with pytest.raises(ConnectionClosedError):
            client.get_item(TableName=TABLE, Key=key("a"))
        tries.append(len(pauses) - before)
    assert tries[0] == 4, "five tries, as our connection says"
    assert tries[-1] == 0, "its retries are spent"
    let_go(client)
    again = connect_to(deliver, sleep=pauses.append)
    assert again is client
    with pytest.raises(ConnectionClosedError):
        again.get_item(TableName=TABLE, Key=key("a"))
    assert len(pauses) == sum(tries) + 4
    let_go(again)


def test_answers_are_parsed_as_botocore_parses_them(database: Database) -> None:
    item = {**key("a"), "data": {"B": b"\x00\xff"}, "l": {"L": [{"BOOL": True}, {"NULL": True}]}, **due("1")}
    client: Any = connect_to(database.call)
    quick = client._endpoint._response_parser_factory
    answers: list[list[Any]] = []
    for parser in (quick, create_parser("json")):
        client._endpoint._response_parser_factory = _Always(parser)
        client.put_item(TableName=TABLE, Item=item)
        with pytest.raises(ClientError) as refused:
            client.delete_item(
                TableName=TABLE,
                Key=key("a"),
                ConditionExpression="attribute_not_exists(PK)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        answers.append(
            [
                client.get_item(TableName=TABLE, Key=key("a"), ReturnConsumedCapacity="INDEXES"),
                client.update_item(TableName=TABLE, Key=key("a"), UpdateExpression="REMOVE #d", **_DATA),
                client.scan(TableName=TABLE),
                client.describe_table(TableName=TABLE),
                refused.value.response,
            ]
        )
    client._endpoint._response_parser_factory = quick
    let_go(client)
    assert answers[0] == answers[1]
    assert answers[0][0]["Item"]["data"] == {"B": b"\x00\xff"}


_DATA = {"ExpressionAttributeNames": {"#d": "data"}, "ReturnValues": "ALL_NEW"}


class _Always:
    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def create_parser(self, _protocol: str) -> Any:
        return self._parser
