"""docs/aws.md says when Leasehold was last proven on AWS, and never claims it without a report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from docs.generate_aws import proven

if TYPE_CHECKING:
    from pathlib import Path


def put(folder: Path, at: str, *, engine: str = "AWS", outcome: str = "proven") -> None:
    checks = [{"name": "a job now", "outcome": outcome}]
    document = {"at": f"{at}T10:00:00+00:00", "engine": engine, "proven": outcome == "proven", "checks": checks}
    (folder / f"{at}.json").write_text(json.dumps(document))


def test_without_a_report_it_was_never_proven(tmp_path: Path) -> None:
    assert proven(tmp_path).startswith("**Never proven on AWS**")


def test_a_report_of_the_local_aws_proves_nothing(tmp_path: Path) -> None:
    put(tmp_path, "2026-11-18", engine="the local AWS")

    assert proven(tmp_path).startswith("**Never proven on AWS**: nobody")


@pytest.mark.parametrize("outcome", ["wrong", "not shown", "stand-in"])
def test_a_run_that_showed_less_is_named_with_what_it_did_not_show(tmp_path: Path, outcome: str) -> None:
    put(tmp_path, "2026-11-18", outcome=outcome)

    assert proven(tmp_path) == "**Never proven on AWS**: the run of 2026-11-18 did not show a job now."


def test_the_newest_whole_run_counts(tmp_path: Path) -> None:
    put(tmp_path, "2026-11-17")
    put(tmp_path, "2026-11-18")
    put(tmp_path, "2026-11-19", outcome="wrong")

    assert proven(tmp_path).startswith("**Last proven on AWS on 2026-11-18**, by 1 checks")
