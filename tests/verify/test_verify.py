"""What `leasehold verify` finds and shows, where no deployment is needed for it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType
from leasehold.verify.probe import UNITS, probe
from leasehold.verify.report import PHASES, NotShown, Outcome, Report, StandIn, Wrong
from leasehold.verify.rights import recorded_calls
from leasehold.verify.site import PROBE, Site
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

AT = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)


def report_of(engine: str = "AWS") -> Report:
    return Report(queue="dev", at=AT, engine=engine)


@pytest.mark.dynoxide
def test_the_probe_costs_what_the_cost_table_says_and_removes_what_it_wrote(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    """On an engine that bills as AWS does, and as if it were AWS: a figure that differs would be wrong."""
    client = make_client(dynoxide_endpoint)
    real = RealQueue(client, types=[JobType(name=PROBE)])
    report = report_of()

    def only_dynamodb(service: str) -> Any:
        if service == "dynamodb":
            return client
        raise NotShown(f"no {service} here")

    tables = (real.names.jobs, real.names.dead_letters)
    probe(Site(real.queue, only_dynamodb, name="dev", tables=tables), report, "run1")

    assert [(each.name, each.detail) for each in report.wrong] == []
    assert [each.name for each in report.checks if each.outcome is Outcome.NOT_SHOWN] == [
        "rights by partition hold for statements"
    ]
    assert sum(UNITS.values()) == 8  # docs/cost.md: a plain job without the index of ended jobs
    left = client.scan(TableName=real.names.jobs)["Items"]
    assert [each for each in left if each["PK"]["S"].startswith("verify")] == []


def test_a_check_ends_in_one_of_four_ways_and_stops_no_other() -> None:
    report = report_of()
    for number, error in enumerate([None, Wrong("deaf"), NotShown("no right"), StandIn("ours"), KeyError("x")]):
        with report.check("probe", f"check {number}") as told:
            told.append("seen")
            if error is not None:
                raise error

    assert [str(each.outcome) for each in report.checks] == ["proven", "wrong", "not shown", "stand-in", "wrong"]
    assert [each.detail for each in report.wrong] == ["seen; deaf", "seen; KeyError: 'x'"]


@pytest.mark.parametrize(
    ("engine", "phases", "outcome", "is_proven"),
    [
        ("AWS", PHASES, None, True),
        ("the local AWS", PHASES, None, False),
        ("AWS", PHASES[:-1], None, False),
        ("AWS", PHASES, NotShown("no right"), False),
        ("AWS", PHASES, Wrong("deaf"), False),
    ],
)
def test_proven_is_all_of_it_on_aws(
    engine: str, phases: tuple[str, ...], outcome: Exception | None, is_proven: bool
) -> None:
    report = report_of(engine)
    for phase in phases:
        with report.check(phase, "a check"):
            if outcome is not None:
                raise outcome

    assert report.is_proven is is_proven


def test_what_may_be_shown_names_no_account_no_key_no_job_and_no_queue() -> None:
    report = report_of()
    with report.check("flow", "policy of leasehold-dev-poller") as told:
        told.append("arn:aws:iam::123456789012:role/x 0190a0b1-0000-7000-8000-00000000000a AKIAIOSFODNN7EXAMPLE")
        told.append("https://hooks.example.com/secret")

    report.names["leasehold-dev-poller"] = "<poller>"
    shown = json.dumps(report.redacted())

    assert json.loads(shown)["queue"] == "<queue>"
    for secret in ("123456789012", "0190a0b1", "AKIAIOS", "hooks.example.com", "leasehold-dev"):
        assert secret not in shown


def test_every_kind_of_function_has_its_recorded_calls() -> None:
    recorded = recorded_calls()

    assert set(recorded) == {"poller", "handler", "sender", "reporter", "trigger"}
    assert ("dynamodb:PartiQLUpdate", "jobs", "{job}") in recorded["poller"]
