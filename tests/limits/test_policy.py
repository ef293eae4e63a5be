"""A policy that the deployment names: how it is found, and what it may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold import DeployedLimits, JobType, Limit, Registry
from leasehold.kernel.errors import InvalidOptionError
from leasehold.limits.policy import FunctionPolicy, load_policy
from leasehold.webhooks.model import delivery_type

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REPORT = JobType(name="report", concurrency=3)
REGISTRY = Registry(types={"report": REPORT}, concurrency=10)


def answer(*limits: object) -> tuple[Limit, ...]:
    def policy(job_type: JobType, concurrency_key: str | None, registry: Registry) -> Iterable[Limit]:
        return iter(limits)  # type: ignore[return-value]

    return FunctionPolicy(policy, "rules:policy").limits_of(REPORT, "acme", REGISTRY)


def test_it_is_found_by_its_name_and_asked_with_type_key_and_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tenant_rules.py").write_text(
        "from leasehold import Limit\n"
        "def limits_of(job_type, concurrency_key, registry):\n"
        "    scope = f'own:{job_type.name}:{concurrency_key}:{registry.concurrency}'\n"
        "    return [Limit(scope=scope, seats=2)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    limits = load_policy("tenant_rules:limits_of").limits_of(REPORT, "acme", REGISTRY)

    assert limits == (Limit(scope="own:report:acme:10", seats=2),)


def test_it_may_keep_the_limits_of_the_settings_and_add_its_own() -> None:
    deployed = DeployedLimits().limits_of(REPORT, "acme", REGISTRY)
    own = Limit(scope="own:tenant:acme", seats=1)

    assert answer(*deployed, own) == (*deployed, own)


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        (Limit(scope="tenant:acme", seats=1), r"neither its own nor in the settings.*begin with \"own:\""),
        (Limit(scope="type:report", seats=99), "neither its own nor in the settings"),
        (Limit(scope="own:a#b", seats=1), "holds no '#'"),
        (Limit(scope="own:a", seats=0), "whole number from 1 to 999"),
        ("own:a", "answered with a str.*Return leasehold.Limit objects"),
    ],
    ids=str,
)
def test_a_limit_that_cannot_be_kept_is_refused(limit: object, problem: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"(?s){problem}"):
        answer(limit)


def test_the_system_s_own_jobs_are_not_the_policy_s() -> None:
    def nothing_runs(job_type: JobType, concurrency_key: str | None, registry: Registry) -> Iterable[Limit]:
        raise AssertionError("asked about a delivery")

    assert FunctionPolicy(nothing_runs, "rules:policy").limits_of(delivery_type(), None, Registry(types={})) == ()


@pytest.mark.parametrize("name", ["", "json", "json:", ":dumps"])
def test_a_name_without_a_module_or_a_function_is_told_what_it_lacks(name: str) -> None:
    with pytest.raises(InvalidOptionError, match="is named module:function"):
        load_policy(name)


@pytest.mark.parametrize("name", ["json", "json:", "no_such_module:limits_of", "json:no_such_name", "json:__name__"])
def test_a_name_that_leads_nowhere_is_named(name: str) -> None:
    with pytest.raises(InvalidOptionError, match="concurrency policy") as refused:
        load_policy(name)
    assert name in str(refused.value)
