"""Two years of schedules: exactly one job per slot that the policies ask for, whatever fails and comes twice.

Nobody waits: time jumps from one event to the next. EventBridge wakes at slots, late, twice or not at all; a tick finds
what is due at the next full minute, unless ticks are missing; halts stop both.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from leasehold import JobType, Operator, Queue, Registry
from leasehold.features import Store
from leasehold.kernel.keys import JobId, scheduled_for_of
from leasehold.kernel.lanes import SERVICE_LANE
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.other_entries import DueItem
from leasehold.kernel.services import Services
from leasehold.schedules.trigger import trigger
from leasehold.testing import FakeClock, SeededRandomSource
from tests.schedules.drawing import END, START, ZONES, Outages, draw_definition, draw_outages
from tests.schedules.oracle import Definition, Model, slots_of
from tests.stored_jobs import stored_jobs

NAME = "drawn"
SCHEDULES, BATCHES = 200, 20
# So many batches in `make test`, a tenth of the schedules; the others in `make test-deep`.
ALWAYS = 2
_MINUTE = timedelta(minutes=1)


class World:
    def __init__(self, definition: Definition, random_source: Random) -> None:
        self.random_source = random_source
        self.clock = FakeClock(START)
        self.services = Services(store=Store(MemoryTable()), clock=self.clock, random_source=SeededRandomSource(7))
        self.queue = Queue(self.services)
        self.operator = Operator(self.services)
        self.operator.publish(Registry(types={"report": JobType(name="report")}))
        self.queue.schedules.create(NAME, "report", **vars(definition))
        self.model = Model(definition, slots_of(definition, START, END), START, START, START)
        self.ends: list[tuple[datetime, str]] = []

    def live(self) -> None:
        halts, silence, no_ticks = (draw_outages(self.random_source) for _ in range(3))
        wakes = self._draw_wakes(silence)
        switches = sorted(moment for span in halts.spans for moment in span)
        while True:
            tick = self._next_tick(halts, no_ticks)
            events = [wakes[0] if wakes else END, tick, switches[0] if switches else END]
            now = min(*events, END)
            if now >= END:
                return
            self._end_jobs(now)
            self.clock.move_to(now)
            if switches and switches[0] == now:
                switches.pop(0)
                self._switch(halts)
            elif wakes and wakes[0] == now:
                wakes.pop(0)
                self._wake(halts)
            else:
                self._tick()

    def _draw_wakes(self, silence: Outages) -> list[datetime]:
        wakes = []
        for slot in self.model.slots:
            times = self.random_source.choices([0, 1, 2, 3], [2, 6, 2, 1])[0]
            if silence.end_of(slot) is None:
                wakes += [
                    slot + timedelta(seconds=self.random_source.choice([0, 1, 20, 59, 110, 150])) for _ in range(times)
                ]
        return sorted(wakes)

    def _next_tick(self, halts: Outages, no_ticks: Outages) -> datetime:
        due_at = self.model.due_at()
        if due_at is None:
            return END
        now = self.clock.now()
        # Ticks come at full minutes; the one of this minute has been.
        at = max(due_at, now.replace(second=0, microsecond=0) + _MINUTE)
        while (end := halts.end_of(at) or no_ticks.end_of(at)) is not None:
            at = end
        whole = at.replace(second=0, microsecond=0)
        at = whole if whole == at else whole + _MINUTE
        return at if halts.end_of(at) is None else self._next_after(at, halts)

    def _next_after(self, at: datetime, halts: Outages) -> datetime:
        end = halts.end_of(at)
        assert end is not None
        return end.replace(second=0, microsecond=0) + _MINUTE

    def _switch(self, halts: Outages) -> None:
        if halts.end_of(self.clock.now()) is not None:
            assert self.operator.halt(reason="drawn")
        else:
            assert self.operator.resume()

    def _wake(self, halts: Outages) -> None:
        made = trigger(NAME, self.services)
        if halts.end_of(self.clock.now()) is not None:
            assert made == []
            return
        self._check(made)

    def _tick(self) -> None:
        """As a poll does: whatever is due is triggered, and looked at again if it is due anew."""
        seen: set[str] = set()
        while fresh := [each for each in self._due() if each.due_key not in seen]:
            seen.update(each.due_key for each in fresh)
            for _ in fresh:
                self._check(trigger(NAME, self.services))

    def _due(self) -> list[DueItem]:
        page = self.services.store.jobs.due(SERVICE_LANE, self.clock.now(), limit=25)
        return [entry for entry in page.entries if isinstance(entry, DueItem) and entry.kind == "schedule"]

    def _check(self, made: list[JobId]) -> None:
        now = self.clock.now()
        expected = self.model.look(now)
        assert [scheduled_for_of(job_id) for job_id in made] == expected, now
        if made:
            ends_at = now + timedelta(minutes=self.random_source.choices([1, 5, 50, 300, 3000], [12, 12, 4, 1, 1])[0])
            self.ends += [(ends_at, job_id) for job_id in made]
            self.model.running_since, self.model.running_until = now, ends_at

    def _end_jobs(self, now: datetime) -> None:
        for ends_at, job_id in [each for each in self.ends if each[0] <= now]:
            self.clock.move_to(ends_at)
            self.queue.cancel(job_id, reason="over")
            self.ends.remove((ends_at, job_id))

    def jobs(self) -> list[datetime]:
        return [job.scheduled_for for job in stored_jobs(self.services)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "batch", [pytest.param(batch, marks=() if batch < ALWAYS else pytest.mark.deep) for batch in range(BATCHES)]
)
def test_there_is_one_job_for_each_slot_that_the_policies_ask_for(batch: int) -> None:
    for number in range(batch, SCHEDULES, BATCHES):
        random_source = Random(number)
        definition = draw_definition(random_source, ZONES[number % len(ZONES)])
        world = World(definition, random_source)

        world.live()

        assert world.jobs() == world.model.made, definition
        assert len(set(world.model.made)) == len(world.model.made)
