"""The pytest plug-in is there for every project that installs Leasehold."""

from __future__ import annotations

pytest_plugins = ["pytester"]

USERS_TEST = """
from datetime import timedelta

from pydantic import BaseModel

from leasehold import BaseJobHandler

greeted = []


class Greet(BaseJobHandler):
    class Payload(BaseModel):
        name: str

    @classmethod
    def payload_model(cls):
        return cls.Payload

    def handle(self, payload):
        greeted.append(payload.name)


def test_it_greets(leasehold, leasehold_clock):
    leasehold.register("greet", Greet)
    leasehold.queue.enqueue("greet", {"name": "Ada"}, run_in=timedelta(hours=1))
    leasehold.assert_enqueued("greet", {"name": "Ada"})
    assert leasehold.drain().total == 0
    leasehold_clock.advance(timedelta(hours=1))
    assert leasehold.drain()["completed"] == 1
    assert greeted == ["Ada"]


def test_each_test_has_its_own_queue(leasehold):
    assert leasehold.jobs() == []


def test_a_wrong_expectation_fails_with_what_waits(leasehold):
    leasehold.register("greet", Greet)
    leasehold.queue.enqueue("greet", {"name": "Ada"})
    leasehold.assert_enqueued("greet", {"name": "Grace"})
"""


def test_its_fixtures_work_in_a_users_project(pytester):
    pytester.makepyfile(USERS_TEST)

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*no waiting greet job with {'name': 'Grace'}*", "*greet {'name': 'Ada'} at 2026-01-01*"]
    )


def test_its_fixtures_are_documented(pytester):
    result = pytester.runpytest_inprocess("--fixtures", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")

    result.stdout.fnmatch_lines(["leasehold_clock*", "*A clock that moves only when the test moves it.*"])
    result.stdout.fnmatch_lines(["leasehold -- *", "*A queue in memory;*"])
