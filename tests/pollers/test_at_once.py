"""The plain jobs of a page are claimed by one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Priority, run_lane
from leasehold.kernel.poll import Poll, Poller, PollSettings
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from leasehold.kernel.jobs import Write


class Nowhere:
    """Takes every hand-over and starts none."""

    def dispatch(self, *_: object) -> None:
        pass


def asked_at_once(world: LeaseholdTest, patched: pytest.MonkeyPatch) -> list[int]:
    """How many jobs each request claims of a poll that reads large pages."""
    jobs, asked = world.services.store.jobs, list[int]()
    whole = jobs.apply_many

    def apply_many(writes: Sequence[Write]) -> list[Exception | None]:
        asked.append(len(writes))
        return whole(writes)

    patched.setattr(jobs, "apply_many", apply_many)
    Poller(world.services, Nowhere(), worker_id="tick", settings=PollSettings(poll_limit=100)).poll()
    return asked


def test_a_poller_that_dies_leaves_the_leases_of_one_request(monkeypatch) -> None:
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(52):
        world.queue.enqueue("plain")
    assert asked_at_once(world, monkeypatch) == [25, 25, 2]


def test_what_a_request_left_open_is_looked_after_once(monkeypatch) -> None:
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(6):
        world.queue.enqueue("plain")
    entries = world.services.store.jobs.due(run_lane(Priority.NORMAL, 0), world.clock.now(), limit=10).entries
    for lost in [each for each in entries if isinstance(each, DueJob)][1:3]:
        world.queue.cancel(lost.job_id, reason="another was quicker with it")
    poll = Poll(Poller(world.services, Nowhere(), worker_id="tick"), None)
    poll.registry = world.services.deployment.registry()
    asked: list[str] = []
    monkeypatch.setattr("leasehold.kernel.release.release", lambda handover, *_, **__: asked.append(handover.job_id))

    at_once, switches = poll.claims.at_once, poll.read_switches()
    assert not at_once.work_off(entries[:3], switches)
    assert at_once.work_off(entries[3:], switches)

    assert poll.report.claimed == 4
    assert len(asked) == 1
