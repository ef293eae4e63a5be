"""The page about the data model leaves nothing out."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta

import pytest

from leasehold.circuit_breaker.circuits import CIRCUIT_RECORD
from leasehold.circuit_breaker.model import Circuit
from leasehold.kernel.dead_letter import DeadLetter, Resolution, dead_letter_record
from leasehold.kernel.job import (
    MAX_ARTIFACT_BYTES,
    MAX_ARTIFACTS,
    MAX_ERROR_BYTES,
    MAX_HISTORY_BYTES,
    MAX_RUNS,
    DedupRef,
    Job,
    Outcome,
    Run,
    job_record,
)
from leasehold.kernel.keys import MAX_SHARDS, Due, JobPartition, Priority, make_job_id
from leasehold.kernel.payload import MAX_DEPTH, MAX_PAYLOAD_BYTES, MAX_RESULT_BYTES
from leasehold.kernel.retry import MAX_DELAYS, Fixed
from leasehold.kernel.table import DEAD_LETTERS, JOBS, TableDefinition
from leasehold.kernel.transitions import TRANSITIONS, JobStatus
from leasehold.kernel.type_options import MAX_ATTEMPTS, MAX_KEY_BYTES
from leasehold.operate.order import MAX_POSITION_LENGTH
from leasehold.templates.model import MAX_DESCRIPTION_BYTES, Template
from leasehold.templates.records import template_record
from leasehold.webhooks.address import MAX_WEBHOOK_BYTES
from tests.docs.markdown import text_of

PAGE = text_of("docs/data-model.md")
AT = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
JOB_ID = make_job_id(AT, JobPartition(1), 7)
RUN = Run(
    number=1,
    worker="w",
    started_at=AT,
    ended_at=AT,
    outcome=Outcome.FAILED,
    error="e",
    error_code="c",
    reason="r",
    artifacts=("a",),
)
FULL_JOB = Job(
    job_id=JOB_ID,
    job_type="daily_summary",
    stored_payload="{}",
    scheduled_for=AT,
    status=JobStatus.FAILED,
    priority=Priority.HIGH,
    max_attempts=5,
    created_at=AT,
    created_by="ada",
    attempts=1,
    dispatches=1,
    due=Due(AT, "0", JOB_ID),
    due_lane="1#0",
    wake=True,
    locked_by="w",
    locked_at=AT,
    lock_expires_at=AT,
    started_at=AT,
    last_attempt_at=AT,
    completed_at=AT,
    last_error="e",
    last_error_code="c",
    result_text="{}",
    artifacts=("a",),
    runs=(RUN,),
    cancel_requested="x",
    cancel_reason="x",
    start_by=AT,
    retry_of=JOB_ID,
    dedup=DedupRef("daily_summary", "k", "2026-11-15"),
    dedup_until=AT,
    undelivered_since=AT,
    concurrency_key="k",
    seat="s",
    trace="t",
    schedule="s",
    template="t",
    retry=Fixed(timedelta(seconds=1)),
    webhook="w",
    group_id="g",
    member=1,
    owed=("groups",),
    expires_at=1,
    ended_lane="l",
    ended_key="k",
)
FULL_LETTER = DeadLetter(
    id=JOB_ID,
    original_job_id=JOB_ID,
    job_type="daily_summary",
    payload_text="{}",
    failure_reason="r",
    error_code="c",
    failed_at=AT,
    attempts=1,
    max_attempts=5,
    runs=(RUN,),
    trace="t",
    resolution=Resolution.REDRIVEN,
    resolved_by="ada",
    resolved_at=AT,
    resolved_reason="r",
    redriven_as=JOB_ID,
    reported_at=AT,
)


FULL_TEMPLATE = Template(
    name="n",
    job_type="daily_summary",
    payload_text='{"a":1}',
    priority=Priority.HIGH,
    max_attempts=5,
    retry=Fixed(timedelta(seconds=1)),
    webhook="w",
    description="d",
    created_by="ada",
    created_at=AT,
    version=2,
    audit_head="h",
)


FULL_CIRCUIT = Circuit(opened_at=AT, reason="r", probe_at=AT, wait=timedelta(minutes=1), probe=JOB_ID)


def names_in(record: object) -> set[str]:
    """Every attribute name of a record, those inside of its lists included."""
    match record:
        case dict():
            return set(record) | {name for value in record.values() for name in names_in(value)}
        case list():
            return {name for value in record for name in names_in(value)}
        case _:
            return set()


@pytest.mark.parametrize("value", [FULL_JOB, FULL_LETTER, FULL_TEMPLATE], ids=["job", "dead letter", "template"])
def test_the_samples_of_this_test_leave_no_field_at_its_default(value: Job | DeadLetter | Template) -> None:
    unset = {each.name for each in fields(value) if getattr(value, each.name) == each.default is not MISSING}

    # A payload that was read from elsewhere is not stored with its job.
    assert unset - {"read_payload"} == set()


@pytest.mark.parametrize("name", sorted(names_in(job_record(FULL_JOB))))
def test_every_attribute_of_a_job_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE.partition("## The dead-letter table")[0]


@pytest.mark.parametrize("name", sorted(names_in(dead_letter_record(FULL_LETTER))))
def test_every_attribute_of_a_dead_letter_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", sorted({*template_record(FULL_TEMPLATE), "audit_head"}))
def test_every_attribute_of_a_template_is_explained(name: str) -> None:
    section = PAGE.partition("### Templates")[2].partition("\n## ")[0]

    assert f"`{name}`" in section


@pytest.mark.parametrize("name", sorted({*CIRCUIT_RECORD.record(FULL_CIRCUIT), "since", "runs", "failures"}))
def test_every_attribute_of_a_circuit_is_explained(name: str) -> None:
    section = PAGE.partition("### Circuits")[2].partition("\n### ")[0]

    assert f"`{name}`" in section


def test_every_attribute_that_a_transition_touches_is_explained() -> None:
    touched = {name for step in TRANSITIONS for name in (*step.sets, *step.may_set, *step.removes, *dict(step.adds))}

    assert {name for name in touched if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize("table", [JOBS, DEAD_LETTERS], ids=["jobs", "dead letters"])
def test_every_key_and_index_is_named(table: TableDefinition) -> None:
    for index in table.indexes:
        for name in (*table.key, index.name, index.partition, index.sort, *index.projected):
            assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    "row",
    [
        f"payload, as JSON text | {MAX_PAYLOAD_BYTES / 1024:g} KB",
        f"result, as JSON text | {MAX_RESULT_BYTES / 1024:g} KB",
        f"nesting of a payload or result | {MAX_DEPTH} levels",
        f"dedup key, concurrency key | {MAX_KEY_BYTES} bytes",
        f"attempts | {MAX_ATTEMPTS} |",
        f"position | {MAX_POSITION_LENGTH} digits",
        f"table of retry delays | {MAX_DELAYS} |",
        f"webhook | {MAX_WEBHOOK_BYTES} bytes",
        f"description of a template | {MAX_DESCRIPTION_BYTES} bytes",
        f"the last {MAX_RUNS} runs, {MAX_HISTORY_BYTES / 1024:g} KB in all",
        f"error kept on the job, and on a run | {MAX_ERROR_BYTES / 1024:g} KB",
        f"artifacts of a run | {MAX_ARTIFACTS}, of {MAX_ARTIFACT_BYTES} bytes each",
        f"shards | {MAX_SHARDS} |",
    ],
)
def test_the_limits_are_those_of_the_code(row: str) -> None:
    assert row in PAGE
