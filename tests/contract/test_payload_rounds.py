"""A live job's payload does not expire: once a week somebody goes through old jobs and lets theirs live on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobStatus
from leasehold.housekeeping.payload_rounds import EVERY, Round, keep_payloads, payload_round_key
from leasehold.kernel import keys
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.table import Update
from leasehold.telemetry import Event
from tests.contract.large import items_of, large, lose_payload
from tests.contract.world import World

if TYPE_CHECKING:
    import pytest

    from leasehold.housekeeping.payload_rounds import Kept
    from leasehold.kernel.keys import JobId

DAY = timedelta(days=1)


def never() -> None:
    return None


def visit(world: World) -> Kept | None:
    return keep_payloads(world.services, worker_id="poller", should_stop=never)


def days_left(world: World, job_id: JobId) -> int:
    (item,) = items_of(world, job_id)
    expires_at = item["expires_at"]
    assert isinstance(expires_at, int)
    return int((expires_at - world.clock.now().timestamp()) // 86400)


def pass_days(world: World, days: int) -> None:
    """The minute ticks of so many days, one for each."""
    for _ in range(days):
        world.clock.advance(DAY)
        visit(world)


def test_a_job_that_is_held_for_a_year_keeps_its_payload_and_runs_in_the_end(world: World) -> None:
    world.operator.pause("report", reason="a long holiday")
    job_id = world.queue.enqueue("report", large()).job_id
    world.work()

    for _ in range(52):
        pass_days(world, 7)
        assert days_left(world, job_id) >= 30

    world.operator.unpause("report")
    world.clock.advance(timedelta(minutes=1))
    assert world.work() == ["completed"]


def test_a_tick_that_is_off_for_a_year_loses_no_payload_of_a_live_job(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    world.clock.advance(timedelta(days=400))
    assert days_left(world, job_id) >= 0

    assert world.work() == ["completed"]


def test_a_halt_keeps_no_payload_from_being_kept(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    world.operator.halt(reason="a bad deploy")

    pass_days(world, 90)

    assert days_left(world, job_id) >= 30


def test_a_job_that_was_moved_to_next_year_has_its_payload_then(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    world.queue.reschedule(job_id, run_in=timedelta(days=365))

    pass_days(world, 365)

    assert days_left(world, job_id) >= 30
    assert world.work() == ["completed"]


def test_jobs_that_have_ended_and_young_ones_are_left_alone(world: World) -> None:
    ended = world.queue.enqueue("report", large()).job_id
    world.work()
    pass_days(world, 6)
    young = world.queue.enqueue("report", large(), run_in=timedelta(days=3)).job_id
    before = [days_left(world, each) for each in (ended, young)]

    pass_days(world, 8)

    assert [days_left(world, each) for each in (ended, young)] == [left - 8 for left in before]


def test_a_round_is_made_once_a_week_by_one_of_many_pollers(world: World) -> None:
    others = [World(world.table) for _ in range(3)]
    for other in others:
        other.services.clock = world.clock
    rounds = []
    for _ in range(15):
        rounds += [visit(each) for each in (world, *others)]
        world.clock.advance(DAY)

    assert len([each for each in rounds if each is not None]) == 3


def test_a_tick_without_a_round_reads_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    visit(world)
    monkeypatch.setattr(world.store.payload_rounds, "take", None)

    world.clock.advance(EVERY - timedelta(seconds=1))

    assert visit(world) is None


def test_a_round_that_broke_off_is_gone_on_with_where_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.housekeeping.payload_rounds._PAGE", 2)
    jobs = [world.queue.enqueue("report", large(n), run_in=timedelta(minutes=n)).job_id for n in range(7)]
    world.clock.advance(8 * DAY)
    # Each visit gets as far as one job, or past one partition that has none.
    visits = iter(lambda: keep_payloads(world.services, worker_id="poller", should_stop=lambda: "time is up"), None)
    stopped = next(each for each in visits if each.looked_at)
    assert (stopped.renewed, stopped.is_done) == (1, False)
    renew, calls = world.store.payload_rounds.renew, []

    def dying(job_id: JobId, name: str, expires_at: int) -> bool:
        calls.append(job_id)
        if len(calls) == 4:
            raise StoreUnavailableError("gone")
        return renew(job_id, name, expires_at)

    monkeypatch.setattr(world.store.payload_rounds, "renew", dying)
    assert visit(world) is None
    world.clock.advance(timedelta(minutes=3))
    kept = visit(world)

    assert kept is not None
    assert kept.is_done
    # What it did in the visit that it died on is done again, what was noted before is not.
    assert calls == [*jobs[1:5], *jobs[1:]]
    assert world.recorder.of(Event.TIDY_FAILED) != []
    assert all(days_left(world, each) >= 51 for each in jobs)


def test_one_that_is_gone_already_is_counted_and_its_job_will_say_so(world: World) -> None:
    job_id = world.queue.enqueue("report", large()).job_id
    lose_payload(world, job_id)
    world.clock.advance(8 * DAY)

    kept = visit(world)

    assert kept is not None
    assert (kept.renewed, kept.missing) == (0, 1)
    assert world.work() == ["dead_letter"]
    assert world.status(job_id) is JobStatus.DEAD_LETTER


def test_whoever_lost_its_round_to_another_notes_nothing(world: World) -> None:
    world.clock.advance(8 * DAY)
    now = world.clock.now()
    rounds = world.store.payload_rounds
    mine = rounds.take("me", now, now + DAY)
    assert rounds.take("another", now, now + DAY) == now + DAY
    world.clock.advance(2 * DAY)
    theirs = rounds.take("another", world.clock.now(), world.clock.now() + DAY)

    assert isinstance(mine, Round)
    assert theirs == Round("another", "")
    assert not rounds.leave(mine, now)
    assert not rounds.finish("me", now + EVERY)
    record = world.table.get(payload_round_key())
    assert record is not None
    assert record["holder"] == "another"


def test_a_damaged_job_does_not_end_the_round(world: World) -> None:
    damaged, sound = (world.queue.enqueue("report", large(n), run_in=timedelta(minutes=n)).job_id for n in (1, 2))
    spoilt = {"created_at": "yesterday"}
    world.table.write(Update(key=keys.job(damaged), conditions=(), sets=spoilt))
    world.clock.advance(8 * DAY)

    kept = visit(world)

    assert kept is not None
    assert (kept.renewed, kept.is_done) == (1, True)
    assert days_left(world, sound) >= 51
