"""What of a report may be shown to others."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import cast

import pytest

from leasehold.verify.report import Report

SECRETS = (
    "123456789012",
    "01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d",
    "AKIAIOSFODNN7EXAMPLE",
    "https://sqs.eu-central-1.amazonaws.com/q",
)


@pytest.mark.parametrize("before", ["", " ", "\n", "\t", '"', "\\"])
@pytest.mark.parametrize("secret", SECRETS)
def test_what_only_the_owner_should_see_is_gone_wherever_it_stands_in_a_text(secret: str, before: str) -> None:
    report = Report(
        queue="shop", at=datetime(2026, 1, 1, tzinfo=UTC), engine="AWS", leftovers=[f"left:{before}{secret}"]
    )
    with report.check("flow", "a job") as told:
        told.append(f"it said:{before}{secret}")

    assert secret not in json.dumps(report.redacted())


def test_names_of_a_deployment_are_replaced_in_what_is_said_and_nowhere_else() -> None:
    report = Report(queue="name", at=datetime(2026, 1, 1, tzinfo=UTC), engine="AWS", names={"name": "<queue>"})
    with report.check("flow", "function name-poller") as told:
        told.append("name answers")

    shown = report.redacted()

    assert shown.keys() == report.document().keys()
    (check,) = cast("list[dict[str, str]]", shown["checks"])
    assert (check["name"], check["detail"]) == ("function <queue>-poller", "<queue> answers")
