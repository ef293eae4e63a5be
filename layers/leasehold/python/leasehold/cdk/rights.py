"""Who may do what to the tables, written out: one statement per kind of record, no wildcard action, no scan.

`dynamodb:LeadingKeys` narrows each statement to the partitions that the function works on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam

from leasehold.audit.keys import AUDIT_HEADS, audit_heads
from leasehold.circuit_breaker.circuits import circuit_key
from leasehold.kernel.keys import NOT_ISOLATED, SYSTEM_CODE
from leasehold.kernel.partitions import PAYLOAD, SYSTEM_PAYLOAD, id_pattern, scope_partition
from leasehold.kernel.table import BY_DATE_INDEX, DUE_INDEX
from leasehold.kernel.type_options import DELIVERY, type_scope
from leasehold.limits.model import EVERYTHING, OWN_SCOPE, group_scope, key_scope, resource_scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_lambda as lambda_

    from leasehold.cdk.context import QueueContext
    from leasehold.kernel.job_type import JobType

_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
_NAMES_OF_A_STATEMENT = 40
JOB_PARTITIONS = ("job", "job#*")
# The system's own jobs: partitions apart, so that who makes or does these needs no right to users' jobs.
SYSTEM_JOB_PARTITIONS = ("system#*",)
ALL_JOB_PARTITIONS = (*JOB_PARTITIONS, *SYSTEM_JOB_PARTITIONS)
# Payloads that do not fit into their jobs, those of the system's own jobs again apart.
PAYLOAD_PARTITIONS = (f"{PAYLOAD}#*",)
SYSTEM_PAYLOAD_PARTITIONS = (f"{SYSTEM_PAYLOAD}#*",)
ALL_PAYLOAD_PARTITIONS = (*PAYLOAD_PARTITIONS, *SYSTEM_PAYLOAD_PARTITIONS)
DEDUP_PARTITIONS = ("scheduled-job#*",)
SCOPE_PARTITIONS = ("seat#*",)
CIRCUIT_PARTITIONS = ("circuit#*",)
CONTROL_PARTITIONS = ("control",)
WATCH_PARTITIONS = ("watch",)
SCHEDULE_PARTITIONS = ("schedule",)
TEMPLATE_PARTITIONS = ("template",)
GROUP_PARTITIONS = ("group#*",)
# What a job is, as against how it gets on: who makes it says so, and who runs it may change none of it.
_MADE_WITH = (
    "job_type",
    "payload",
    "created_at",
    "created_by",
    "scheduled_for",
    "priority",
    "max_attempts",
    "retry",
    "retry_of",
    "schedule",
    "group_id",
    "member",
    "dedup_key",
    "concurrency_key",
    "webhook",
)


def poller_statements(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        on_keys(
            "WorkOnJobs",
            jobs,
            # A page of claims is one batch of PartiQL updates. It goes through old jobs once a week, for the sake of
            # their payloads.
            ["GetItem", "BatchGetItem", "PartiQLInsert", "PartiQLUpdate", "Query", "PutItem", "UpdateItem"],
            ALL_JOB_PARTITIONS,
        ),
        on_keys("KeepPayloads", jobs, ["GetItem", "PartiQLInsert", "PutItem", "UpdateItem"], ALL_PAYLOAD_PARTITIONS),
        on_keys("RetireDedupRecords", jobs, ["UpdateItem"], DEDUP_PARTITIONS),
        on_keys("WorkOnScopes", jobs, ["GetItem", "PartiQLUpdate", "Query", *_WRITES], SCOPE_PARTITIONS),
        on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        on_keys("KeepWatch", jobs, ["GetItem", "UpdateItem", "DeleteItem"], WATCH_PARTITIONS),
        on_keys("ProbeCircuits", jobs, ["GetItem", "PutItem", "UpdateItem"], CIRCUIT_PARTITIONS),
        on_keys("TendGroups", jobs, ["GetItem", "UpdateItem", "DeleteItem"], GROUP_PARTITIONS),
        on_index("FindDue", jobs, DUE_INDEX.name),
        on_table("RecordDeadLetters", dead_letters, ["PartiQLInsert"]),
        on_index("MeasureDeadLetters", dead_letters, BY_DATE_INDEX.name),
    ]


def handler_statements(
    job_type: JobType, queue: QueueContext, jobs: dynamodb.ITable, dead_letters: dynamodb.ITable
) -> list[iam.PolicyStatement]:
    """Jobs, payloads, dedup records and dead letters of its own type, and seats of its own limits."""
    code = code_of_type(job_type, queue)
    return [
        # Those of a batch are read by one request.
        on_keys("ReadJobs", jobs, ["GetItem", *(["BatchGetItem"] if job_type.batch else [])], partitions_of(code)),
        *_end_jobs("EndJobs", jobs, partitions_of(code), with_items=True),
        on_keys("ReadPayloads", jobs, ["GetItem"], [f"{PAYLOAD}#{id_pattern(code)}"]),
        on_keys("RetireDedupRecords", jobs, ["UpdateItem"], [f"scheduled-job#{job_type.name}#*"]),
        on_keys("FreeSeats", jobs, ["GetItem", "UpdateItem"], _seats_of(job_type, queue)),
        on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        *([_break_circuit(job_type, jobs)] if job_type.breaker is not None else []),
        on_keys("RecordDeadLetters", dead_letters, ["PartiQLInsert"], [id_pattern(code)]),
    ]


def sender_statements(
    queue: QueueContext, jobs: dynamodb.ITable, dead_letters: dynamodb.ITable
) -> list[iam.PolicyStatement]:
    """Deliveries only: it can neither read nor write a user's job, and learns of one what its delivery says."""
    scopes = [scope_partition(EVERYTHING)] if queue.concurrency else []
    if queue.webhook_concurrency_per_host:
        scopes.append(scope_partition(key_scope(DELIVERY, "*")))
    return [
        on_keys("ReadDeliveries", jobs, ["GetItem"], SYSTEM_JOB_PARTITIONS),
        *_end_jobs("EndDeliveries", jobs, SYSTEM_JOB_PARTITIONS),
        on_keys("ReadPayloads", jobs, ["GetItem"], SYSTEM_PAYLOAD_PARTITIONS),
        *([on_keys("FreeSeats", jobs, ["GetItem", "UpdateItem"], scopes)] if scopes else []),
        on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        on_keys("RecordDeadLetters", dead_letters, ["PartiQLInsert"], [id_pattern(SYSTEM_CODE)]),
    ]


def reporter_statements(jobs: dynamodb.ITable, dead_letters: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        on_keys("ReadControl", jobs, ["GetItem"], CONTROL_PARTITIONS),
        on_table("MarkReported", dead_letters, ["GetItem", "BatchGetItem", "UpdateItem"]),
        on_index("FindUnreported", dead_letters, BY_DATE_INDEX.name),
    ]


def schedule_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What triggering a schedule needs besides the right to insert jobs: a slot's jobs go with the schedule's move."""
    return [
        on_keys("WorkOnSchedules", jobs, ["GetItem", "PartiQLUpdate", "UpdateItem", "DeleteItem"], SCHEDULE_PARTITIONS),
        _read_templates(jobs),
    ]


def trigger_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        on_keys("MakeJobs", jobs, ["PartiQLInsert"], JOB_PARTITIONS),
        on_keys("InsertPayloads", jobs, ["PartiQLInsert"], PAYLOAD_PARTITIONS),
        on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        *schedule_statements(jobs),
    ]


def manage_schedules_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a program needs for `queue.schedules`: EventBridge is told by the poller, not by it."""
    return [
        on_keys(
            "ManageSchedules",
            jobs,
            ["GetItem", "Query", "PartiQLUpdate", "PutItem"],
            SCHEDULE_PARTITIONS,
        ),
        _insert_records(jobs, "schedule"),
        move_heads(jobs, "schedule"),
        # A run by hand inserts its jobs and moves the head in one transaction of statements.
        on_keys("MoveHeadsWithRuns", jobs, ["PartiQLUpdate"], [audit_heads("schedule")]),
        on_keys("RunByHand", jobs, ["GetItem", "PartiQLInsert"], JOB_PARTITIONS),
        on_keys("InsertPayloads", jobs, ["PartiQLInsert"], PAYLOAD_PARTITIONS),
        on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS),
        _read_templates(jobs),
    ]


def manage_templates_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a program needs for `queue.templates`; it looks whether a schedule needs one that is to go."""
    return [
        on_keys("ManageTemplates", jobs, ["GetItem", "Query", "PutItem", "DeleteItem"], TEMPLATE_PARTITIONS),
        _insert_records(jobs, "template"),
        move_heads(jobs, "template"),
        on_keys("FindUsers", jobs, ["Query"], SCHEDULE_PARTITIONS),
        on_keys("ReadControl", jobs, ["GetItem"], CONTROL_PARTITIONS),
    ]


def deployed_schedule_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a deployment needs to write its schedules, with their audit records."""
    return [
        on_keys("WriteSchedules", jobs, ["GetItem", "Query", "PutItem", "DeleteItem"], SCHEDULE_PARTITIONS),
        _insert_records(jobs, "schedule"),
        move_heads(jobs, "schedule"),
    ]


def registry_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    return [
        on_keys("WriteRegistry", jobs, ["GetItem", "PutItem"], CONTROL_PARTITIONS),
        on_keys("SampleWaiting", jobs, ["Query"], JOB_PARTITIONS),
        on_keys("WakeScopes", jobs, ["UpdateItem"], SCOPE_PARTITIONS),
    ]


def enqueue_statements(
    types: Sequence[JobType], codes: Sequence[int], jobs: dynamodb.ITable
) -> list[iam.PolicyStatement]:
    """What a program needs to enqueue, one by one and in bulk: to insert jobs of these types, and nothing else.

    An insert fails where there is an item, whatever the program says; so it can neither read nor change a job. A dedup
    key that nobody has had is taken by an insert, too.
    """
    return [
        on_keys("Enqueue", jobs, ["PartiQLInsert"], _jobs_of(codes)),
        on_keys("InsertPayloads", jobs, ["PartiQLInsert"], _payloads_of(codes)),
        *_on_dedups("TakeKeys", jobs, ["PartiQLInsert"], types),
        _read_control(jobs),
    ]


def deduplicate_statements(
    types: Sequence[JobType], codes: Sequence[int], jobs: dynamodb.ITable
) -> list[iam.PolicyStatement]:
    """What taking over, replacing, debouncing and `transact_items` need besides: puts and updates.

    It can overwrite jobs and dedup records of these types: whether it does is a matter of its own conditions.
    """
    actions = ["GetItem", "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"]
    return [
        on_keys("ReplaceJobs", jobs, actions, _jobs_of(codes)),
        on_keys("PutPayloads", jobs, ["PartiQLInsert", "PutItem"], _payloads_of(codes)),
        *_on_dedups("Deduplicate", jobs, actions, types),
        _read_control(jobs),
    ]


def create_group_statements(codes: Sequence[int], jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a program needs to make groups of jobs of these types. It can overwrite such jobs, and any group."""
    made = ["GetItem", "BatchGetItem", "PartiQLInsert", "PartiQLUpdate", "PutItem", "UpdateItem"]
    return [
        on_keys("MakeMembers", jobs, made, _jobs_of(codes)),
        on_keys("InsertPayloads", jobs, ["PartiQLInsert", "PutItem"], _payloads_of(codes)),
        on_keys("MakeGroups", jobs, ["GetItem", "PartiQLUpdate", "PutItem", "UpdateItem"], GROUP_PARTITIONS),
        on_keys("OpenGroups", jobs, ["UpdateItem"], [scope_partition(group_scope("*"))]),
        _read_control(jobs),
    ]


def read_template_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What enqueueing from templates needs besides."""
    return [_read_templates(jobs)]


def record_creation_statements(codes: Sequence[int], jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """What a program needs besides to enqueue in people's names: the record of who created a job goes with it.

    All of it is inserted, the head of the new job's trail as well: it can spoil nobody else's trail.
    """
    trails = ["audit#job#*", audit_heads("job")]
    return [
        on_keys("CreateJobs", jobs, ["PartiQLInsert"], _jobs_of(codes)),
        on_keys("BeginTrails", jobs, ["PartiQLInsert"], trails),
    ]


def run_now_statements(
    job_type: JobType, code: int, jobs: dynamodb.ITable, function: lambda_.IFunction
) -> list[iam.PolicyStatement]:
    """What a program needs to run one type directly.

    The reservation is a record of control, and IAM tells partitions apart, not records: who may reserve could also
    lift a halt. Give it to programs that you would let do that.
    """
    seats = ["Query", "UpdateItem"] if job_type.concurrency is None else ["Query", "PutItem", "UpdateItem"]
    holders = (
        [] if job_type.concurrency is None else [on_keys("FindHolders", jobs, ["BatchGetItem"], partitions_of(code))]
    )
    return [
        on_keys("Reserve", jobs, ["GetItem", "Query", "PutItem", "DeleteItem"], CONTROL_PARTITIONS),
        on_keys("TakeSeats", jobs, seats, [scope_partition(type_scope(job_type.name))]),
        *holders,
        on_index("FindRunning", jobs, DUE_INDEX.name),
        iam.PolicyStatement(sid="Call", actions=["lambda:InvokeFunction"], resources=[function.function_arn]),
    ]


def audit_root_statements(jobs: dynamodb.ITable) -> list[iam.PolicyStatement]:
    """Reads every trail and writes to none."""
    return [on_keys("ReadTrails", jobs, ["GetItem", "Query"], [f"{AUDIT_HEADS}#*", "audit#*"])]


def code_of_type(job_type: JobType, queue: QueueContext) -> int:
    return job_type.code if queue.isolate_types else NOT_ISOLATED


def _jobs_of(codes: Sequence[int]) -> list[str]:
    return [each for code in codes for each in partitions_of(code)]


def _payloads_of(codes: Sequence[int]) -> list[str]:
    return [f"{PAYLOAD}#{id_pattern(code)}" for code in codes]


def _on_dedups(
    sid: str, jobs: dynamodb.ITable, actions: Sequence[str], types: Sequence[JobType]
) -> Iterator[iam.PolicyStatement]:
    """The dedup records of these types, in several statements: one with a hundred names fits into no policy."""
    records = [f"scheduled-job#{each.name}#*" for each in types]
    for start in range(0, len(records), _NAMES_OF_A_STATEMENT):
        number = start // _NAMES_OF_A_STATEMENT
        yield on_keys(f"{sid}{number or ''}", jobs, actions, records[start : start + _NAMES_OF_A_STATEMENT])


def _read_control(jobs: dynamodb.ITable) -> iam.PolicyStatement:
    return on_keys("ReadControl", jobs, ["GetItem", "Query"], CONTROL_PARTITIONS)


def partitions_of(code: int) -> list[str]:
    """Where the jobs of a type live, on all shards."""
    return [*(["job"] if code == NOT_ISOLATED else []), f"job#{code:04x}#*"]


def _end_jobs(
    sid: str, jobs: dynamodb.ITable, partitions: Sequence[str], *, with_items: bool = False
) -> list[iam.PolicyStatement]:
    """To move jobs on, and not to make others of them; an end with its dead letter is a transaction of statements.

    So an update that creates an item makes none that is read as a job.
    """
    by_item = on_keys(sid, jobs, ["UpdateItem"], partitions)
    # An update names its key at least, so what names nothing is not one. Of statements nobody has seen that yet.
    by_item.add_condition("Null", {"dynamodb:Attributes": "false"})
    by_statement = on_keys(f"{sid}ByStatement", jobs, ["PartiQLUpdate"], partitions)
    statements = [by_item, by_statement]
    if with_items:
        # Nor of an end with a handler's own items.
        enclosed = on_keys(f"{sid}WithItems", jobs, ["UpdateItem"], partitions)
        enclosed.add_condition("StringEquals", {"dynamodb:EnclosingOperation": "TransactWriteItems"})
        statements.append(enclosed)
    for each in statements:
        each.add_condition("ForAllValues:StringNotEquals", {"dynamodb:Attributes": list(_MADE_WITH)})
    return statements


def _break_circuit(job_type: JobType, jobs: dynamodb.ITable) -> iam.PolicyStatement:
    """A handler counts its own type's runs, opens its own circuit, and closes it again: nobody else's."""
    actions = ["GetItem", "PutItem", "UpdateItem", "DeleteItem"]
    return on_keys("BreakCircuit", jobs, actions, [circuit_key(job_type.name).values[0]])


def _seats_of(job_type: JobType, queue: QueueContext) -> list[str]:
    """The scopes whose seats a job of this type gives back at its end."""
    scopes = [type_scope(job_type.name)]
    if job_type.concurrency_per_key is not None:
        scopes.append(key_scope(job_type.name, "*"))
    if queue.concurrency is not None:
        scopes.append(EVERYTHING)
    if queue.concurrency_policy is not None:
        scopes.append(f"{OWN_SCOPE}*")
    scopes += [resource_scope(name) for name in job_type.resources]
    return [scope_partition(scope) for scope in scopes]


def _insert_records(jobs: dynamodb.ITable, kind: str) -> iam.PolicyStatement:
    """Audit records are inserted, and never put."""
    return on_keys("RecordEntries", jobs, ["PartiQLInsert"], [f"audit#{kind}#*"])


def move_heads(jobs: dynamodb.ITable, *kinds: str) -> iam.PolicyStatement:
    """The head of a chain moves with every entry: those of these kinds of targets, without one those of all."""
    partitions = [audit_heads(kind) for kind in kinds] or [f"{AUDIT_HEADS}#*"]
    statements = [] if kinds else ["PartiQLInsert", "PartiQLUpdate"]
    return on_keys("MoveHeads", jobs, ["GetItem", "UpdateItem", *statements], partitions)


def _read_templates(jobs: dynamodb.ITable) -> iam.PolicyStatement:
    """One that is not there is looked for under similar names."""
    return on_keys("ReadTemplates", jobs, ["GetItem", "Query"], TEMPLATE_PARTITIONS)


def on_keys(sid: str, table: dynamodb.ITable, actions: Sequence[str], partitions: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        actions=[f"dynamodb:{action}" for action in actions],
        resources=[table.table_arn],
        conditions={
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(partitions)},
            # Of no keys at all, each is like these: a call that names none must not pass.
            "Null": {"dynamodb:LeadingKeys": "false"},
        },
    )


def on_table(sid: str, table: dynamodb.ITable, actions: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid, actions=[f"dynamodb:{action}" for action in actions], resources=[table.table_arn]
    )


def on_index(sid: str, table: dynamodb.ITable, index: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=["dynamodb:Query"], resources=[f"{table.table_arn}/index/{index}"])
