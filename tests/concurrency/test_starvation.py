"""Nothing at the head of a lane, in a higher lane or behind a pause keeps another job from running."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, NewJob, Priority
from leasehold.kernel import keys
from leasehold.kernel.job import job_record
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import Put
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest
from tests.cost import crowd
from tests.real_queue import Inbox

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Attribute, Change, Record

POISON = 300
PAUSED = 1000


@pytest.fixture
def test() -> LeaseholdTest:
    return LeaseholdTest(types=[JobType(name="report"), JobType(name="paused_report")])


def poll(test: LeaseholdTest) -> Inbox:
    inbox = Inbox()
    Poller(test.services, inbox, worker_id="poller").poll()
    return inbox


CORRUPTIONS: dict[str, Record] = {
    "a lease that is no time": {"status": "in_progress", "locked_by": "w", "lock_expires_at": "soon"},
    "an ended job whose runs are unreadable": {"status": "completed", "runs": [{"number": 1}]},
    "a status from a version to come": {"status": "hibernating"},
    "a priority that does not exist": {"priority": 9},
    "a due key of another make": {"due_key": "2025"},
    "no type at all": {"job_type": None},  # type: ignore[dict-item]
}


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_300_entries_that_nobody_can_handle_do_not_keep_the_job_behind_them_from_this_very_poll(
    corruption: str, test: LeaseholdTest
) -> None:
    now = test.clock.now()
    for n in range(POISON):
        job = crowd.waiting("report", now - timedelta(minutes=n + 1), now)
        changes: dict[str, Attribute | None] = {**CORRUPTIONS[corruption]}
        due_key = changes.get("due_key")
        if isinstance(due_key, str) and due_key:
            changes["due_key"] = f"{due_key}-{n:04d}"
        record = {name: value for name, value in {**job_record(job), **changes}.items() if value is not None}
        test.services.store.table.write(Put(key=keys.job(job.job_id), record=record))
    behind = test.queue.enqueue("report", {}).job_id

    inbox = poll(test)

    assert [handover.job_id for handover in inbox.handovers] == [behind]
    assert len(test.telemetry.of(Event.ENTRY_FAILED)) == POISON


class EndlessSupply:
    """Each job of high priority that is handed over brings another one."""

    def __init__(self, test: LeaseholdTest) -> None:
        self.claims: Counter[Priority] = Counter()
        self._test = test

    def dispatch(self, handover: Handover, function: str | None) -> None:
        priority = self._test.queue.get(handover.job_id).priority
        self.claims[priority] += 1
        if priority is Priority.HIGH:
            self._test.clock.advance(timedelta(milliseconds=1))
            self._test.queue.enqueue("report", {}, priority=Priority.HIGH)


def test_an_endless_supply_in_a_higher_lane_leaves_each_lower_lane_its_stated_share(test: LeaseholdTest) -> None:
    settings = PollSettings()
    for priority in (Priority.HIGH, Priority.NORMAL, Priority.LOW):
        test.queue.enqueue_many(NewJob(job="report", priority=priority) for _ in range(200))
    supply = EndlessSupply(test)
    poller = Poller(test.services, supply, worker_id="poller", settings=settings)

    poller.poll(should_stop=lambda: "enough" if supply.claims.total() >= 350 else None)

    print(f"\nclaims of one poll: {dict(supply.claims)}")
    for lower in (Priority.NORMAL, Priority.LOW):
        assert supply.claims[lower] >= settings.lower_share * supply.claims[Priority.HIGH]
    # A share, not a turn: the higher lane still gets most.
    assert supply.claims[Priority.HIGH] > supply.claims[Priority.NORMAL] + supply.claims[Priority.LOW]


def shared_out(waiting: dict[Priority, list[str]], settings: PollSettings) -> list[dict[Priority, list[str]]]:
    """What each round of a poll is to hand over: all that a page holds of the highest, and of each lower its share."""
    share = max(1, int(settings.poll_limit * settings.lower_share))
    rounds = []
    while any(waiting.values()):
        this_round: dict[Priority, list[str]] = {}
        for priority in sorted(waiting, reverse=True):
            count = share if this_round else settings.poll_limit
            taken, waiting[priority] = waiting[priority][:count], waiting[priority][count:]
            if taken:
                this_round[priority] = taken
        rounds.append(this_round)
    return rounds


def test_1000_mixed_jobs_are_handed_over_by_strict_priority_with_the_stated_share_for_each_lower_one(
    test: LeaseholdTest,
) -> None:
    poll(test)  # both types are newly deployed, and their scopes are looked at once for that
    settings = PollSettings()
    random_source = random.Random(4)
    waiting: dict[Priority, list[str]] = {priority: [] for priority in Priority}
    for _ in range(1_000):
        priority = random_source.choice(list(Priority))
        waiting[priority].append(test.queue.enqueue("report", {}, priority=priority).job_id)
        test.clock.advance(timedelta(milliseconds=1))
    inbox = Inbox()

    Poller(test.services, inbox, worker_id="poller", settings=settings).poll()

    rounds = shared_out(waiting, settings)
    assert [each.job_id for each in inbox.handovers] == [
        job_id for this_round in rounds for jobs in this_round.values() for job_id in jobs
    ]
    counts = [{priority.name: len(jobs) for priority, jobs in this_round.items()} for this_round in rounds]
    print(f"\n{len(rounds)} rounds, the first {counts[0]}, half-way {counts[len(counts) // 2]}, the last {counts[-1]}")
    assert counts[0] == {"CRITICAL": 25, "HIGH": 5, "NORMAL": 5, "LOW": 5}
    # Nobody starves: as long as it has jobs, each lane gets its share of every round.
    for this_round in counts[:-1]:
        assert this_round["LOW"] >= 5


def test_1000_jobs_of_a_paused_type_cost_the_others_one_move_each_and_only_once(
    test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll(test)  # both types are newly deployed, and their scopes are looked at once for that
    test.operator.pause("paused_report", reason="the reports are wrong")
    test.queue.enqueue_many(NewJob(job="paused_report") for _ in range(PAUSED))
    test.clock.advance(timedelta(seconds=1))
    behind = test.queue.enqueue("report", {}).job_id
    written: Counter[str] = Counter()
    write = test.services.store.table.write

    def count_and_write(change: Change) -> Record:
        # Partitions of jobs name their type and shard, too.
        name = change.key.values[0]
        written["job" if name.startswith("job#") else name] += 1
        return write(change)

    monkeypatch.setattr(test.services.store.table, "write", count_and_write)

    assert [handover.job_id for handover in poll(test).handovers] == [behind]
    # One move for each held job, one claim; their lane stands in line, and its scope is looked at.
    assert written == {"job": PAUSED + 1, "seat#type:paused_report": 2, "watch": written["watch"]}

    test.clock.advance(timedelta(minutes=1))
    poll(test)
    for _ in range(3):
        test.clock.advance(timedelta(seconds=10))
        again = test.queue.enqueue("report", {}).job_id
        written.clear()
        assert [handover.job_id for handover in poll(test).handovers] == [again]
        assert written == {"job": 1}

    assert sum(job.is_held for job in test.jobs()) == PAUSED
