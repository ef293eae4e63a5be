"""A batch of statements whose second try is not answered: what the first one said is not forgotten."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ConnectionClosedError

from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.table import JOBS, Exists, Key, Put, Update
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.refusal import Refusal
from tests.simulation.dynamodb.wire import connect_to
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = TableNames(jobs="jobs", dead_letters="dead-letters")
THROTTLED = {"Code": "ThrottlingError", "Message": "slow down"}


class Cut:
    """A DynamoDB that throttles the last statement of a batch and then falls silent, or fails otherwise."""

    def __init__(self, *, silent_from: int, silence: Exception | None = None) -> None:
        self._database = Database(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self._silent_from = silent_from
        self._silence = silence or ConnectionClosedError(endpoint_url="https://dynamodb")
        self._batches = 0

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation != "BatchExecuteStatement":
            return self._database.call(operation, request)
        self._batches += 1
        if self._batches >= self._silent_from:
            raise self._silence
        request = {**request, "Statements": request["Statements"][:-1]}
        answer = self._database.call(operation, request)
        return {**answer, "Responses": [*answer["Responses"], {"Error": THROTTLED}]}


def table_on(cut: Cut) -> DynamoTable:
    client = connect_to(cut.call)
    create_tables(client, NAMES)
    return DynamoTable(client, NAMES)


def key(number: int) -> Key:
    return Key(JOBS, ("things", str(number)))


def inserts(table: DynamoTable) -> list[Exception | None]:
    return table.insert_many([Put(key=key(number), record={"n": number}) for number in range(5)])


def updates(table: DynamoTable) -> list[Exception | None]:
    for number in range(5):
        table.write(Put(key=key(number), record={"n": 0}))
    return table.update_many(
        [Update(key=key(number), conditions=(Exists("PK"),), sets={"n": number}) for number in range(5)]
    )


@pytest.mark.parametrize("write_many", [inserts, updates])
def test_what_was_answered_stays_known(write_many: Callable[[DynamoTable], list[Exception | None]]) -> None:
    table = table_on(Cut(silent_from=2))

    *made, last = write_many(table)

    assert made == [None] * 4
    assert isinstance(last, StoreUnavailableError)
    assert [table.get(key(number)) for number in range(4)] == [
        {"PK": "things", "SK": str(number), "n": number} for number in range(4)
    ]


def test_what_was_made_before_the_right_to_it_was_taken_away_is_not_made_again() -> None:
    table = table_on(Cut(silent_from=2, silence=Refusal("AccessDeniedException", "not authorized any more")))

    # Only the last is tried by itself: another that is there already would be taken for somebody else's.
    assert inserts(table) == [None] * 5


@pytest.mark.parametrize("write_many", [inserts, updates])
def test_a_batch_that_is_never_answered_is_raised(
    write_many: Callable[[DynamoTable], list[Exception | None]],
) -> None:
    with pytest.raises(StoreUnavailableError):
        write_many(table_on(Cut(silent_from=1)))
