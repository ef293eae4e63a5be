"""Runs mutants, some at once: each in a process of its own, and once more alone if it may only have been slow."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import time
from collections import deque
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import connection
from pathlib import Path
from signal import SIGXCPU
from typing import TYPE_CHECKING

import pytest

from tests.mutate.trying import IMPORTED, QUIET, ROOT, Exit, functions_in_memory, try_anew, try_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess
    from types import CodeType

    from tests.mutate.mutants import Mutant

# Who has not computed for so long waits for what does not come.
_STUCK_AFTER = 60.0
_PROGRESS = 0.05
STORIES = "tests/stories/"


@dataclass
class Trial:
    """A mutant, and who may notice it: these tests, and the simulation.

    by: who noticed it, or what ran last.
    """

    mutant: Mutant
    tests: Sequence[str]
    simulate: bool = True
    outcome: str = ""
    by: str = ""


def with_all_collected(tests: Sequence[str], marks: str, at_once: int, use: Callable[[Runner], None]) -> None:
    """Import everything, and collect these tests; then processes are forked from here."""
    plugin = _InsteadOfRunning(at_once, use)
    pytest.main([*QUIET, "--capture=sys", "-m", marks, *tests], plugins=[plugin])
    if plugin.error is not None:
        raise plugin.error


class _InsteadOfRunning:
    """A pytest plug-in: what was collected is handed on, with what has run so far."""

    def __init__(self, at_once: int, use: Callable[[Runner], None]) -> None:
        self._at_once, self._use = at_once, use
        self.error: Exception | None = None
        self._ran: set[tuple[str, int]] = set()
        self._tool = sys.monitoring.COVERAGE_ID
        sys.monitoring.use_tool_id(self._tool, "leasehold-mutate")
        sys.monitoring.register_callback(self._tool, sys.monitoring.events.PY_START, self._starts)
        sys.monitoring.set_events(self._tool, sys.monitoring.events.PY_START)

    def _starts(self, code: CodeType, _offset: int) -> object:
        self._ran.add((code.co_filename, code.co_firstlineno))
        return sys.monitoring.DISABLE

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import_module("tests.simulation.simulation")
        sys.monitoring.set_events(self._tool, sys.monitoring.events.NO_EVENTS)
        sys.monitoring.free_tool_id(self._tool)
        try:
            self._use(Runner({item.nodeid: item for item in session.items}, self._ran, self._at_once))
        except Exception as error:  # pytest would only print it, where nobody looks
            self.error = error
        return True


class Runner:
    def __init__(self, items: Mapping[str, pytest.Item], ran: set[tuple[str, int]], at_once: int) -> None:
        self._items, self._ran, self._at_once = items, ran, at_once
        self._functions = functions_in_memory()
        gc.collect()
        gc.freeze()  # else each process copies all of it as soon as it collects
        self._here = multiprocessing.get_context("fork")
        self._anew = multiprocessing.get_context("forkserver")
        self._anew.set_forkserver_preload(list(IMPORTED))
        self.seconds: Mapping[str, float] = {}

    def outcomes(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """As they end. What may only have been slow comes last, and is tried once more with the machine to itself."""
        slow = []
        for trial in self._run(trials, self._at_once):
            if trial.outcome == "timed out":
                slow.append(trial)
            else:
                yield trial
        for trial in self._run(slow, 1):
            trial.outcome = trial.outcome.replace("timed out", "noticed")
            yield trial

    def _run(self, trials: Iterable[Trial], at_once: int) -> Iterator[Trial]:
        waiting, running = deque(trials), list[_Running]()
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_Running(waiting[0], self._ways(waiting.popleft())))
            connection.wait([each.process.sentinel for each in running], timeout=5)
            for each in [each for each in running if each.has_ended()]:
                running.remove(each)
                if each.trial.outcome == "not here":
                    running.append(_Running(each.trial, self._ways_anew(each.trial)))
                else:
                    yield each.trial

    def _ways(self, trial: Trial) -> Iterator[_Way]:
        where = trial.mutant.function
        file = str(ROOT / trial.mutant.path)
        if where is None or any((file, line) in self._ran for line in where[0]):
            return self._ways_anew(trial)
        items = [self._items[each] for each in trial.tests]
        return iter([(self._here, try_here, (trial, self._functions, items, self.seconds))])

    def _ways_anew(self, trial: Trial) -> Iterator[_Way]:
        # Stories notice most, and only their own file has to be read for them.
        stories = [each for each in trial.tests if each.startswith(STORIES)]
        others = [each for each in trial.tests if each not in stories]
        if stories or not (others or trial.simulate):
            yield self._anew, try_anew, (trial.mutant, stories, False, self.seconds)
        if others or trial.simulate:
            yield self._anew, try_anew, (trial.mutant, others, trial.simulate, self.seconds)


type _Way = tuple[BaseContext, Callable[..., None], tuple[object, ...]]


class _Running:
    """A trial on its way, by one process after the other until one of them notices it."""

    def __init__(self, trial: Trial, ways: Iterator[_Way]) -> None:
        self.trial, self._ways = trial, ways
        trial.outcome = "survived"
        self._begin(next(ways))

    def _begin(self, way: _Way) -> None:
        context, target, given = way
        self._said, said = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=target, args=(*given, said))  # type: ignore[attr-defined]
        self.process.start()
        said.close()
        self._computed, self._moved_at = 0.0, time.monotonic()

    def has_ended(self) -> bool:
        self._listen()
        if self.process.exitcode is None:
            if not self._is_stuck():
                return False
            self.process.kill()
        self.process.join()
        self._listen()
        match self.process.exitcode:
            case Exit.PASSED:
                following = next(self._ways, None)
                if following:
                    self._begin(following)
                return not following
            case Exit.NOT_HERE:
                self.trial.outcome = "not here"
            case Exit.TIMED_OUT | None:
                self.trial.outcome = "timed out"
            case code if code < 0 and code != -SIGXCPU:
                self.trial.outcome = "timed out"
            case _:
                self.trial.outcome = "noticed"
        return True

    def _listen(self) -> None:
        try:
            while self._said.poll():
                self.trial.by = self._said.recv()
        except EOFError:
            pass

    def _is_stuck(self) -> bool:
        computed, now = _computed_by(self.process.pid), time.monotonic()
        if computed is None or computed - self._computed > _PROGRESS:
            self._computed, self._moved_at = computed or 0.0, now
        return now - self._moved_at > _STUCK_AFTER


def _computed_by(pid: int | None) -> float | None:
    """Seconds of the processor's time; unknown where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
