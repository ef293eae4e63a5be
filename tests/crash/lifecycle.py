"""The core lifecycle for pairs of faults, one job each: few calls, since every pair of them is struck."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.crash import enqueueing, polling, running
from tests.crash.faults import INVOKE
from tests.crash.polling import poll
from tests.crash.scenario import Scenario
from tests.crash.world import unreachable

if TYPE_CHECKING:
    from tests.crash.world import Process, World

_KNOWN = {each.name: each for each in (*enqueueing.SCENARIOS, *polling.SCENARIOS, *running.SCENARIOS)}


def _one_due(world: World) -> None:
    world.enqueue()


def _one_due_with_a_key(world: World) -> None:
    world.enqueue(dedup_key="k")


def _poll_without_handlers(process: Process, _prepared: object) -> object:
    return poll(process, None, deliver=unreachable)


SCENARIOS = (
    _KNOWN["enqueue"],
    _KNOWN["enqueue with a new dedup key"],
    _KNOWN["enqueue with a dedup key that is free again"],
    Scenario(name="claim one", prepare=_one_due, act=poll, calls=("UpdateItem", INVOKE)),
    Scenario(name="claim one with a key", prepare=_one_due_with_a_key, act=poll, calls=("UpdateItem", INVOKE)),
    Scenario(
        name="release one", prepare=_one_due, act=_poll_without_handlers, calls=("UpdateItem", INVOKE, "UpdateItem")
    ),
    _KNOWN["start and complete"],
    _KNOWN["complete a deduplicated job"],
    # With attempts enough for two workers that are lost on the way.
    replace(_KNOWN["fail, to be tried again"], prepare=running.claimed("fail_once", max_attempts=5)),
    _KNOWN["fail for the last time"],
    _KNOWN["reap a job that no handler was reached for"],
    _KNOWN["reap a lost worker's job"],
    _KNOWN["reap a lost worker's last attempt"],
)
