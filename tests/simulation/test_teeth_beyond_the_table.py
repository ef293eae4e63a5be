"""What stands outside the transition table is missed too: inserts, seats, limits, dedup records, slots, thrift."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.dynamodb.table import DynamoTable
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.jobs import Jobs, insertion
from leasehold.kernel.keys import JobPartition, derive_job_id
from leasehold.kernel.table import ConditionFailed, Equals, Put, Update
from leasehold.limits.model import DeployedLimits, Limit
from leasehold.operate.operator import Operator
from tests.simulation.faults import Fault
from tests.simulation.functions import Functions
from tests.simulation.simulation import simulate

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.table import Change, Record
    from tests.simulation.invocation import Invocation
    from tests.simulation.process import Process

_LOST = {Fault.LOST_RESPONSE: 0.3, Fault.KILL_ECHO: 0.05}


def broken_by(seeds: int, **scene: Any) -> str | None:
    """The first invariant that breaks."""
    for seed in range(seeds):
        violation = simulate(seed, **scene).violation
        if violation is not None:
            return violation.invariant
    return None


def test_an_insert_that_brings_a_job_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    # By a put, which overwrites: a statement that inserts could not.
    monkeypatch.setattr(Jobs, "insert", lambda jobs, job: jobs._table.write(insertion(job)))
    broken = broken_by(40, rates=_LOST, actions=("plain",), types=("plain",), chores=(), jobs=3, concurrency=None)
    assert broken in {
        "legal transitions",
        "no write from a lost lease",
        "end states absorb",
        "nobody overwrites what it has not seen",
    }


def test_a_second_job_for_a_dedup_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    # As a transaction of puts: an INSERT has its guard in itself.
    monkeypatch.setattr(Put, "is_insertion", property(lambda put: bool(put.conditions)))
    broken = broken_by(40, rates={}, actions=("deduplicated",), types=("plain",), chores=(), jobs=4)
    assert broken in {"one live job per dedup key", "dedup record and job agree"}


def test_a_seat_that_two_jobs_take_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = Put.guards

    def guards(put: Put) -> Any:
        return () if put.key.values[0].startswith("seat#") else whole.fget(put)

    monkeypatch.setattr(Put, "guards", property(guards))
    scene = {"actions": ("plain",), "types": ("limited",), "chores": (), "latency": 0.2, "pollers": 3}
    broken = broken_by(60, rates={}, jobs=4, rush=2.0, concurrency=None, **scene)
    assert broken in {"a seat is taken once", "who runs keeps its seat"}


# Several jobs at once, which take a while.
_BUSY: dict[str, Any] = {
    "rates": {},
    "actions": ("many",),
    "chores": (),
    "modes": ("busy",),
    "jobs": 4,
    "rush": 2.0,
    "skew": 0.0,
    "outlives": False,
    "concurrency": None,
}


@pytest.mark.parametrize(
    ("scope", "scene"),
    [
        ("all", {"types": ("plain", "keyed"), "concurrency": 2}),
        ("type:", {"types": ("limited",)}),
        ("key:", {"types": ("keyed",)}),
        ("resource:", {"types": ("paced", "sharing")}),
        ("rate:rated", {"types": ("rated",)}),
        ("rate:paced:", {"types": ("paced",)}),
    ],
)
def test_a_limit_that_is_not_kept_is_noticed(
    scope: str, scene: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = DeployedLimits.limits_of

    def gone(*asked: Any) -> tuple[Limit, ...]:
        return tuple(limit for limit in whole(*asked) if not limit.scope.startswith(scope))

    def raised(*asked: Any) -> tuple[Limit, ...]:
        limits = whole(*asked)
        return tuple(replace(each, seats=each.seats + 1) if each.scope.startswith(scope) else each for each in limits)

    assert broken_by(3, **{**_BUSY, **scene}) is None
    for limits_of in (gone, raised):
        monkeypatch.setattr(DeployedLimits, "limits_of", limits_of)
        assert broken_by(20, **{**_BUSY, **scene}) in {"limits are never exceeded", "rates are never exceeded"}


@pytest.mark.parametrize(
    "payload",
    [{"mode": "result"}, {"mode": "result", "group": {"group_id": "none"}}],
    ids=["a job", "a callback of no group"],
)
def test_a_job_that_a_poller_makes_up_is_noticed(payload: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Functions._poll

    def poll(self: Functions, process: Process, invocation: Invocation, event: dict[str, Any]) -> None:
        whole(self, process, invocation, event)
        process.queue.enqueue("plain", payload)

    monkeypatch.setattr(Functions, "_poll", poll)
    assert broken_by(3, **_BUSY) == "nothing appears that nobody enqueued"


@pytest.mark.parametrize("rates", [{}, {Fault.LOST_RESPONSE: 0.02}], ids=["all is well", "answers get lost"])
def test_writes_that_are_asked_for_in_vain_are_noticed(rates: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DynamoTable.write

    def write(self: DynamoTable, change: Change) -> Record:
        if isinstance(change, Update) and change.key.values[0].startswith("job"):
            for _ in range(3):
                with pytest.raises(ConditionFailed):
                    whole(self, replace(change, conditions=(Equals("status", "nowhere"),)))
        return whole(self, change)

    scene = {**_BUSY, "types": ("plain",), "actions": ("plain",), "modes": ("result",), "rates": rates}
    assert broken_by(3, **scene) is None
    monkeypatch.setattr(DynamoTable, "write", write)
    assert broken_by(3, **scene) in {"who was refused does not insist", "write units within budget"}


def test_one_write_in_vain_is_noticed_where_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DynamoTable.write

    def write(self: DynamoTable, change: Change) -> Record:
        if isinstance(change, Update) and "locked_at" in change.sets:
            with pytest.raises(ConditionFailed):
                whole(self, replace(change, conditions=(Equals("status", "nowhere"),)))
        return whole(self, change)

    monkeypatch.setattr(DynamoTable, "write", write)
    scene = {**_BUSY, "types": ("plain",), "actions": ("plain",), "modes": ("result",)}
    assert broken_by(3, **scene) == "write units within budget"


def test_an_action_that_is_recorded_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Operator.pause

    def pause(self: Operator, *given: Any, **said: Any) -> Any:
        whole(self, *given, **said)
        self.unpause(*given, **said)
        raise StoreUnavailableError("and its caller never heard of it")

    monkeypatch.setattr(Operator, "pause", pause)
    scene = {**_BUSY, "types": ("plain",), "chores": ("pause",), "operators": 1}
    assert broken_by(3, **scene) == "one audit record per action"


def test_a_slot_that_is_run_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def anew(slot: datetime, partition: JobPartition, *origin: str) -> str:
        return derive_job_id(slot, partition, *origin, str(next(numbers)))

    monkeypatch.setattr("leasehold.schedules.trigger.derive_job_id", anew)
    monkeypatch.setattr("leasehold.schedules.records.Equals", lambda name, _value: _Anything(name))
    scene = {"actions": ("scheduled",), "types": ("plain",), "chores": (), "latency": 0.2, "pollers": 3, "rush": None}
    assert broken_by(60, rates={}, jobs=4, calm_at=150.0, **scene) == "one job per schedule slot"


def _Anything(name: str) -> Any:  # noqa: N802  it stands for a condition
    from leasehold.kernel.table import AnyOf, Exists, Missing

    return AnyOf((Exists(name), Missing(name)))
