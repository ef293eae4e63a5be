"""The history of runs is append-only and bounded."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.job import (
    MAX_ARTIFACT_BYTES,
    MAX_ARTIFACTS,
    MAX_HISTORY_BYTES,
    MAX_RUN_ERROR_BYTES,
    MAX_RUNS,
    Outcome,
    Run,
    appended,
    next_number,
    run_error,
)
from leasehold.kernel.keys import JobPartition, make_job_id

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


def a_run(number: int, *, error: str | None = None, artifacts: tuple[str, ...] = ()) -> Run:
    return Run(
        number=number,
        worker="w",
        started_at=NOW,
        ended_at=NOW,
        outcome=Outcome.FAILED,
        error=error,
        artifacts=artifacts,
    )


def history(count: int, **fields: object) -> tuple[Run, ...]:
    runs: tuple[Run, ...] = ()
    for _ in range(count):
        runs = appended(runs, a_run(next_number(runs), **fields))  # type: ignore[arg-type]
    return runs


@given(st.integers(0, 60))
def test_the_oldest_run_goes_first_and_numbers_go_on(count):
    runs = history(count)

    assert [run.number for run in runs] == list(range(max(1, count - MAX_RUNS + 1), count + 1))
    assert next_number(runs) == count + 1


def test_large_runs_leave_room_for_fewer():
    artifact = "x" * MAX_ARTIFACT_BYTES
    runs = history(30, error="x" * MAX_RUN_ERROR_BYTES, artifacts=(artifact,) * MAX_ARTIFACTS)

    assert 5 <= len(runs) < MAX_RUNS
    assert sum(run.size for run in runs) <= MAX_HISTORY_BYTES
    assert runs[-1].number == 30


def test_the_newest_run_is_kept_whatever_its_size():
    assert len(appended(history(3), a_run(4, error="x" * MAX_HISTORY_BYTES))) == 1


def test_a_run_is_named_after_its_job():
    job_id = make_job_id(NOW, JobPartition(1), 7)

    assert a_run(3).run_id(job_id) == f"{job_id}.3"


def test_a_run_keeps_the_end_of_its_error():
    kept = run_error("at the top\n" + "x" * 2000 + "\nValueError: the point")

    assert kept is not None
    assert kept.endswith("ValueError: the point")
    assert len(kept.encode()) <= MAX_RUN_ERROR_BYTES
    assert run_error(None) is None
