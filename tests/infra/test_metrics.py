"""Dashboards and alarms read what is emitted: by namespace, name, dimensions and their values."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from infra.environments import ENVIRONMENTS, environment_named
from leasehold.cdk.dashboard import OUTCOMES
from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX
from leasehold.telemetry import METRICS
from tests.infra.cloudformation import Resolver
from tests.infra.played import Series
from tests.infra.synthesised import synthesised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.infra.played import Played

pytestmark = pytest.mark.dynoxide

STAGE_NAMES = [stage.name for stage in ENVIRONMENTS]
NAMESPACE = "Leasehold/dev"


@cache
def read_by(stage: str) -> tuple[frozenset[Series], frozenset[Series]]:
    """What a stage's alarms read, and what its dashboard reads."""
    made = synthesised(stage)
    resolver = Resolver(made)
    alarms = [resolver.resolve(each["Properties"]) for each in made.of_type("AWS::CloudWatch::Alarm").values()]
    dashboards = made.of_type("AWS::CloudWatch::Dashboard").values()
    bodies = [json.loads(resolver.resolve(each["Properties"]["DashboardBody"])) for each in dashboards]
    return frozenset(map(_of_alarm, alarms)), frozenset(series for body in bodies for series in _of_dashboard(body))


def _of_alarm(properties: dict[str, Any]) -> Series:
    dimensions = sorted((each["Name"], each["Value"]) for each in properties.get("Dimensions", []))
    return Series(properties["Namespace"], properties["MetricName"], tuple(dimensions))


def _of_dashboard(body: dict[str, Any]) -> Iterator[Series]:
    for widget in body["widgets"]:
        for line in widget["properties"].get("metrics", []):
            # The last part may hold options; an expression has nothing else.
            texts = [part for part in line if isinstance(part, str)]
            if texts:
                namespace, name, *rest = texts
                yield Series(namespace, name, tuple(sorted(zip(rest[::2], rest[1::2], strict=True))))


def own(series: frozenset[Series]) -> set[Series]:
    return {each for each in series if each.namespace == NAMESPACE}


def for_any_type(series: Series) -> Series:
    """Each type's series are alike: the scenarios use two of the types, and the dashboard shows them all."""
    dimensions = tuple((name, "*" if name == "job_type" else value) for name, value in series.dimensions)
    return Series(series.namespace, series.name, dimensions)


def test_every_metric_that_is_read_is_emitted(played: Played) -> None:
    alarms, dashboard = read_by("dev")
    emitted = {for_any_type(each) for each in played.emitted}

    assert own(alarms)
    assert own(dashboard)
    assert {for_any_type(each) for each in own(alarms | dashboard)} - emitted == set()


def test_every_metric_that_is_emitted_is_on_the_dashboard(played: Played) -> None:
    _, dashboard = read_by("dev")

    assert {for_any_type(each) for each in played.emitted} - {for_any_type(each) for each in own(dashboard)} == set()
    assert {each.name for each in own(dashboard)} == {metric.name for metric in METRICS}


def test_everything_is_emitted_into_the_namespace_of_the_stage(played: Played) -> None:
    assert {each.namespace for each in played.emitted} == {NAMESPACE}


def test_every_outcome_of_a_job_is_shown_and_no_other(played: Played) -> None:
    emitted = {dict(each.dimensions)["status"] for each in played.emitted if each.name == "job_completed_total"}

    assert emitted == set(OUTCOMES)


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_every_job_type_that_is_read_is_deployed_and_the_other_way_round(stage: str) -> None:
    alarms, dashboard = read_by(stage)
    prefix = f"leasehold-{stage}-job-"
    deployed = {name.removeprefix(prefix) for name in functions_of(stage) if name.startswith(prefix)}
    for read in (alarms, dashboard) if environment_named(stage).props.get("metrics_per_type") else ():
        types = {value for each in read for name, value in each.dimensions if name == "job_type"}
        assert types == deployed


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_every_function_table_and_queue_that_is_read_is_there(stage: str) -> None:
    alarms, dashboard = read_by(stage)
    made = synthesised(stage)
    there = {
        "FunctionName": functions_of(stage),
        "TableName": {each["Properties"]["TableName"] for each in made.of_type("AWS::DynamoDB::Table").values()},
        "GlobalSecondaryIndexName": {DUE_INDEX.name, ENDED_INDEX.name},
        "QueueName": {each["Properties"]["QueueName"] for each in made.of_type("AWS::SQS::Queue").values()},
    }
    for series in (each for each in alarms | dashboard if each.namespace.startswith("AWS/")):
        assert series.dimensions
        for name, value in series.dimensions:
            assert value in there[name], series


def functions_of(stage: str) -> set[str]:
    return {each["Properties"]["FunctionName"] for each in synthesised(stage).of_type("AWS::Lambda::Function").values()}
