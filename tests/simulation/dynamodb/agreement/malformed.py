"""Keys, values and transactions that DynamoDB must refuse, next to some odd ones that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


class Jobs:
    """One table, few keys, and items with an attribute of each type."""

    def __init__(self, random_source: Random, table: str) -> None:
        self._random_source = random_source
        self.table = table

    def key(self) -> dict[str, Any]:
        return {
            "PK": {"S": f"p{self._random_source.randrange(2)}"},
            "SK": {"S": f"s{self._random_source.randrange(2)}"},
        }

    def addressed(self) -> dict[str, Any]:
        return {"TableName": self.table, "Key": self.key()}

    def item(self) -> dict[str, Any]:
        random_source = self._random_source
        attributes = {
            "n": {"N": random_source.choice(["2", "2.00", "-3.5", "1e2", "0"])},
            "m": {"N": "2"},
            "s": {"S": random_source.choice(["b", "bc", "", "ü"])},
            "flag": {"BOOL": random_source.random() < 0.5},
            "l": {"L": [{"S": "b"}, {"N": "2"}, {"NULL": True}]},
            "map1": {"M": {"a": {"N": "2"}, "nested": {"M": {"deep": {"N": "2"}}}}},
            "words": {"SS": ["c", "b"]},
            "numbers": {"NS": ["2", "30", "1"]},
            "due_lane": {"S": "p0"},
            "due_key": {"S": "k"},
        }
        return self.key() | dict(
            random_source.sample(sorted(attributes.items()), random_source.randrange(len(attributes) + 1))
        )


BAD_KEYS: tuple[dict[str, Any], ...] = (
    {},
    {"PK": {"S": "p"}},
    {"PK": {"S": ""}, "SK": {"S": "s"}},
    {"PK": {"N": "1"}, "SK": {"S": "s"}},
    {"PK": {"S": "p"}, "SK": {"S": "x" * 1025}},
    {"PK": {"S": "p" * 2049}, "SK": {"S": "x"}},
    {"PK": {"S": "p"}, "SK": {"S": "x" * 1024}},
    {"PK": {"S": "p"}, "SK": {"NULL": True}},
)
BAD_VALUES: tuple[Any, ...] = (
    {},
    {"N": "one"},
    {"N": ""},
    {"N": "1" * 39},
    {"N": "1e126"},
    {"N": "1e-131"},
    {"N": "0001.5000"},
    {"N": "-0"},
    {"SS": []},
    {"SS": ["a", "a"]},
    {"NS": ["1", "1.0"]},
    {"NULL": False},
    {"S": "a", "N": "1"},
    {"S": "x" * (400 * 1024)},
    {"S": ""},
    {"B": ""},
    {"L": []},
    {"M": {}},
)


def _two_of_one(jobs: Jobs) -> Any:
    key = jobs.key()
    return [{"Delete": {"TableName": jobs.table, "Key": key}}, {"Put": {"TableName": jobs.table, "Item": key}}]


def _too_many(jobs: Jobs) -> Any:
    keys = [{"PK": {"S": "many"}, "SK": {"S": str(n)}} for n in range(101)]
    return [{"Delete": {"TableName": jobs.table, "Key": key}} for key in keys]


def _two_in_one(jobs: Jobs) -> Any:
    delete = {"TableName": jobs.table, "Key": jobs.key()}
    return [{"Delete": delete, "ConditionCheck": {**delete, "ConditionExpression": "attribute_exists(PK)"}}]


def _unknown_table(jobs: Jobs) -> Any:
    return [{"Delete": {"TableName": "no-such-table", "Key": jobs.key()}}]


def _bad_expression(jobs: Jobs) -> Any:
    return [{"Delete": {**jobs.addressed(), "ConditionExpression": "n ="}}]


def _impossible_update(jobs: Jobs) -> Any:
    """Well-formed, but not for an item whose `s` is a text: a reason, not a refused request."""
    update = {**jobs.addressed(), "UpdateExpression": "ADD s :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    return [{"Update": update}, {"Put": {"TableName": jobs.table, "Item": {"PK": {"S": "other"}, "SK": {"S": "s"}}}}]


def _nothing(_jobs: Jobs) -> Any:
    return []


BAD_TRANSACTIONS: tuple[Callable[[Jobs], Any], ...] = (
    *(_two_of_one, _too_many, _two_in_one, _unknown_table, _bad_expression, _impossible_update, _nothing),
)
