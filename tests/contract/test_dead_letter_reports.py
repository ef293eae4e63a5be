"""Which dead letters somebody was told of: marked once, and found by the sweep until they are."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.keys import JobId, JobPartition, make_job_id
from leasehold.operate.dead_letters import open_dead_letters
from leasehold.operate.reports import SWEEP_BACK, SWEEP_MARGIN, report_dead_letters, sweep_unreported
from leasehold.telemetry import DEAD_LETTER_DEPTH, DEAD_LETTER_OLDEST_AGE, Event

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.operate.failure_report import FailureReport
    from tests.contract.world import World


class Taker:
    """A reporter that takes reports, unless it is told to refuse them."""

    is_on = True

    def __init__(self) -> None:
        self.taken: list[FailureReport] = []
        self.refused: set[str] = set()
        self.refuses_all = False

    def report(self, report: FailureReport) -> bool:
        if self.refuses_all or report.job_id in self.refused:
            return False
        self.taken.append(report)
        return True

    @property
    def told(self) -> list[str]:
        return [report.job_id for report in self.taken]


def bury(world: World, error: str = "broken") -> JobId:
    job_id = world.queue.enqueue("once").job_id
    world.script.then(RuntimeError(error))
    assert world.work() == ["dead_letter"]
    return job_id


def unreported(world: World, start: datetime, end: datetime) -> list[str]:
    return [each.id for each in open_dead_letters(world.services, start=start, end=end, unreported=True)]


def listen(world: World) -> Taker:
    taker = Taker()
    world.services.reporter = taker
    return taker


def test_a_dead_letter_is_marked_once(world: World) -> None:
    job_id = bury(world)
    first = world.clock.now()

    assert world.store.dead_letters.mark_reported(job_id, first)
    assert not world.store.dead_letters.mark_reported(job_id, first + timedelta(hours=1))

    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert dead_letter.reported_at == first


def test_a_dead_letter_that_never_was_is_not_made_by_marking_it(world: World) -> None:
    nobody = make_job_id(world.clock.now(), JobPartition(1), 1)

    assert not world.store.dead_letters.mark_reported(nobody, world.clock.now())
    assert world.store.dead_letters.get(nobody) is None


def test_only_open_dead_letters_without_a_mark_are_listed_between_two_dates(world: World) -> None:
    start = world.clock.now()
    old, marked, resolved, wanted, young = [bury_and_wait(world) for _ in range(5)]
    world.store.dead_letters.mark_reported(marked, start)
    world.operator.discard(resolved, reason="known")

    hour = timedelta(hours=1)
    assert unreported(world, start, start + 5 * hour) == [old, wanted, young]
    assert unreported(world, start + hour / 2, start + 3.5 * hour) == [wanted]


def test_a_mark_keeps_a_dead_letter_open(world: World) -> None:
    job_id = bury(world)
    world.store.dead_letters.mark_reported(job_id, world.clock.now())

    assert [dead_letter.id for dead_letter in world.operator.dead_letters()] == [job_id]


def test_a_new_dead_letter_is_alerted_measured_reported_and_marked(world: World) -> None:
    taker = listen(world)
    job_id = bury(world)
    world.clock.advance(timedelta(seconds=30))

    assert report_dead_letters([job_id], world.services) == []

    assert taker.told == [job_id]
    (alert,) = world.recorder.of(Event.DEAD_LETTER_ALERT)
    assert (alert["job_id"], alert["job_type"], alert["attempt_count"]) == (job_id, "once", 1)
    assert str(alert["failure_reason"]).endswith("RuntimeError: broken")
    assert world.recorder.total(DEAD_LETTER_DEPTH) == 1
    assert world.recorder.total(DEAD_LETTER_OLDEST_AGE) == 30
    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert dead_letter.reported_at == world.clock.now()
    assert (taker.taken[0].runs, taker.taken[0].max_attempts) == (dead_letter.runs, 1)


def test_a_dead_letter_that_came_twice_is_told_once(world: World) -> None:
    taker = listen(world)
    job_id = bury(world)

    assert report_dead_letters([job_id, job_id], world.services) == []
    assert report_dead_letters([job_id], world.services) == []

    assert taker.told == [job_id]
    assert len(world.recorder.of(Event.DEAD_LETTER_ALERT)) == 1


def test_a_report_that_is_not_taken_is_owed_and_holds_up_no_other(world: World) -> None:
    taker = listen(world)
    first, second = bury(world), bury(world)
    taker.refused.add(first)

    assert report_dead_letters([first, second], world.services) == [first]
    assert taker.told == [second]

    taker.refused.clear()
    assert report_dead_letters([first, second], world.services) == []
    assert taker.told == [second, first]


def test_a_resolved_dead_letter_and_one_that_is_gone_are_no_news(world: World) -> None:
    taker = listen(world)
    resolved, gone = bury(world), make_job_id(world.clock.now(), JobPartition(1), 1)
    world.operator.discard(resolved, reason="known")

    assert report_dead_letters([resolved, gone], world.services) == []
    assert taker.told == []


def test_without_a_reporter_dead_letters_are_alerted_and_owed_to_nobody(world: World) -> None:
    job_id = bury(world)

    assert report_dead_letters([job_id], world.services) == []
    assert sweep_unreported(world.services).seen == 0

    assert len(world.recorder.of(Event.DEAD_LETTER_ALERT)) == 1
    dead_letter = world.store.dead_letters.get(job_id)
    assert dead_letter is not None
    assert dead_letter.reported_at is None


def test_the_sweep_tells_what_the_stream_did_not_and_nothing_else(world: World) -> None:
    taker = listen(world)
    ancient = bury(world)
    world.clock.advance(SWEEP_BACK)
    told, missed = bury(world), bury(world)
    report_dead_letters([told], world.services)
    world.clock.advance(SWEEP_MARGIN)
    world.clock.advance(timedelta(seconds=1))
    young = bury(world)
    world.clock.advance(timedelta(seconds=1))

    swept = sweep_unreported(world.services)

    assert (swept.seen, swept.reported, swept.untaken) == (1, 1, 0)
    assert taker.told == [told, missed]
    assert not {ancient, young} & set(taker.told)
    assert sweep_unreported(world.services).seen == 0


def test_the_sweep_gives_up_when_nobody_takes_reports_and_loses_none(world: World) -> None:
    taker = listen(world)
    dead_letters = [bury(world) for _ in range(12)]
    world.clock.advance(timedelta(hours=1))
    taker.refuses_all = True

    assert sweep_unreported(world.services).untaken == 10

    taker.refuses_all = False
    assert sweep_unreported(world.services).reported == 12
    assert sorted(taker.told) == sorted(dead_letters)


def test_the_sweep_ends_with_its_time(world: World) -> None:
    taker = listen(world)
    bury(world)
    world.clock.advance(timedelta(hours=1))

    assert sweep_unreported(world.services, until=world.clock.now()).seen == 0
    assert taker.told == []


def bury_and_wait(world: World) -> JobId:
    job_id = bury(world)
    world.clock.advance(timedelta(hours=1))
    return job_id
