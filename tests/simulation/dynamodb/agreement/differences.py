"""Where an engine is known to differ from AWS, by name and with the reason: there the model follows AWS.

Each says when it applies, and takes what differs out of both outcomes, so that everything else is still compared. A
test holds them to be as narrow as they can be: each must still show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.dynamodb.agreement.comparison import Outcome

type Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """forgive: takes what differs out of an outcome; without it, the call is not sent to the engine at all."""

    name: str
    reason: str
    applies: Callable[[str, Request, Outcome], bool]
    forgive: Callable[[Outcome], None] | None = None


def _without_capacity(outcome: Outcome) -> None:
    outcome.pop("ConsumedCapacity", None)


def _has_failed_statement(operation: str, _request: Request, ours: Outcome) -> bool:
    return operation == "BatchExecuteStatement" and any("code" in each for each in ours.get("Responses", []))


def _is_transaction(operation: str, _request: Request, ours: Outcome) -> bool:
    return operation == "TransactWriteItems" and "code" not in ours


def _table_part_only(outcome: Outcome) -> None:
    outcome["ConsumedCapacity"] = [
        (table, kind, services.get("", 0)) for table, kind, _, services in outcome.get("ConsumedCapacity", [])
    ]


def _is_upsert_that_asks_for_the_old(operation: str, request: Request, ours: Outcome) -> bool:
    return (
        operation == "UpdateItem" and request.get("ReturnValues") == "ALL_OLD" and ours.keys() <= {"ConsumedCapacity"}
    )


def _without_attributes(outcome: Outcome) -> None:
    outcome.pop("Attributes", None)


def _has_two_actions_in_one(_operation: str, request: Request, _ours: Outcome) -> bool:
    return any(len(each) > 1 for each in request.get("TransactItems", []))


def _deletes_in_a_transaction_if(text: str) -> Callable[[str, Request, Outcome], bool]:
    return lambda _operation, request, _ours: any(
        each.get("Delete", {}).get("ConditionExpression") == text for each in request.get("TransactItems", [])
    )


def _says(part: str, text: str) -> Callable[[str, Request, Outcome], bool]:
    """Refused by us, or a query: what is not sent must change nothing."""
    return lambda operation, request, ours: ("code" in ours or operation == "Query") and request.get(part) == text


DYNOXIDE = (
    Difference(
        "two actions in one item of a transaction",
        "one of them is made, where AWS refuses the request",
        _has_two_actions_in_one,
    ),
    Difference(
        "an expression in a transaction that cannot be read",
        "cancelled with a reason, where AWS refuses the request",
        _deletes_in_a_transaction_if("n ="),
    ),
    *(
        Difference(
            f"values that no comparison takes: {text}",
            "the condition just fails, where AWS refuses the request",
            _says("ConditionExpression", text),
        )
        for text in ("attribute_type(n, :text)", "n > :flag")
    ),
    Difference(
        "a sort key before the partition key",
        "refused; AWS takes the conditions of a key in any order",
        _says("KeyConditionExpression", "SK = :s AND PK = :p"),
    ),
    *(
        Difference(
            f"keys of another type or without text in a query: {text}",
            "nothing is found, where AWS refuses the request",
            _says("KeyConditionExpression", text),
        )
        for text in ("PK = :n", "PK = :empty")
    ),
    *(
        Difference(
            f"inside what is not there: {text}",
            "taken; AWS says that the document path is invalid for update",
            _says("UpdateExpression", text),
        )
        for text in ("REMOVE l[0]", "REMOVE l[1], l[0]")
    ),
    Difference(
        "old image of an item that was not there",
        "an update that creates its item answers ALL_OLD with the key; on AWS there was nothing before it",
        _is_upsert_that_asks_for_the_old,
        _without_attributes,
    ),
    Difference(
        "units of a batch with failed statements",
        "the total has the failed statements, the table's part has not; AWS bills a refused write",
        _has_failed_statement,
        _without_capacity,
    ),
    Difference(
        "index units of a transaction",
        "only the table's part of a transaction is doubled; AWS doubles the indexes' part too",
        _is_transaction,
        _table_part_only,
    ),
)

MINISTACK = (
    Difference(
        "a filter on an index",
        "sees attributes that are not projected into the index",
        lambda operation, request, _ours: operation == "Query" and {"IndexName", "FilterExpression"} <= request.keys(),
    ),
    Difference("units", "capacity is a rough guess, or not answered", lambda *_: True, _without_capacity),
)
