"""Where a batch of statements is not taken, by this engine or for this caller: bulk inserts go one by one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError

from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.errors import StoreError
from leasehold.kernel.table import JOBS, ConditionFailed, Key, Put
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.refusal import Refusal
from tests.simulation.dynamodb.wire import connect_to
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

NAMES = TableNames(jobs="jobs", dead_letters="dead-letters")
TOO_LARGE = "x" * 500_000

type Answer = Callable[[list[Any]], list[dict[str, Any]]]


class Refusing:
    """A DynamoDB that takes single writes and refuses batches as it is told to."""

    def __init__(self, answer: Answer) -> None:
        self._database = Database(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self._answer = answer
        self.batches = 0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation != "BatchExecuteStatement":
            return self._database.call(operation, request)
        self.batches += 1
        return {"Responses": self._answer(request["Statements"])}


def each_alone(statements: list[Any]) -> list[dict[str, Any]]:
    return [{"Error": {"Code": "AccessDenied", "Message": "no PartiQLInsert"}} for _ in statements]


def all_together(statements: list[Any]) -> list[dict[str, Any]]:
    raise Refusal("AccessDeniedException", "not authorized to perform: dynamodb:PartiQLInsert")


def as_unheard_of(statements: list[Any]) -> list[dict[str, Any]]:
    raise Refusal("UnknownOperationException", "BatchExecuteStatement")


def only_the_first(statements: list[Any]) -> list[dict[str, Any]]:
    return [{"Error": {"Code": "ValidationError", "Message": "not like this"}}, *({} for _ in statements[1:])]


def table_on(engine: Refusing) -> DynamoTable:
    client = connect_to(engine.call)
    create_tables(client, NAMES)
    return DynamoTable(client, NAMES)


def put(name: str, **record: Any) -> Put:
    return Put(key=Key(JOBS, ("things", name)), record={"name": name, **record})


@pytest.mark.parametrize("answer", [each_alone, all_together, as_unheard_of])
def test_a_bulk_is_inserted_one_by_one_where_batches_are_refused_and_never_replaces(answer: Answer) -> None:
    engine = Refusing(answer)
    table = table_on(engine)
    table.write(Put(key=Key(JOBS, ("things", "1")), record={"name": "first"}))

    answers = table.insert_many([put(str(number)) for number in range(30)])

    assert [type(each) for each in answers] == [type(None), ConditionFailed, *[type(None)] * 28]
    assert [table.get(Key(JOBS, ("things", name))) for name in ("1", "29")] == [
        {"PK": "things", "SK": "1", "name": "first"},
        {"PK": "things", "SK": "29", "name": "29"},
    ]


@pytest.mark.parametrize("answer", [each_alone, all_together])
def test_who_refused_a_whole_bulk_is_not_asked_again(answer: Answer) -> None:
    engine = Refusing(answer)
    table = table_on(engine)
    table.insert_many([put("1"), put("2")])

    assert table.insert_many([put("3")]) == [None]
    assert engine.batches == 1


def test_one_refused_statement_says_nothing_about_the_others() -> None:
    engine = Refusing(only_the_first)
    table = table_on(engine)

    assert table.insert_many([put("1"), put("2")]) == [None, None]
    table.insert_many([put("3"), put("4")])

    assert engine.batches == 2
    assert table.get(Key(JOBS, ("things", "1"))) is not None


def test_what_is_refused_alone_too_is_answered_with_its_error() -> None:
    table = table_on(Refusing(only_the_first))

    refused, made = table.insert_many([put("1", data=TOO_LARGE), put("2")])

    assert isinstance(refused, StoreError)
    assert "size" in str(refused)
    assert made is None


def test_an_insert_that_was_sent_twice_says_so_also_where_batches_are_refused() -> None:
    """What is there may be of a try whose answer was lost: an enqueue that takes it for another's job writes twice."""

    class Client:
        def batch_execute_statement(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "BatchExecuteStatement")

        def put_item(self, **_: Any) -> Any:
            said: Any = {"Code": "ConditionalCheckFailedException"}
            raise ClientError({"Error": said, "ResponseMetadata": cast("Any", {"RetryAttempts": 1})}, "PutItem")

    (answer,) = DynamoTable(cast("DynamoDBClient", Client()), NAMES).insert_many([put("1")])

    assert isinstance(answer, ConditionFailed)
    assert answer.was_repeated
