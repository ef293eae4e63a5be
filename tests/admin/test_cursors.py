"""Cursors come from clients: whatever they bring, a listing reads only what its own filter allows, or refuses."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold import JobStatus, Registry
from leasehold.admin.pages import MAX_LIMIT, InvalidCursorError, JobFilter, Position, decode_cursor, encode_cursor
from leasehold.admin.reading import Reader
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import to_text
from leasehold.testing import FakeClock
from tests.contract.population import TYPES
from tests.worlds import spied_queue

if TYPE_CHECKING:
    from leasehold import Queue

NOW = FakeClock().now()
WANTED = JobFilter(job_type="report", statuses=frozenset({JobStatus.COMPLETED}))


def forged(*values: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def deployed() -> tuple[Queue, Any]:
    return spied_queue(Registry(types={each.name: each for each in TYPES}))


@given(scan=st.text(max_size=40), below=st.none() | st.text(max_size=80))
def test_a_cursor_comes_back_as_it_was(scan: str, below: str | None) -> None:
    assert decode_cursor(encode_cursor(Position(scan, below), "mine"), "mine") == Position(scan, below)


@given(
    cursor=st.text(max_size=60)
    | st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode())
    | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=6).map(forged)
)
def test_what_is_no_cursor_is_refused_by_name(cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        decode_cursor(cursor, "mine")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x" * 3000,
        forged(1, "0" * 16, "3-ended:0000", None),
        forged(2, WANTED.fingerprint, "3-ended:0000", None),
        forged(1, WANTED.fingerprint, "3-ended:0000", "pause#email"),
        forged(1, WANTED.fingerprint, "3-ended:0000", "scheduled#"),
        forged(1, WANTED.fingerprint, "3-ended:0000", f"{to_text(NOW)}#\ud800"),
        forged(1, WANTED.fingerprint, "3-ended:0000", f"{to_text(NOW)}#{'ü' * 520}"),
        forged(1, WANTED.fingerprint, ["3-ended:0000"], None),
        "[" * 1000,
        forged([[]] * 200),
    ],
)
def test_a_cursor_that_points_nowhere_is_refused(cursor: str) -> None:
    queue, _ = deployed()

    with pytest.raises(InvalidCursorError):
        Reader(queue.services).jobs(WANTED, cursor=cursor)


def test_a_cursor_of_another_filter_is_refused_before_anything_is_read() -> None:
    queue, table = deployed()
    cursor = encode_cursor(Position("3-ended:0000", f"{to_text(NOW)}#x"), WANTED.fingerprint)

    with pytest.raises(InvalidCursorError, match="another listing"):
        Reader(queue.services).jobs(JobFilter(job_type="report"), cursor=cursor)
    assert table.reads == []


@given(
    scan=st.sampled_from(["", "0", "3-ended:0000", "3-ended:9999", "2-table:a0000", "control", "~"])
    | st.text(max_size=9),
    below=st.none() | st.sampled_from([f"{to_text(NOW)}#x", "9999-12-31T23:59:59.999Z#~"]),
)
def test_a_forged_cursor_reads_nothing_but_the_lanes_of_its_filter(scan: str, below: str | None) -> None:
    queue, table = deployed()

    page = Reader(queue.services).jobs(WANTED, cursor=forged(1, WANTED.fingerprint, scan, below))

    assert page.items == ()
    assert set(table.reads) <= {"control/registry", "completed#report"}


def test_a_cursor_names_no_partition() -> None:
    queue, _ = deployed()
    for n in range(3):
        queue.enqueue("report", {"n": n}, concurrency_key="tenant-1")
    cursor = Reader(queue.services).jobs(limit=1).cursor
    assert cursor is not None

    text = base64.urlsafe_b64decode(cursor + "==").decode()

    assert json.loads(text)[2] == "2-table:a0000"
    assert "tenant-1" not in text
    assert '"job"' not in text


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1, True, 1.5, "50", None])
def test_a_limit_that_is_none_is_refused(limit: Any) -> None:
    queue, table = deployed()

    with pytest.raises(InvalidOptionError):
        Reader(queue.services).jobs(limit=limit)
    assert table.reads == []
