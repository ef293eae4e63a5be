"""A seed is all that it takes to see the same run again."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

from tests.simulation import many
from tests.simulation.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

_SEEDS = range(40, 42)
_PROGRAM = f"""
from tests.simulation.simulation import simulate
for seed in range({_SEEDS.start}, {_SEEDS.stop}):
    print(simulate(seed).digest)
"""


def test_the_same_seed_gives_the_same_trace() -> None:
    first, again = simulate(7), simulate(7)
    assert first.lines == again.lines
    assert len(first.lines) > 50


def test_another_seed_gives_another_trace() -> None:
    assert simulate(7).digest != simulate(8).digest


def test_seeds_that_are_run_twice_are_named_if_their_traces_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    assert many.unlike(7, 2, 1) == []

    monkeypatch.setattr(many, "pool", lambda _: _InOrder())
    stamps = iter("aabb")
    monkeypatch.setattr(many, "traces", lambda start, count: [next(stamps) for _ in range(count)])
    assert many.unlike(7, 2, 1) == [7, 8]


class _InOrder:
    """Does what it is given at once, in this process."""

    def __enter__(self) -> _InOrder:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left to do."""

    def submit(self, work: Callable[..., object], *given: object) -> Future[object]:
        done: Future[object] = Future()
        done.set_result(work(*given))
        return done


@pytest.mark.slow
def test_a_trace_is_the_same_in_every_process_whatever_its_hashes() -> None:
    here = [simulate(seed).digest for seed in _SEEDS]
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert there.stdout.split() == here, f"with PYTHONHASHSEED={hash_seed}"
