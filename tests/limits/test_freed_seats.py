"""A freed seat has its scope looked at: by a poller that is started for it, which writes nothing before it looks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, Worker
from leasehold.aws.polling import Polling, Wake
from leasehold.kernel.errors import DispatchError, StoreUnavailableError
from leasehold.kernel.keys import Due
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import Update
from leasehold.limits.lines import Lines, Moment
from leasehold.pollers.waiting import WaitingSettings
from leasehold.telemetry import STREAM
from tests.contract.handlers import scripted
from tests.contract.world import World
from tests.worlds import SpyTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.limits.scopes import Scope

SCOPE = "type:single"
A_SECOND = timedelta(seconds=1)


class Wakes:
    """A waker that keeps what it is asked for, or fails."""

    def __init__(self) -> None:
        self.scopes: list[str] = []
        self.fails = False

    def __call__(self, scopes: Sequence[str]) -> None:
        if self.fails:
            raise DispatchError("throttled")
        self.scopes += scopes


class Waiting:
    """One job has the only seat, another waits for it."""

    def __init__(self, *, with_second: bool = True) -> None:
        self.table = SpyTable()
        self.world = World(self.table)
        self.world.deploy(JobType(name="single", concurrency=1, timeout=timedelta(minutes=10)))
        self.world.poll()  # a new type is looked at once
        self.wakes = Wakes()
        self.world.services.waker = self.wakes
        handlers = {"single": scripted(self.world.script)}
        self.worker = Worker(self.world.services, handlers, worker_id="worker", limit_time=False)
        self.first = self.world.queue.enqueue("single").job_id
        self.running = self.world.claim_one()
        if with_second:
            self.second = self.world.queue.enqueue("single").job_id
            assert self.world.claim() == []

    def end(self) -> list[object]:
        """The first job ends; what that wrote besides the job itself."""
        self.world.clock.advance(A_SECOND)
        self.table.writes.clear()
        self.worker.run(self.running)
        changes = [each for each in self.table.writes if isinstance(each, Update)]
        return [each.key.values for each in changes if each.key.values[0].startswith("seat#")]

    def look(self) -> list[str]:
        """What the poller hands over that is started for freed seats."""
        freed, self.wakes.scopes = self.wakes.scopes, []
        self.world.poller.poll(hints=[FreedScope(scope) for scope in freed])
        taken, self.world.dispatches.handovers = self.world.dispatches.handovers, []
        return [handover.job_id for handover in taken]

    @property
    def scope(self) -> Scope:
        return self.world.store.lines.seen(SCOPE)

    @property
    def due_at(self) -> datetime:
        assert self.scope.due_key is not None
        return Due.parse(self.scope.due_key).at


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def test_an_end_frees_its_seat_and_starts_a_poller_and_writes_nothing_else(waiting: Waiting) -> None:
    assert waiting.end() == [("seat#type:single", "000000")]
    assert waiting.wakes.scopes == [SCOPE]


def test_the_poller_that_is_started_looks_though_the_scope_is_due_much_later(waiting: Waiting) -> None:
    waiting.end()
    due_at = waiting.due_at
    assert due_at > waiting.world.clock.now() + 20 * A_SECOND

    assert waiting.look() == [waiting.second]
    assert waiting.due_at == due_at, "it left the next look where it was"


def test_nobody_is_started_for_a_seat_that_nobody_waits_for() -> None:
    alone = Waiting(with_second=False)

    assert alone.end() == [("seat#type:single", "000000")]
    assert alone.wakes.scopes == []


def test_a_start_that_is_lost_is_made_good_by_the_look_that_time_brings(waiting: Waiting) -> None:
    waiting.end()
    waiting.wakes.scopes.clear()

    waiting.world.clock.move_to(waiting.due_at)

    assert [handover.job_id for handover in waiting.world.claim()] == [waiting.second]


def test_where_no_poller_can_be_started_the_scope_is_made_due(waiting: Waiting) -> None:
    waiting.wakes.fails = True

    assert waiting.end() == [("seat#type:single", "000000"), ("seat#type:single", "-")]
    assert [handover.job_id for handover in waiting.world.claim()] == [waiting.second]


def test_a_second_poller_that_is_started_for_the_same_seat_writes_nothing(waiting: Waiting) -> None:
    waiting.end()
    waiting.wakes.scopes *= 2
    assert waiting.look() == [waiting.second]
    waiting.wakes.scopes.append(SCOPE)
    waiting.world.clock.advance(A_SECOND)
    waiting.table.writes.clear()

    assert waiting.look() == []
    assert waiting.table.writes == []


@pytest.mark.parametrize("wakes", [True, False], ids=["a poller is started", "the scope is made due"])
def test_a_look_that_began_before_the_seat_was_free_and_puts_the_next_off_hides_nothing(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, *, wakes: bool
) -> None:
    """It has read the seats before: its last write must not be taken for a look at the seat that is free now."""
    waiting.wakes.fails = not wakes
    lines: Lines = waiting.world.store.lines
    whole: Any = Lines.look_now if wakes else Lines._try
    late = [True]

    def put_off_first(self: Lines, *given: Any, **said: Any) -> Any:
        if late and (wakes or (isinstance(given[0], Update) and given[0].key.values[-1] == "-")):
            late.clear()
            now = waiting.world.clock.now()
            assert lines.look_at(lines.seen(SCOPE), now + 90 * A_SECOND, Moment(now, "0123456789ab", 1))
        return whole(self, *given, **said)

    monkeypatch.setattr(Lines, "look_now" if wakes else "_try", put_off_first)
    waiting.end()

    started = waiting.look() if wakes else [handover.job_id for handover in waiting.world.claim()]
    assert started == [waiting.second]
    assert not late


def started(waiting: Waiting) -> list[str]:
    """What an ordinary poll hands over, which knows of no seat."""
    return [handover.job_id for handover in waiting.world.claim()]


def test_a_seat_that_is_freed_during_a_halt_is_given_away_by_the_first_poll_after_it(waiting: Waiting) -> None:
    waiting.world.operator.halt(reason="bad deploy")
    waiting.end()
    assert waiting.look() == []

    waiting.world.operator.resume(reason="mended")

    assert started(waiting) == [waiting.second]


def test_a_seat_that_a_stopped_poller_did_not_look_for_is_given_away_by_the_next(waiting: Waiting) -> None:
    waiting.end()

    report = waiting.world.poller.poll(hints=[FreedScope(SCOPE)], should_stop=lambda: "deadline")

    assert (report.stopped_by, report.claimed) == ("deadline", 0)
    assert started(waiting) == [waiting.second]


def test_a_look_for_a_freed_seat_that_fails_is_made_good_by_the_next_poll(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.end()
    with monkeypatch.context() as broken:
        broken.setattr(Lines, "line", lambda *_, **__: 1 / 0)
        assert waiting.look() == []

    assert started(waiting) == [waiting.second]


class Outage:
    """The scope of the seat cannot be read for so many times."""

    def __init__(self, waiting: Waiting, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        whole_line, whole_seen = Lines.line, Lines.seen

        def line(*given: Any, **said: Any) -> Any:
            self._meet()
            return whole_line(*given, **said)

        def seen(*given: Any, **said: Any) -> Any:
            self._meet()
            return whole_seen(*given, **said)

        monkeypatch.setattr(Lines, "line", line)
        monkeypatch.setattr(Lines, "seen", seen)
        self.polling = Polling(
            waiting.world.services,
            waiting.world.dispatches,
            worker_id="poller",
            time_left=timedelta(minutes=2),
            start_another=lambda _: None,
            waiting=WaitingSettings(),
        )

    def _meet(self) -> None:
        if self.left:
            self.left -= 1
            raise StoreUnavailableError("no answer")


def test_a_freed_seat_whose_poller_met_an_outage_is_given_away_once_the_store_answers(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.end()
    began_at, outage = waiting.world.clock.now(), Outage(waiting, monkeypatch, times=6)

    with pytest.raises(StoreUnavailableError):
        outage.polling.answer(Wake(channel=STREAM, hints=[FreedScope(SCOPE)]))

    assert not outage.left
    # 0.2 s, then twice as long each time, and no more than 5 s.
    assert waiting.world.clock.now() - began_at == timedelta(seconds=0.2 + 0.4 + 0.8 + 1.6 + 3.2 + 5)
    assert started(waiting) == [waiting.second]


def test_a_poller_gives_up_on_a_store_that_stays_away_before_its_own_time_is_over(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.end()
    began_at, outage = waiting.world.clock.now(), Outage(waiting, monkeypatch, times=1000)

    with pytest.raises(StoreUnavailableError):
        outage.polling.answer(Wake(channel=STREAM, hints=[FreedScope(SCOPE)]))

    assert timedelta(minutes=1) < waiting.world.clock.now() - began_at < timedelta(minutes=2)


def test_a_poller_that_is_started_for_freed_seats_alone_goes_on_until_all_of_them_are_taken() -> None:
    world = World(MemoryTable())
    world.deploy(JobType(name="several", concurrency=5))
    world.poll()
    ids = {world.queue.enqueue("several").job_id for _ in range(10)}
    running = world.claim()
    assert len(running) == 5
    handlers = {"several": scripted(world.script)}
    for each in running:
        Worker(world.services, handlers, worker_id="worker", limit_time=False).run(each)

    settings = PollSettings(poll_limit=2)
    poller = Poller(world.services, world.dispatches, worker_id="poller", settings=settings)
    report = poller.poll(hints=[FreedScope("type:several")])

    assert report.dispatched == 5
    assert {each.job_id for each in world.dispatches.handovers} == ids - {each.job_id for each in running}
