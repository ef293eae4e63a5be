"""docs/api.md says of every route who may use it, and of every status what it means."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from leasehold.admin.job_documents import job_document
from leasehold.api.answers import STATUSES
from leasehold.api.application import OPERATIONS
from leasehold.api.documents import DeadLetter
from leasehold.kernel.job import Job
from leasehold.kernel.keys import Due, JobPartition, Priority, make_job_id
from leasehold.kernel.transitions import JobStatus
from leasehold.webhooks.model import external_status
from tests.api.test_problems import all_errors, status_of_class
from tests.docs.markdown import text_of

PAGE = text_of("docs/api.md")


def test_every_route_stands_there_with_its_role_and_its_key() -> None:
    rows = re.findall(r"^\| `([A-Z]+ /[^`]+)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)

    assert {route: role for route, role, _ in rows} == {each.route: each.role.label for each in OPERATIONS}
    assert {route for route, _, said in rows if "**(key)**" in said} == {
        each.route for each in OPERATIONS if each.takes_key
    }


def test_every_status_stands_there_with_codes_that_have_it() -> None:
    rows = {
        int(status): codes for status, codes in re.findall(r"^\| (\d{3}) \| [^|]+ \| ([^|]*)\|$", PAGE, re.MULTILINE)
    }
    kinds = {kind.code: status_of_class(kind) for kind in all_errors()}

    assert set(rows) == set(STATUSES.values())
    for status, codes in rows.items():
        for name in re.findall(r"`([a-z_]+)`", re.sub(r"\(with [^)]*\)", "", codes)):
            assert kinds[name] == status, name


def test_the_states_are_mapped_as_the_code_does() -> None:
    rows = re.findall(r"^\| `(\w+)`[^|]* \| `([A-Z]+)` \|", PAGE, re.MULTILINE)

    assert dict(rows) == {str(status): external_status(status) for status in JobStatus}


def test_every_name_of_the_requirements_is_found_where_the_page_says() -> None:
    (table,) = re.findall(r"\| theirs \| document \| here \|\n\| --- \| --- \| --- \|\n((?:\|.*\|\n)+)", PAGE)
    named = {name for row in table.splitlines() for name in re.findall(r"`([a-z_.]+)`", row.split("|")[3])}
    at = datetime(2026, 11, 15, tzinfo=UTC)
    job_id = make_job_id(at, JobPartition(1), 7)
    # No job has all of it at once: one that runs and has ended shows what either of them does.
    running = Job(
        job_id=job_id,
        job_type="report",
        stored_payload="null",
        scheduled_for=at,
        status=JobStatus.IN_PROGRESS,
        priority=Priority.NORMAL,
        max_attempts=5,
        created_at=at,
        created_by="ada",
        attempts=2,
        due=Due(at, "0", job_id),
        due_lane="1#0",
        locked_by="worker",
        locked_at=at,
        lock_expires_at=at,
        started_at=at,
        last_attempt_at=at,
        last_error="Traceback\nValueError: no",
        last_error_code="ValueError",
        retry_of=job_id,
        template="nightly",
    )
    ended = replace(running, status=JobStatus.COMPLETED, completed_at=at)
    document: dict[str, Any] = {**job_document(ended), **job_document(running)}

    for name in named:
        found: Any = document
        for part in name.split("."):
            assert part in found, name
            found = found[part]


def test_a_dead_letter_has_the_names_of_the_requirements() -> None:
    (names,) = re.findall(r"A dead letter has the names of 002: (.*?)\.\n", PAGE, re.DOTALL)

    assert set(re.findall(r"`([a-z_]+)`", names)) <= {*DeadLetter.model_fields}
