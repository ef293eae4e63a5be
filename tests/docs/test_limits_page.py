"""docs/limits.md says what the code does."""

from __future__ import annotations

import inspect
from typing import Any

from leasehold import JobType, Limit, Poller, Registry
from leasehold.cdk import JobQueue
from leasehold.job_folders.features import Limits
from leasehold.kernel.poll import PollSettings
from leasehold.kernel.type_options import MAX_SEATS, OnFull
from leasehold.limits.policy import FunctionPolicy
from leasehold.testing import LeaseholdTest
from tests.docs.markdown import code_blocks, text_of

PAGE = "docs/limits.md"


def test_its_settings_are_those_of_a_job_toml() -> None:
    assert [name for name in Limits.model_fields if f"`{name}" not in text_of(PAGE)] == []


def test_it_names_every_choice_for_a_full_limit_and_the_largest_one() -> None:
    page = text_of(PAGE)

    assert [each for each in OnFull if f"- `{each}`" not in page] == []
    assert f"up to {MAX_SEATS}" in page


def test_the_share_of_the_lowest_priority_is_the_stated_one() -> None:
    assert "Every fifth look" in text_of(PAGE)
    assert PollSettings().lower_share == 1 / 5


def test_its_examples_run() -> None:
    enqueue, settings, policy = code_blocks(PAGE, "python")
    test = LeaseholdTest(types=[JobType(name="user_sync", concurrency_per_key=1)])
    shown: dict[str, Any] = {"queue": test.queue}

    exec(enqueue, shown)
    exec(policy, shown)
    named: dict[str, str] = {}
    exec(settings, {"JobQueue": lambda *_, **props: named.update(props), "stack": None})

    assert [job.concurrency_key for job in test.jobs()] == ["tenant-1"]
    assert named == {
        "entry": "jobs",
        "concurrency_policy": "tenants:one_of_a_tenant",
        "policy_folder": "policies",
    }
    assert named.keys() <= inspect.signature(JobQueue.__init__).parameters.keys()
    own = FunctionPolicy(shown["one_of_a_tenant"], named["concurrency_policy"])
    plain = JobType(name="plain")
    assert own.limits_of(plain, "t", Registry(types={"plain": plain})) == (Limit(scope="own:tenant:t", seats=1),)
    assert Poller(test.services, test, worker_id="w", policy=own).poll().claimed == 1
