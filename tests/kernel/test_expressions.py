"""Transitions, which are data, become these expressions and no others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from leasehold.kernel import partitions
from leasehold.kernel.dynamodb.expressions import insert_statement, key_condition, update_statement, write_request
from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.keys import Due, JobPartition, make_job_id, position_at
from leasehold.kernel.table import JOBS, Delete, Exists, Key, Missing, NotAfter, OneOf, Put, Update
from leasehold.kernel.transitions import CLAIM, EXTEND, RESOLVE, SETTLE, TRANSITIONS

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
JOB_ID = make_job_id(NOW, JobPartition(1), 7)
DUE = Due(NOW, position_at(NOW), JOB_ID)


def request_of(write: Write) -> tuple[str, str]:
    """The condition and the update, with names and values in the place of their placeholders."""
    request = write_request(transition(write))
    values = {name: f"'{next(iter(value.values()))}'" for name, value in request["ExpressionAttributeValues"].items()}
    words = {**request["ExpressionAttributeNames"], **values}
    return (
        re.sub(r"[#:]\d+", lambda placeholder: words[placeholder.group()], request["ConditionExpression"]),
        re.sub(r"[#:]\d+", lambda placeholder: words[placeholder.group()], request["UpdateExpression"]),
    )


def test_claim():
    write = Write(
        job_id=JOB_ID,
        transition=CLAIM,
        seen={"due_key": "as read", "now": NOW},
        values={"locked_by": "w.1", "locked_at": NOW, "lock_expires_at": NOW, "due_lane": "1#0", "due_key": DUE},
    )

    condition, update = request_of(write)

    assert condition == (
        "status IN ('failed', 'pending') AND due_key = 'as read' AND (attribute_not_exists(start_by)"
        " OR start_by > '2026-11-15T09:30:00.000Z' OR attribute_exists(last_attempt_at))"
    )
    assert update == (
        "SET locked_by = 'w.1', locked_at = '2026-11-15T09:30:00.000Z', lock_expires_at = '2026-11-15T09:30:00.000Z',"
        f" due_lane = '1#0', due_key = '{DUE.key}', status = 'in_progress' REMOVE wake ADD dispatches '1'"
    )


def test_extend_changes_no_status():
    write = Write(
        job_id=JOB_ID,
        transition=EXTEND,
        seen={"locked_by": "nonce", "now": NOW, "until": NOW + timedelta(minutes=1)},
        values={"lock_expires_at": NOW + timedelta(minutes=1), "due_key": DUE},
    )

    assert request_of(write) == (
        "status IN ('in_progress') AND locked_by = 'nonce' AND lock_expires_at > '2026-11-15T09:30:00.000Z' "
        "AND lock_expires_at <= '2026-11-15T09:31:00.000Z'",
        f"SET lock_expires_at = '2026-11-15T09:31:00.000Z', due_key = '{DUE.key}'",
    )


def test_settle_only_removes():
    write = Write(job_id=JOB_ID, transition=SETTLE, seen={"due_key": DUE})

    assert request_of(write) == (
        f"status IN ('cancelled', 'completed', 'dead_letter') AND due_key = '{DUE.key}'",
        "REMOVE due_key, due_lane, owed, wake",
    )


def test_resolve_touches_a_dead_letter_only():
    write = Write(job_id=JOB_ID, transition=RESOLVE, values={"expires_at": 1_800_000_000})

    assert request_of(write) == ("status IN ('dead_letter')", "SET expires_at = '1800000000'")


@pytest.mark.parametrize("step", TRANSITIONS, ids=lambda step: step.name)
def test_no_transition_names_a_path_twice_in_its_update(step):
    seen = {
        "due_key": DUE,
        "due_lane": "1#0",
        "locked_by": "nonce",
        "now": NOW,
        "until": NOW,
        "payload": "{}",
        "priority": 1,
    }
    seen["completed_at"] = NOW
    for provided in (step.sets, step.sets | step.may_set):
        write = Write(job_id=JOB_ID, transition=step, seen=seen, values=dict.fromkeys(provided, "x"))
        update = transition(write)
        paths = [*update.sets, *update.adds, *update.removes]

        assert len(paths) == len(set(paths))


def test_a_put_is_only_for_an_empty_place():
    request = write_request(Put(key=partitions.control("halt"), record={"by": "ada"}))

    assert request["ConditionExpression"] == "attribute_not_exists(#0)"
    assert request["ExpressionAttributeNames"] == {"#0": "PK"}
    assert request["Item"] == {"PK": {"S": "control"}, "SK": {"S": "halt"}, "by": {"S": "ada"}}
    assert "ExpressionAttributeValues" not in request


def test_a_failed_condition_brings_back_what_is_stored():
    for change in (
        Put(key=partitions.control("halt"), record={}),
        Update(key=partitions.control("halt"), conditions=(Exists("PK"),), sets={"by": "ada"}),
        Delete(key=partitions.control("halt"), conditions=(Missing("holder"),)),
    ):
        assert write_request(change)["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize(
    ("first", "last", "expression"),
    [
        (None, None, "#0 = :0"),
        ("a", "b", "#0 = :0 AND #1 BETWEEN :1 AND :2"),
        ("a", None, "#0 = :0 AND #1 >= :1"),
        (None, "b", "#0 = :0 AND #1 <= :1"),
    ],
)
def test_a_range_of_a_partition(first, last, expression):
    assert key_condition(("PK", "SK"), "job", first, last)["KeyConditionExpression"] == expression


def test_a_bulk_insert_is_a_conditional_statement_without_text_of_the_caller_in_it():
    statement = insert_statement("jobs", {"PK": "it's", "n": 1})

    assert statement["Statement"] == """INSERT INTO "jobs" VALUE {'PK': ?, 'n': ?}"""
    assert statement["Parameters"] == [{"S": "it's"}, {"N": "1"}]


def test_a_statement_says_set_and_remove_before_each_path_as_aws_documents_it():
    key = Key(JOBS, ("p", "s"))
    update = Update(
        key=key,
        conditions=(OneOf("status", ("a", "b")), Missing("count"), Exists("due_key"), NotAfter("due_key", "z")),
        sets={"status": "c", "count": 1},
        removes=frozenset({"wake", "due_lane"}),
    )

    statement = update_statement("jobs", update)

    assert statement["Statement"] == (
        'UPDATE "jobs" SET "status"=? SET "count"=? REMOVE "due_lane" REMOVE "wake" WHERE "PK"=? AND "SK"=?'
        ' AND "status" IN [?, ?] AND "count" IS MISSING AND "due_key" IS NOT MISSING AND "due_key"<=?'
    )
    assert [next(iter(each.values())) for each in statement["Parameters"]] == ["c", "1", "p", "s", "a", "b", "z"]
    # A refused statement of a batch carries no item on AWS: it is not asked for.
    assert statement.keys() == {"Statement", "Parameters"}
