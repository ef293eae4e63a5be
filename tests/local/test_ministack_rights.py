"""What the local AWS asks IAM about a call of DynamoDB: each item and each statement by itself, with its keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import leasehold.local

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(leasehold.local.__file__).parent / "ministack"
KEY = {"PK": {"S": "job#1"}, "SK": {"S": "x"}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    # It is run by its path, in an environment of its own: here by its bare name, with no ministack to ask for tables.
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    monkeypatch.delitem(sys.modules, "rights", raising=False)
    import rights  # type: ignore[import-not-found]

    monkeypatch.setattr(rights, "_hash_key", lambda table, index=None: "due_lane" if index else "PK")
    return lambda operation, call: list(rights.questions_of(operation, call))


def statement(text: str, *values: str) -> dict[str, Any]:
    return {"Statement": text, "Parameters": [{"S": value} for value in values]}


def test_a_call_names_its_partition_and_its_attributes(asked: Callable[..., list[Any]]) -> None:
    call = {
        "TableName": "jobs",
        "Key": KEY,
        "UpdateExpression": "SET #0 = if_not_exists(#1, :0), plain.inner = :1 REMOVE #2",
        "ConditionExpression": "attribute_exists(PK) AND #0 < :2",
        "ExpressionAttributeNames": {"#0": "status", "#1": "due_lane", "#2": "run"},
    }

    ((action, table, context),) = asked("UpdateItem", call)

    assert (action, table, context["dynamodb:LeadingKeys"]) == ("UpdateItem", "jobs", ["job#1"])
    assert context["dynamodb:Attributes"] == ["PK", "SK", "due_lane", "plain", "run", "status"]


def test_each_item_of_a_transaction_is_a_question_of_its_own(asked: Callable[..., list[Any]]) -> None:
    other = {**KEY, "PK": {"S": "job#2"}}
    changes = [{"Put": {"TableName": "jobs", "Item": KEY}}, {"Delete": {"TableName": "jobs", "Key": other}}]

    questions = asked("TransactWriteItems", {"TransactItems": changes})

    assert [(action, context["dynamodb:LeadingKeys"]) for action, _, context in questions] == [
        ("PutItem", ["job#1"]),
        ("DeleteItem", ["job#2"]),
    ]
    assert all(context["dynamodb:EnclosingOperation"] == ["TransactWriteItems"] for _, _, context in questions)


def test_each_statement_of_a_batch_is_a_question_of_its_own(asked: Callable[..., list[Any]]) -> None:
    statements = [
        statement("INSERT INTO \"jobs\" VALUE {'status': ?, 'PK': ?, 'SK': ?}", "pending", "job#3", "x"),
        statement('UPDATE "jobs" SET "status"=? SET "run"=? WHERE "PK"=? AND "SK"=?', "done", "r", "job#4", "x"),
    ]

    questions = asked("BatchExecuteStatement", {"Statements": statements})

    named = ("dynamodb:LeadingKeys", "dynamodb:Attributes")
    assert [(action, *(context[name] for name in named)) for action, _, context in questions] == [
        ("PartiQLInsert", ["job#3"], ["PK", "SK", "status"]),
        ("PartiQLUpdate", ["job#4"], ["PK", "SK", "run", "status"]),
    ]


def test_a_query_of_an_index_names_the_partition_of_the_index(asked: Callable[..., list[Any]]) -> None:
    call = {
        "TableName": "jobs",
        "IndexName": "due",
        "KeyConditionExpression": "#0 = :0 AND #1 < :1",
        "ExpressionAttributeNames": {"#0": "due_lane", "#1": "due_key"},
        "ExpressionAttributeValues": {":0": {"S": "0#NORMAL"}, ":1": {"S": "z"}},
    }

    assert asked("Query", call) == [("Query", "jobs/index/due", {"dynamodb:LeadingKeys": ["0#NORMAL"]})]


def test_a_partition_that_is_not_found_is_left_out_so_that_no_condition_on_it_is_met(
    asked: Callable[..., list[Any]],
) -> None:
    written_out = statement('UPDATE "jobs" SET "status"=? WHERE "PK"=\'job#1\'', "done")

    ((action, _, context),) = asked("ExecuteStatement", written_out)

    assert action == "PartiQLUpdate"
    assert "dynamodb:LeadingKeys" not in context
