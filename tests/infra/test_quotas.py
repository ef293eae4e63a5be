"""A deployment stays below AWS's quotas, however many job types and whichever settings, with all grants on one role."""

from __future__ import annotations

import json
import random
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_

from leasehold.cdk.layers import LIBRARY, NOT_FOR_LAMBDA
from tests.infra.quotas import QUOTAS, exceeded
from tests.infra.settings_table import SETTINGS, queue_with
from tests.infra.test_changes import DEEP

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.cdk import JobQueue

# What makes templates larger; the others change values only.
VARIED = (
    *("encryption_key", "vpc", "metrics_per_type", "api", "webhooks", "lifecycle_events", "sentry_dsn", "concurrency"),
    *("wake_by_stream", "alarms", "audit_roots", "isolate_types", "nested_stacks", "environment"),
)


def pairwise(seed: int = 1) -> list[dict[str, bool]]:
    """Few rows in which each two settings meet with each two of their values."""
    chosen, rows = random.Random(seed), []
    missing = {(a, x, b, y) for a, b in combinations(VARIED, 2) for x, y in product((False, True), repeat=2)}
    while missing:
        tries = [{name: chosen.random() < 0.5 for name in VARIED} for _ in range(60)]
        best = max(tries, key=lambda row: len(missing & pairs_of(row)))
        if missing & pairs_of(best):
            rows.append(best)
            missing -= pairs_of(best)
    return rows


def pairs_of(row: dict[str, bool]) -> set[tuple[str, bool, str, bool]]:
    return {(a, row[a], b, row[b]) for a, b in combinations(VARIED, 2)}


ROWS = pairwise()
EVERYTHING = dict.fromkeys([*VARIED, "resources", "poll_interval"], True) | {
    "wake_by_stream": False,
    "alarms": False,
    "audit_roots": False,
    "isolate_types": False,
}


def grant_everything(queue: JobQueue) -> None:
    """To one function of the app, as a small application does."""
    code = lambda_.Code.from_inline("def handler(event, context): ...")
    runtime = lambda_.Runtime.PYTHON_3_13
    program = lambda_.Function(Stack.of(queue), "Web", runtime=runtime, handler="index.handler", code=code)
    types = queue.job_types
    by_type = (queue.grant_enqueue, queue.grant_deduplicate, queue.grant_create_groups, queue.grant_record_creation)
    for grant in by_type:
        grant(program, *types).assert_success()
    for plain in (
        *(queue.grant_read_templates, queue.grant_manage_schedules, queue.grant_manage_templates),
        *(queue.grant_read, queue.grant_operate, queue.grant_discover),
    ):
        plain(program).assert_success()
    for each in types[:5]:
        queue.grant_run_now(program, each).assert_success()


def templates_of(settings: dict[str, bool], types: int, folder: Path) -> list[dict[str, Any]]:
    app, queue = queue_with(settings, types=types, outdir=folder, dashboard=settings["metrics_per_type"])
    grant_everything(queue)
    app.synth()
    return [json.loads(each.read_text()) for each in folder.glob("*.template.json")]


def check(settings: dict[str, bool], types: int, folder: Path) -> None:
    for template in templates_of(settings, types, folder):
        assert exceeded(template) == {}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_any_two_settings_keep_them(row: dict[str, bool], tmp_path: Path) -> None:
    check(row, 1, tmp_path)


# As many as one stack without nested ones takes.
@pytest.mark.deep
def test_24_types_with_everything_keep_them(tmp_path: Path) -> None:
    check({**EVERYTHING, "nested_stacks": False}, 24, tmp_path)


def test_100_types_with_everything_keep_them(tmp_path: Path) -> None:
    check(EVERYTHING, 100, tmp_path)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("types", [24, 50, 100])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_any_two_settings_keep_them_with_many_types(row: dict[str, bool], types: int, tmp_path: Path) -> None:
    # With more than 30 types nested stacks are no choice.
    check({**row, "nested_stacks": row["nested_stacks"] and types > 30}, types, tmp_path)


def test_the_library_leaves_room_in_the_250_mb_of_a_function() -> None:
    files = [each for each in LIBRARY.rglob("*.py") if each.relative_to(LIBRARY).parts[0] not in NOT_FOR_LAMBDA]

    assert sum(each.stat().st_size for each in files) < 2_000_000


def test_there_are_at_most_40_syntheses_here() -> None:
    """Those of test_changes.py included: one for each setting, one for the defaults."""
    assert len(ROWS) + 2 + len(SETTINGS) - len(DEEP) + 1 <= 40


def test_a_template_that_breaks_a_quota_is_noticed() -> None:
    resources = {f"R{number}": {"Type": "AWS::X", "Properties": {}} for number in range(501)}
    twice = {"PolicyDocument": {"Statement": [{"Sid": "A"}, {"Sid": "A"}]}, "Roles": ["r"]}

    assert exceeded({"Resources": resources}) == {"resources of a stack": (501, 500)}
    assert exceeded({"Resources": {"P": {"Type": "AWS::IAM::Policy", "Properties": twice}}}) == {
        "statements of a policy with one id": (2, 1)
    }
    assert len({each.name for each in QUOTAS}) == len(QUOTAS)
