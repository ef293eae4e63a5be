"""Who may do what to the tables, written out: one statement per kind of record, no wildcard action, no scan.

`dynamodb:LeadingKeys` narrows each statement to the partitions that the function works on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam

from leasehold.store.definition import BY_DATE_INDEX, DUE_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

JOB_PARTITIONS = ("job", "job#*")
DEDUP_PARTITIONS = ("scheduled-job#*",)
SCOPE_PARTITIONS = ("seat#*",)
CONTROL_PARTITIONS = ("control",)
WATCH_PARTITIONS = ("watch",)


def poller_statements(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        _on_keys(
            "WorkOnJobs",
            jobs,
            ["GetItem", "BatchGetItem", "PutItem", "UpdateItem"],
            JOB_PARTITIONS,
        ),
        _on_keys("MoveDedupRecords", jobs, ["GetItem", "PutItem", "UpdateItem"], DEDUP_PARTITIONS),
        _on_keys("WorkOnScopes", jobs, ["Query", "PutItem", "UpdateItem", "DeleteItem"], SCOPE_PARTITIONS),
        _on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        _on_keys("KeepWatch", jobs, ["GetItem", "UpdateItem", "DeleteItem"], WATCH_PARTITIONS),
        _on_index("FindDue", jobs, DUE_INDEX.name),
        _on_table("RecordDeadLetters", dead_letters, ["PutItem"]),
        _on_index("MeasureDeadLetters", dead_letters, BY_DATE_INDEX.name),
    ]


def handler_statements(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        _on_keys("EndJobs", jobs, ["GetItem", "UpdateItem"], JOB_PARTITIONS),
        _on_keys("RetireDedupRecords", jobs, ["UpdateItem"], DEDUP_PARTITIONS),
        _on_keys("FreeSeats", jobs, ["UpdateItem", "DeleteItem"], SCOPE_PARTITIONS),
        _on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        _on_table("RecordDeadLetters", dead_letters, ["PutItem"]),
    ]


def reporter_statements(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        _on_keys("ReadControl", jobs, ["GetItem"], CONTROL_PARTITIONS),
        _on_table("MarkReported", dead_letters, ["GetItem", "BatchGetItem", "UpdateItem"]),
        _on_index("FindUnreported", dead_letters, BY_DATE_INDEX.name),
    ]


def registry_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        _on_keys("WriteRegistry", jobs, ["GetItem", "PutItem"], CONTROL_PARTITIONS),
        _on_keys("WakeScopes", jobs, ["UpdateItem"], SCOPE_PARTITIONS),
    ]


def enqueue_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a program needs to enqueue, in bulk and deduplicated too; nothing that reads a payload of others."""
    return [
        _on_keys("Enqueue", jobs, ["PutItem", "UpdateItem", "GetItem", "PartiQLInsert"], JOB_PARTITIONS),
        _on_keys("Deduplicate", jobs, ["GetItem", "PutItem", "UpdateItem"], DEDUP_PARTITIONS),
        _on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
    ]


def stream_statements(table: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What Lambda needs to read a stream on a function's behalf."""
    assert table.table_stream_arn is not None
    return [
        iam.PolicyStatement(
            sid="ReadStream",
            actions=["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"],
            resources=[table.table_stream_arn],
        ),
        # ListStreams names no resource: AWS accepts nothing but `*` for it.
        iam.PolicyStatement(sid="ListStreams", actions=["dynamodb:ListStreams"], resources=["*"]),
    ]


def key_statements(key: kms.IKey) -> list[iam.PolicyStatement]:
    """What working with records under a customer key needs."""
    return [
        iam.PolicyStatement(
            sid="UseKey",
            actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
            resources=[key.key_arn],
        )
    ]


def _on_keys(
    sid: str, table: dynamodb.ITable, actions: Sequence[str], partitions: Sequence[str]
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        actions=[f"dynamodb:{action}" for action in actions],
        resources=[table.table_arn],
        conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(partitions)}},
    )


def _on_table(sid: str, table: dynamodb.ITable, actions: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid, actions=[f"dynamodb:{action}" for action in actions], resources=[table.table_arn]
    )


def _on_index(sid: str, table: dynamodb.ITable, index: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=["dynamodb:Query"], resources=[f"{table.table_arn}/index/{index}"])
