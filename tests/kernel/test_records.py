"""What a table holds of a job, a dead letter or a dedup record is all of it."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel import keys, partitions
from leasehold.kernel.dead_letter import DeadLetter, dead_letter_of, dead_letter_record
from leasehold.kernel.dedup import DedupRecord, dedup_record_of, dedup_record_record
from leasehold.kernel.dynamodb.expressions import from_item, from_value, to_item
from leasehold.kernel.job import DedupRef, Job, job_of, job_record
from leasehold.kernel.keys import JobPartition, Priority, key_of, make_job_id
from leasehold.kernel.records import encode, texts_in
from leasehold.kernel.refusals import is_as_made
from leasehold.kernel.transitions import JobStatus
from tests.strategies import JOB_FIELDS, LETTER_FIELDS, dead_letters, instants, job_ids, jobs

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def test_the_strategies_draw_every_field():
    # What was read from elsewhere is not stored with the job.
    assert set(JOB_FIELDS) == {field.name for field in fields(Job)} - {"read_payload"}
    assert set(LETTER_FIELDS) == {field.name for field in fields(DeadLetter)}


@given(jobs)
def test_every_field_of_a_job_survives_its_record_and_its_item(job):
    record = {**keys.job(job.job_id).attributes, **job_record(job)}

    assert job_of(record) == job
    assert job_of(from_item(to_item(record))) == job


@given(dead_letters)
def test_every_field_of_a_dead_letter_survives_its_record_and_its_item(dead_letter):
    record = {**partitions.dead_letter(dead_letter.id).attributes, **dead_letter_record(dead_letter)}

    assert dead_letter_of(from_item(to_item(record))) == dead_letter
    assert ("open" in record) == dead_letter.is_open


@given(job_ids, instants)
def test_a_dedup_record_points_to_its_job(job_id, until):
    ref = DedupRef("user_sync", "u1", "2026-11-15")
    record = DedupRecord(ref=ref, job_id=job_id, window_until=until)
    stored = dedup_record_record(record)

    assert dedup_record_of(ref, stored) == record
    assert keys.job(job_id).attributes == {"PK": stored["job_pk"], "SK": stored["job_sk"]}


def test_a_plain_job_stores_nothing_that_is_unset():
    job = Job(
        job_id=make_job_id(NOW, JobPartition(1), 1),
        job_type="user_sync",
        stored_payload="{}",
        scheduled_for=NOW,
        status=JobStatus.PENDING,
        priority=Priority.NORMAL,
        max_attempts=5,
        created_at=NOW,
    )

    assert set(job_record(job)) == {
        "job_id",
        "job_type",
        "payload",
        "scheduled_for",
        "status",
        "priority",
        "max_attempts",
        "created_at",
    }


@given(st.sampled_from([None, 1.5, {"a": 1}, {1}]))
def test_a_record_refuses_what_it_cannot_hold(value):
    with pytest.raises(TypeError, match="a record cannot hold"):
        encode(value)


def test_an_item_that_somebody_else_wrote_is_not_misread():
    with pytest.raises(TypeError, match="who changed this item"):
        from_value({"SS": ["x"]})


def test_what_has_to_be_text_and_is_not_is_damage_too():
    assert texts_in({"a": "x", "b": 1}, ("a",)) == ["x"]
    with pytest.raises(TypeError, match="b is no text"):
        texts_in({"a": "x", "b": 1}, ("a", "b"))


def test_runs_that_are_no_maps_are_damage_as_any_other():
    """Who reads jobs as a stream or a round shows them passes by what raises KeyError, TypeError or ValueError."""
    job_id = make_job_id(NOW, JobPartition(1), 1)
    place = dict(zip(("PK", "SK"), key_of(job_id), strict=True))
    record: dict[str, Any] = {
        **place,
        "job_type": "x",
        "status": "pending",
        "created_at": "2026-11-15T09:30:00.000Z",
        "payload": "{}",
    }
    assert job_of(record).runs == ()
    with pytest.raises(TypeError, match="a run is no map"):
        job_of({**record, "runs": ["a"]})


@given(jobs)
def test_a_job_that_was_edited_is_still_the_one_that_its_enqueue_made(job):
    """Else an enqueue whose answer was lost would make a second one: seed 2468 of the simulation."""
    edited = {**job_record(job), "payload": '{"edited":true}'}

    assert is_as_made(job, edited)
    assert not is_as_made(job, {**edited, "created_at": "2000-01-01T00:00:00.000Z"})


@given(jobs)
def test_what_is_as_it_is_by_default_is_not_stored_whichever_object_says_so(job: Job):
    by_the_system = replace(job, created_by="".join(["sys", "tem"]))

    assert "created_by" not in job_record(by_the_system)
