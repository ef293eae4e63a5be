"""Several operators act on one target in the same moment: each action is done or refused, and the audit holds."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold import JobType, Operator, Queue, Registry
from leasehold.audit.roots import verify_all
from leasehold.features import Store
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.ports import KnownIdentity, SystemClock
from leasehold.kernel.services import Services
from leasehold.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from leasehold.kernel.table import Change, Key, Record
    from tests.contract.world import World

SECOND = timedelta(seconds=1)


def overtaken(world: World, monkeypatch: pytest.MonkeyPatch, by: Callable[[], object], times: int = 1) -> None:
    """Somebody else acts between what the next transactions have read and their write."""
    transact, left = world.table.transact, [times]

    def later(changes: Sequence[Change], *, token: str, foreign: Sequence[Any] = ()) -> None:
        if left[0] > 0:
            left[0] -= 1
            with monkeypatch.context() as undisturbed:
                undisturbed.setattr(world.table, "transact", transact)
                by()
        transact(changes, token=token, foreign=foreign)

    monkeypatch.setattr(world.table, "transact", later)


def flaws(world: World) -> list[object]:
    return [found for _, found in verify_all(world.services) if found]


def test_who_was_overtaken_is_dated_after_those_who_were_quicker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def bob() -> None:
        world.clock.advance(SECOND)
        world.act_as("bob")
        world.operator.halt(reason="bob sees it first")
        world.clock.advance(SECOND)
        world.operator.resume(reason="false alarm")
        world.act_as("ada")

    overtaken(world, monkeypatch, bob)

    assert world.operator.halt(reason="it is real")

    trail = world.services.store.audits.trail("control#halt")
    assert [each.audit_entry.reason for each in trail] == ["bob sees it first", "false alarm", "it is real"]
    assert flaws(world) == []


def test_an_operator_whose_clock_is_slow_leaves_a_trail_that_verifies(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id
    ahead = FakeClock(world.clock.now() + timedelta(seconds=30))
    Queue(Services(store=world.store, clock=ahead)).reschedule(job_id, run_in=timedelta(hours=2), reason="too early")

    world.queue.cancel(job_id, reason="not needed")

    assert [each.audit_entry.action for each in world.services.store.audits.trail(f"job#{job_id}")] == [
        "reschedule",
        "cancel",
    ]
    assert flaws(world) == []


def test_an_emergency_halt_holds_however_often_others_are_quicker(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bob() -> None:
        world.operator.halt(reason="on")
        world.operator.resume(reason="off")

    overtaken(world, monkeypatch, bob, times=8)

    assert world.operator.halt(reason="stop everything")
    assert world.store.control.switches().halt is not None
    assert flaws(world) == []


def test_three_operators_who_backfill_one_schedule_all_come_to_its_end() -> None:
    table = SlowTable()
    world = _services(table, "ada")
    Operator(world).publish(Registry(types={"report": JobType(name="report")}))
    Queue(world).schedules.create("minutely", "report", every=timedelta(minutes=1))
    now = world.clock.now()
    made: list[str] = []
    failures: list[BaseException] = []

    def backfill(name: str, first: int) -> None:
        start, end = now - timedelta(minutes=first + 12), now - timedelta(minutes=first)
        try:
            made.extend(Queue(_services(table, name)).schedules.backfill("minutely", start, end, reason="an outage"))
        except BaseException as error:
            failures.append(error)

    operators = [threading.Thread(target=backfill, args=each) for each in (("ada", 0), ("bob", 6), ("eve", 12))]
    for each in operators:
        each.start()
    for each in operators:
        each.join()

    assert failures == []
    assert len(made) == 24
    assert max(Counter(made).values()) == 1
    assert [found for _, found in verify_all(world) if found] == []


class SlowTable(MemoryTable):
    """Each call takes some time, as on AWS: whoever reads and writes can be overtaken in between."""

    def get(self, key: Key) -> Record | None:
        threading.Event().wait(0.002)
        return super().get(key)

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[Any] = ()) -> None:
        threading.Event().wait(0.004)
        super().transact(changes, token=token, foreign=foreign)


def _services(table: MemoryTable, actor: str) -> Services:
    return Services(store=Store(table), clock=SystemClock(), identity=KnownIdentity(actor))
