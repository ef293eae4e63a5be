"""The plain jobs of a page are claimed by one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller, PollSettings
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
