"""TransactWriteItems and ExecuteTransaction: all or nothing, and a repeat with the same token changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.dynamodb import writes
from tests.simulation.dynamodb.capacity import TABLE, read_units
from tests.simulation.dynamodb.refusal import Refusal, invalid
from tests.simulation.dynamodb.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from tests.simulation.dynamodb.capacity import Bill
    from tests.simulation.dynamodb.table import Plan, Table
    from tests.simulation.dynamodb.writes import Write

_MOST_ITEMS = 100
_LONGEST_TOKEN = 36
_REMEMBERED_FOR = timedelta(minutes=10)
_KINDS = {"Put": writes.put, "Update": writes.update, "Delete": writes.delete, "ConditionCheck": writes.check}
_CODES = {"ConditionalCheckFailedException": "ConditionalCheckFailed", "ValidationException": "ValidationError"}


class Made(NamedTuple):
    """A transaction that was made: what a repeat of it must look like, and what the repeat reads."""

    at: datetime
    items: object
    sizes: list[tuple[str, int]]


class Tokens:
    """Transactions that were made, by their token, for ten minutes."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._made: dict[str, Made] = {}

    def repeated(self, token: str | None, items: object) -> Made | None:
        if token is not None and not 0 < len(token) <= _LONGEST_TOKEN:
            raise invalid("Member must have length less than or equal to 36 and greater than or equal to 1")
        made = self._made.get(token) if token is not None else None
        if made is None or self._now() - made.at >= _REMEMBERED_FOR:
            return None
        if made.items != items:
            raise Refusal(
                "IdempotentParameterMismatchException",
                "The provided token is already in use with different request parameters",
            )
        return made

    def remember(self, token: str | None, items: object, plans: list[Plan]) -> None:
        if token is not None:
            sizes = [(plan.table.name, plan.largest) for plan in plans]
            self._made[token] = Made(self._now(), items, sizes)


def prepare(items: Any, find: Callable[[Any], Table]) -> list[Write]:
    if not isinstance(items, list) or not 0 < len(items) <= _MOST_ITEMS:
        raise invalid("Member must have length less than or equal to 100 and greater than or equal to 1")
    prepared = []
    for item in items:
        if len(item) != 1 or next(iter(item)) not in _KINDS:
            raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
        ((kind, request),) = item.items()
        prepared.append(_KINDS[kind](find(request), request))
    return _each_once(prepared)


def prepare_statements(statements: Any, find: Callable[[str], Table]) -> list[Write]:
    if not isinstance(statements, list) or not 0 < len(statements) <= _MOST_ITEMS:
        raise invalid("Member must have length less than or equal to 100 and greater than or equal to 1")
    return _each_once([Statement(each, find).write() for each in statements])


def _each_once(prepared: list[Write]) -> list[Write]:
    if len({(write.table.name, write.key) for write in prepared}) != len(prepared):
        raise invalid("Transaction request cannot include multiple operations on one item")
    return prepared


def read_again(made: Made, bill: Bill) -> None:
    """A repeat writes nothing, and pays for reading what the first one wrote."""
    for table, size in made.sizes:
        bill.read(table, TABLE, 2 * read_units(size, consistent=True))


def decide(prepared: list[Write], bill: Bill) -> list[Plan]:
    """What all of them do, or a refusal with the reason of each. Either way each is paid for twice."""
    plans: list[Plan | None] = []
    reasons: list[Mapping[str, Any]] = []
    for write in prepared:
        try:
            plans.append(write.decide())
            reasons.append({"Code": "None"})
        except Refusal as refusal:
            plans.append(None)
            reasons.append(_reason(refusal))
    made = [plan for plan in plans if plan is not None]
    if len(made) < len(prepared):
        for write in prepared:
            bill.write(write.table.name, write.units_if_refused(), factor=2)
        codes = ", ".join(reason["Code"] for reason in reasons)
        raise Refusal(
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            CancellationReasons=reasons,
        )
    for plan in made:
        bill.write(plan.table.name, plan.units, factor=2)
    return made


def _reason(refusal: Refusal) -> Mapping[str, Any]:
    if refusal.fields.get("is_duplicate"):
        return {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    return {"Code": _CODES[refusal.code], "Message": refusal.message, **refusal.fields}
