"""The tables' streams: what wakes pollers and reporters; records come late, twice, in another order, or never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.faults import AT_RECORDS, Fault

if TYPE_CHECKING:
    from tests.simulation.world import World


class Streams:
    def __init__(self, world: World) -> None:
        self._world = world
        self._wakes: list[Any] = []
        self._dead_letters: list[Any] = []
        self._sequence = 0

    def note(self, table: str, old: Any, new: Any) -> None:
        """A change was made. Filters let through what the deployed ones let through."""
        world = self._world
        if new is None:
            return
        if table == world.names.jobs:
            if world.plan.wakes and new.get("wake") == {"BOOL": True}:
                record = {"eventSource": "aws:dynamodb", "eventName": "MODIFY", "dynamodb": {"NewImage": new}}
                self._take(record, self._wakes, "wake")
        elif table == world.names.dead_letters and old is None:
            self._sequence += 1
            change = {"Keys": {"id": new["id"]}, "SequenceNumber": str(self._sequence)}
            self._take(
                {"eventSource": "aws:dynamodb", "eventName": "INSERT", "dynamodb": change}, self._dead_letters, "letter"
            )

    def _take(self, record: Any, waiting: list[Any], kind: str) -> None:
        world = self._world
        fault = world.network.draw(AT_RECORDS)
        if fault is not None:
            world.coverage.cells[fault, f"{kind} record", "-"] += 1
            world.trace.note("stream", f"{kind} record: {fault}")
        if fault is Fault.RECORD_DROPPED:
            return
        if fault is Fault.RECORD_LATE:
            delay = world.random_source.choice((1.0, 10.0, 40.0))
            world.kernel.later(delay, lambda: self._add(record, waiting, kind))
            return
        for _ in range(2 if fault is Fault.RECORD_TWICE else 1):
            self._add(record, waiting, kind)

    def _add(self, record: Any, waiting: list[Any], kind: str) -> None:
        waiting.append(record)
        if len(waiting) == 1:
            self._world.kernel.later(self._world.random_source.uniform(0.05, 1.5), lambda: self._flush(waiting, kind))

    def _flush(self, waiting: list[Any], kind: str) -> None:
        records, waiting[:] = list(waiting), []
        if Fault.RECORD_LATE in self._world.plan.rates:
            self._world.random_source.shuffle(records)
        event = {"Records": records}
        self._world.start("poller" if kind == "wake" else "reporter", event, 0.0)
