"""What the HTTP API, the direct runner, and programs that read or operate may do, by partition, and no scan.

Audit records are inserted and read, never changed or deleted: no statement here says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.audit.keys import AUDIT_HEADS
from leasehold.cdk.rights import (
    ALL_JOB_PARTITIONS,
    ALL_PAYLOAD_PARTITIONS,
    CIRCUIT_PARTITIONS,
    CONTROL_PARTITIONS,
    DEDUP_PARTITIONS,
    SCHEDULE_PARTITIONS,
    SCOPE_PARTITIONS,
    TEMPLATE_PARTITIONS,
    move_heads,
    on_index,
    on_keys,
    on_table,
)
from leasehold.direct_runs.records import DIRECT_RUN
from leasehold.groups.records import GROUP
from leasehold.kernel.partitions import REQUEST
from leasehold.kernel.table import BY_DATE_INDEX, BY_TYPE_INDEX, DUE_INDEX, ENDED_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_iam as iam


AUDIT_PARTITIONS = ("audit#*",)
GROUP_PARTITIONS = (f"{GROUP}#*",)
REQUEST_PARTITIONS = (f"{REQUEST}#*",)
DIRECT_RUN_PARTITIONS = (f"{DIRECT_RUN}#*",)


def read_statements(
    jobs: dynamodb.ITable, dead_letters: dynamodb.ITable, *, ended_index: bool
) -> list[iam.PolicyStatement]:
    """What a program needs to look at everything, payloads and the audit included, and to change nothing."""
    records = (
        *ALL_JOB_PARTITIONS,
        *ALL_PAYLOAD_PARTITIONS,
        *DEDUP_PARTITIONS,
        *GROUP_PARTITIONS,
        *SCHEDULE_PARTITIONS,
        *TEMPLATE_PARTITIONS,
        *CONTROL_PARTITIONS,
        *CIRCUIT_PARTITIONS,
        *SCOPE_PARTITIONS,
        *DIRECT_RUN_PARTITIONS,
        *AUDIT_PARTITIONS,
        f"{AUDIT_HEADS}#*",
    )
    return [
        on_keys("ReadRecords", jobs, ["GetItem", "BatchGetItem", "Query"], records),
        on_table("ReadDeadLetters", dead_letters, ["GetItem", "BatchGetItem"]),
        *_listing(jobs, dead_letters, ended_index=ended_index),
    ]


def operate_statements(
    jobs: dynamodb.ITable, dead_letters: dynamodb.ITable, *, ended_index: bool
) -> list[iam.PolicyStatement]:
    """What a program needs to act as an operator does: each action is one transaction with its audit entry."""
    return [
        *_acting(jobs, dead_letters, ended_index=ended_index),
        # To edit a job; the API has no such route.
        on_keys("EditPayloads", jobs, ["PutItem"], ALL_PAYLOAD_PARTITIONS),
    ]


def _acting(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable, *, ended_index: bool) -> list[iam.PolicyStatement]:
    reads = ["GetItem", "BatchGetItem", "Query"]
    return [
        # What only inserts and updates is a transaction of statements; what deletes or replaces, one of puts.
        on_keys(
            "ActOnJobs", jobs, [*reads, "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"], ALL_JOB_PARTITIONS
        ),
        on_keys(
            "WorkOnPayloads",
            jobs,
            ["GetItem", "Query", "PartiQLInsert", "DeleteItem"],
            ALL_PAYLOAD_PARTITIONS,
        ),
        on_keys(
            "Deduplicate", jobs, [*reads, "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"], DEDUP_PARTITIONS
        ),
        on_keys(
            "ActOnGroups",
            jobs,
            ["GetItem", "BatchGetItem", "PartiQLUpdate", "PutItem", "UpdateItem", "DeleteItem"],
            GROUP_PARTITIONS,
        ),
        on_keys(
            "ManageSchedules",
            jobs,
            ["GetItem", "Query", "PartiQLUpdate", "PutItem"],
            SCHEDULE_PARTITIONS,
        ),
        on_keys("ManageTemplates", jobs, ["GetItem", "Query", "PutItem", "DeleteItem"], TEMPLATE_PARTITIONS),
        on_keys("Switch", jobs, ["GetItem", "Query", "PartiQLInsert", "PutItem", "DeleteItem"], CONTROL_PARTITIONS),
        on_keys("CloseCircuits", jobs, ["GetItem", "DeleteItem"], CIRCUIT_PARTITIONS),
        on_keys("WorkOnScopes", jobs, ["GetItem", "Query", "UpdateItem"], SCOPE_PARTITIONS),
        on_keys("RecordEntries", jobs, [*reads, "PartiQLInsert"], AUDIT_PARTITIONS),
        move_heads(jobs),
        on_table("ResolveDeadLetters", dead_letters, ["GetItem", "BatchGetItem", "UpdateItem"]),
        *_listing(jobs, dead_letters, ended_index=ended_index),
    ]


def api_statements(
    jobs: dynamodb.ITable, dead_letters: dynamodb.ITable, *, ended_index: bool
) -> list[iam.PolicyStatement]:
    """An operator's, and what the API keeps for itself: its callers have the roles that it gives them."""
    return [
        *_acting(jobs, dead_letters, ended_index=ended_index),
        on_keys("KeepKeys", jobs, ["GetItem", "PutItem", "UpdateItem"], REQUEST_PARTITIONS),
        on_keys("AcceptDirectRuns", jobs, ["GetItem", "PutItem"], DIRECT_RUN_PARTITIONS),
    ]


def _listing(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable, *, ended_index: bool) -> list[iam.PolicyStatement]:
    return [
        on_index("ListLive", jobs, DUE_INDEX.name),
        *([on_index("ListEnded", jobs, ENDED_INDEX.name)] if ended_index else []),
        on_index("ListLetters", dead_letters, BY_DATE_INDEX.name),
        on_index("ListLettersOfType", dead_letters, BY_TYPE_INDEX.name),
    ]


def direct_runner_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """Reservations are records of control: see `run_now_statements`."""
    return [
        on_keys("DoDirectRuns", jobs, ["GetItem", "UpdateItem"], DIRECT_RUN_PARTITIONS),
        on_keys("Reserve", jobs, ["GetItem", "Query", "PutItem", "DeleteItem"], CONTROL_PARTITIONS),
        on_keys("FindHolders", jobs, ["BatchGetItem"], ALL_JOB_PARTITIONS),
        on_index("FindRunning", jobs, DUE_INDEX.name),
    ]


def take_seats(scopes: Sequence[str], jobs: dynamodb.ITable) -> iam.PolicyStatement:
    return on_keys("TakeSeats", jobs, ["Query", "PutItem", "UpdateItem"], scopes)
