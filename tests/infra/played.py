"""All scenarios, played once: the calls that each function made, and the metrics that they printed."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.infra.deployed_functions import DeployedFunctions
from tests.infra.scenarios import play_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.infra.iam import Call


@dataclass(frozen=True)
class Series:
    """A metric as CloudWatch tells it apart from others."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Played:
    calls: Mapping[str, set[Call]]
    emitted: frozenset[Series]


def play(client: DynamoDBClient) -> Played:
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        deployed = DeployedFunctions(client, patch)
        try:
            play_all(deployed)
        finally:
            deployed.forget()
    emitted = frozenset(series for line in printed.getvalue().splitlines() for series in _series(json.loads(line)))
    return Played(deployed.calls.by_actor, emitted)


def _series(line: dict[str, Any]) -> Iterator[Series]:
    """What CloudWatch takes from a line in its embedded metric format; a log line has none."""
    for group in line.get("_aws", {}).get("CloudWatchMetrics", []):
        for names in group["Dimensions"]:
            dimensions = tuple(sorted((name, str(line[name])) for name in names))
            yield from (Series(group["Namespace"], metric["Name"], dimensions) for metric in group["Metrics"])
