"""Guards that stand outside the transition table are missed too: inserts, seats, dedup records, schedule slots."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from leasehold.domain.ids import derive_job_id
from leasehold.store.table import Put
from tests.simulation.faults import Fault
from tests.simulation.simulation import simulate

if TYPE_CHECKING:
    from datetime import datetime

    import pytest

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
    broken = broken_by(40, rates=_LOST, deeds=("plain",), types=("plain",), chores=(), jobs=3, concurrency=None)
    assert broken in {
        "legal transitions",
        "no write from a lost lease",
        "end states absorb",
        "nobody overwrites what it has not seen",
    }


def test_a_second_job_for_a_dedup_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    broken = broken_by(40, rates={}, deeds=("deduplicated",), types=("plain",), chores=(), jobs=4)
    assert broken in {"one live job per dedup key", "dedup record and job agree"}


def test_a_seat_that_two_jobs_take_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = Put.guards

    def guards(put: Put) -> Any:
        return () if put.key.values[0].startswith("seat#") else whole.fget(put)

    monkeypatch.setattr(Put, "guards", property(guards))
    scene = {"deeds": ("plain",), "types": ("limited",), "chores": (), "latency": 0.2, "pollers": 3}
    broken = broken_by(60, rates={}, jobs=4, rush=2.0, concurrency=None, **scene)
    assert broken in {"a seat is taken once", "who runs keeps its seat"}


def test_a_slot_that_is_run_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()

    def anew(slot: datetime, shard: int, *origin: str) -> str:
        return derive_job_id(slot, shard, *origin, str(next(numbers)))

    monkeypatch.setattr("leasehold.engine.slot_job.derive_job_id", anew)
    monkeypatch.setattr("leasehold.store.schedules.Equals", lambda name, _value: _Anything(name))
    scene = {"deeds": ("scheduled",), "types": ("plain",), "chores": (), "latency": 0.2, "pollers": 3, "rush": None}
    assert broken_by(60, rates={}, jobs=4, calm_at=150.0, **scene) == "one job per schedule slot"


def _Anything(name: str) -> Any:  # noqa: N802  it stands for a condition
    from leasehold.domain.conditions import AnyOf, Exists, Missing

    return AnyOf((Exists(name), Missing(name)))
