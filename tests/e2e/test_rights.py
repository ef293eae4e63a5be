"""Functions may do what their roles allow and nothing else: tried by code that runs with a deployed function's role."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.audit.keys import audit_head_key, audit_key
from leasehold.kernel import keys, partitions
from leasehold.kernel.table import Key
from leasehold.limits.scopes import seat_key
from leasehold.schedules.records import schedule_key
from leasehold.templates.records import template_key
from tests.local_stack import LOCAL_AWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS
# Stand for the names that CloudFormation has given.
JOBS_TABLE, DEAD_LETTERS_TABLE = "<the jobs>", "<the dead letters>"
USER = {"user_id": "u1", "source": {}, "target": {}}
REFUSED, DONE = "AccessDeniedException", "done"
# Whoever took over a handler calls DynamoDB as it likes, without any of Leasehold's conditions.
TAKEN_OVER = """
import boto3
from botocore.exceptions import ClientError

def handler(calls, context):
    client = boto3.client("dynamodb")
    return [attempt(getattr(client, name), arguments) for name, arguments in calls]

def attempt(call, arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "done"
"""


class Intruder:
    """Code with the role of a deployed function."""

    def __init__(self, stack: LocalStack, name: str) -> None:
        self._functions = stack.client("lambda")
        self._tables = stack.tables
        self._name = name

    def tries(self, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        text = json.dumps(calls).replace(JOBS_TABLE, self._tables.jobs_table)
        text = text.replace(DEAD_LETTERS_TABLE, self._tables.dead_letters_table)
        answer = self._functions.invoke(FunctionName=self._name, Payload=text.encode())
        said = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, said
        return list(said)


@contextmanager
def with_the_role_of(function: str, stack: LocalStack) -> Iterator[Intruder]:
    functions, name = stack.client("lambda"), f"intruder-{function}"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("index.py", TAKEN_OVER)
    role = functions.get_function_configuration(FunctionName=stack.real_name(function))["Role"]
    functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Handler="index.handler",
        Role=role,
        Timeout=30,
        Code={"ZipFile": archive.getvalue()},
    )
    try:
        yield Intruder(stack, name)
    finally:
        functions.delete_function(FunctionName=name)


def put(key: Key, table: str = JOBS_TABLE, **values: str) -> tuple[str, dict[str, Any]]:
    return "put_item", {
        "TableName": table,
        "Item": {**_key(key), **{name: {"S": text} for name, text in values.items()}},
    }


def update(key: Key, table: str = JOBS_TABLE, **values: str) -> tuple[str, dict[str, Any]]:
    names = {f"#{number}": name for number, name in enumerate(values)}
    return "update_item", {
        "TableName": table,
        "Key": _key(key),
        "UpdateExpression": "SET " + ", ".join(f"#{number} = :{number}" for number in range(len(values))),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {f":{number}": {"S": text} for number, text in enumerate(values.values())},
    }


def get(key: Key, table: str = JOBS_TABLE) -> tuple[str, dict[str, Any]]:
    return "get_item", {"TableName": table, "Key": _key(key)}


def together(*changes: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    words = {"put_item": "Put", "update_item": "Update"}
    return "transact_write_items", {"TransactItems": [{words[name]: change} for name, change in changes]}


def insert(key: Key, **values: str) -> tuple[str, dict[str, Any]]:
    item = {**_key(key), **{name: {"S": text} for name, text in values.items()}}
    names = ", ".join(f"'{name}': ?" for name in item)
    statement = {"Statement": f'INSERT INTO "{JOBS_TABLE}" VALUE {{{names}}}', "Parameters": list(item.values())}
    return "execute_transaction", {"TransactStatements": [statement]}


def _key(key: Key) -> dict[str, Any]:
    return {name: {"S": text} for name, text in zip(key.table.key, key.values, strict=True)}


def later(stack: LocalStack, job_type: str, **payload: Any) -> Key:
    at = datetime.now(UTC) + timedelta(days=1)
    return keys.job(stack.queue.enqueue(job_type, payload, run_at=at).job_id)


@pytest.fixture(scope="module")
def handler(local_stack: LocalStack) -> Iterator[Intruder]:
    with with_the_role_of("job-user_sync", local_stack) as intruder:
        yield intruder


def test_a_handler_reads_and_changes_jobs_of_its_own_type_and_of_no_other(local_stack: LocalStack, handler: Intruder):
    own, other = later(local_stack, "user_sync", **USER), later(local_stack, "backup")

    assert handler.tries(get(own), update(own, note="mine")) == [DONE, DONE]
    tried = (
        get(other),
        update(other, payload="mine"),
        put(other),
        together(update(own, note="x"), update(other, a="b")),
    )
    assert handler.tries(*tried) == [REFUSED] * 4


def test_a_handler_does_not_change_what_its_own_job_is(local_stack: LocalStack, handler: Intruder):
    own = later(local_stack, "user_sync", **USER)

    rewritten = [update(own, **{name: "mine"}) for name in ("job_type", "created_by", "payload", "webhook")]
    assert handler.tries(*rewritten, update(own, note="mine")) == [REFUSED] * 4 + [DONE]


def test_a_handler_makes_no_job_and_no_delivery(local_stack: LocalStack, handler: Intruder):
    own, other = later(local_stack, "user_sync", **USER), later(local_stack, "backup")
    delivery = Key(own.table, ("system#0", own.values[1]))

    assert handler.tries(put(own), insert(own), put(other), insert(other)) == [REFUSED] * 4
    forged = (put(delivery, payload="forged"), insert(delivery, payload="forged"), update(delivery, payload="forged"))
    assert handler.tries(*forged) == [REFUSED] * 3


def test_a_handler_puts_no_dead_letter_of_another_type(local_stack: LocalStack, handler: Intruder):
    at = datetime.now(UTC) + timedelta(days=1)
    other = local_stack.queue.enqueue("backup", {}, run_at=at).job_id

    assert handler.tries(put(partitions.dead_letter(other), DEAD_LETTERS_TABLE)) == [REFUSED]


def test_a_handler_changes_neither_control_nor_audit_nor_other_seats(local_stack: LocalStack, handler: Intruder):
    trail = audit_key("job#x", "2026-11-18T00:00:00.000000Z", "e")

    forbidden = [
        put(partitions.control("halt")),
        put(trail),
        insert(trail),
        update(audit_head_key("job#x"), hash="0"),
    ]
    forbidden += [
        update(seat_key("type:limited", 0), holder="x"),
        put(schedule_key("mine")),
        put(template_key("mine")),
    ]
    assert handler.tries(*forbidden) == [REFUSED] * len(forbidden)
    assert handler.tries(get(partitions.control("halt"))) == [DONE]


def test_a_handler_lists_nothing(local_stack: LocalStack, handler: Intruder):
    lane = {
        "TableName": JOBS_TABLE,
        "IndexName": "due",
        "KeyConditionExpression": "#0 = :0",
        "ExpressionAttributeNames": {"#0": "due_lane"},
        "ExpressionAttributeValues": {":0": {"S": "due#0"}},
    }

    assert handler.tries(("scan", {"TableName": JOBS_TABLE}), ("query", lane)) == [REFUSED] * 2


def test_the_schedule_trigger_inserts_jobs_and_reads_and_overwrites_none(local_stack: LocalStack):
    job = later(local_stack, "backup")
    fresh = Key(job.table, (job.values[0], "never-due"))

    with with_the_role_of("schedule-trigger", local_stack) as trigger:
        assert trigger.tries(insert(fresh), get(job), put(job), update(job, note="x")) == [DONE] + [REFUSED] * 3


def test_the_webhook_sender_reads_and_makes_no_job(local_stack: LocalStack):
    job = later(local_stack, "backup")

    with with_the_role_of("webhook-sender", local_stack) as sender:
        assert sender.tries(get(job), update(job, created_by="me"), put(job), insert(job)) == [REFUSED] * 4
