"""A sequential group of a hundred, with a crash before and after each of its writes, runs in order, each once."""

from __future__ import annotations

from datetime import timedelta
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobStatus, JobType, NewJob, Operator, Queue, Registry, Worker
from leasehold.features import Store
from leasehold.groups.model import GroupState
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poller
from leasehold.kernel.services import Services
from leasehold.testing import FakeClock, SeededRandomSource
from tests.crash.group_invariants import assert_counted
from tests.crash.snapshot import Snapshot
from tests.groups.mortal import Killed, Mortal
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.ports import Handover

MEMBERS = 100
PAST_EVERY_LEASE = timedelta(minutes=10)
TYPES = {name: JobType(name=name) for name in ("step", "tell")}


class Numbered(BaseModel):
    n: int = -1


class Life:
    """A group from its creation to its end; `handled` are the numbers that handlers saw, in order."""

    def __init__(self, *, mortal_handlers: bool) -> None:
        self.handled: list[int] = []
        self.clock = FakeClock()
        self._memory = MemoryTable()
        self.mortal = Mortal(self._memory)
        self._seeds = count()
        self.healthy = self._process(self._memory)
        Operator(self.healthy).publish(Registry(types=TYPES))
        self._handlers_table = self.mortal if mortal_handlers else self._memory

    def live(self) -> None:
        jobs = [NewJob(job="step", payload={"n": n}) for n in range(MEMBERS)]
        self._until_it_survives(
            lambda services: Queue(services).groups.create(jobs, group_id="import", callback=NewJob(job="tell")),
            timedelta(seconds=1),
        )
        while not self._is_over():
            self._until_it_survives(
                lambda services: Poller(services, self, worker_id="poller").poll(), PAST_EVERY_LEASE
            )
            self.clock.advance(PAST_EVERY_LEASE)

    def dispatch(self, handover: Handover, function: str | None) -> None:
        services = self._process(self._handlers_table)
        handlers = dict.fromkeys(TYPES, self._handler())
        Worker(services, handlers, worker_id="handler", limit_time=False).run(handover)

    def snapshot(self) -> Snapshot:
        jobs = stored_jobs(self.healthy)
        return Snapshot(jobs={job.job_id: job for job in jobs}, dead_letters={}, pointers={}, groups={})

    def _until_it_survives(self, work: Any, pause: timedelta) -> None:
        while True:
            try:
                work(self._process(self.mortal))
            except Killed:
                self.clock.advance(pause)
                self._assert_sound()
            else:
                return

    def _assert_sound(self) -> None:
        group = self.healthy.store.groups.get("import")
        if group is not None:
            assert_counted(group, self.snapshot())

    def _is_over(self) -> bool:
        self._assert_sound()
        return all(job.has_ended and job.due is None for job in self.snapshot().jobs.values())

    def _process(self, table: Any) -> Services:
        return Services(store=Store(table), clock=self.clock, random_source=SeededRandomSource(next(self._seeds)))

    def _handler(self) -> type[BaseJobHandler]:
        handled = self.handled

        class Note(BaseJobHandler):
            @classmethod
            def payload_model(cls) -> type[BaseModel]:
                return Numbered

            def handle(self, payload: BaseModel) -> None:
                assert isinstance(payload, Numbered)
                handled.append(payload.n)

        return Note


def members_of(life: Life) -> list[Job]:
    return Queue(life.healthy).groups.members("import", limit=MEMBERS).jobs


def assert_each_completed_in_order(life: Life) -> None:
    jobs = members_of(life)
    assert [job.status for job in jobs] == [JobStatus.COMPLETED] * MEMBERS
    ends = [job.completed_at for job in jobs]
    assert all(earlier < later for earlier, later in pairwise(ends) if earlier and later)
    group = Queue(life.healthy).groups.get("import")
    assert (group.state, group.completed, group.left) == (GroupState.COMPLETED, MEMBERS, 0)
    callbacks = [job for job in life.snapshot().jobs.values() if job.job_type == "tell"]
    assert [job.payload for job in callbacks] == [{"group": group.progress}]


@pytest.mark.slow
def test_pollers_that_die_at_every_write_run_each_member_once_and_in_order() -> None:
    life = Life(mortal_handlers=False)

    life.live()

    print(f"\n{life.mortal.deaths} deaths")
    # Each member's claim and count, before and after, besides the creation and the callback.
    assert life.mortal.deaths >= 4 * MEMBERS
    assert life.handled == [*range(MEMBERS), -1]
    assert_each_completed_in_order(life)


@pytest.mark.deep
def test_handlers_that_die_too_are_started_again_but_no_member_overtakes_another() -> None:
    life = Life(mortal_handlers=True)

    life.live()

    print(f"\n{life.mortal.deaths} deaths")
    # The handler's start and completion as well; who died before its completion was written has run once more.
    assert life.mortal.deaths >= 8 * MEMBERS
    numbers = [n for n in life.handled if n >= 0]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(MEMBERS))
    assert_each_completed_in_order(life)
