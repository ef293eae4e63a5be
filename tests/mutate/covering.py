"""Which tests run which lines: a pytest plug-in that writes it into a file of the folder $LEASEHOLD_COVERING."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import CodeType

_TOOL = sys.monitoring.COVERAGE_ID
_ROOMS = tuple(os.environ.get("LEASEHOLD_ROOMS", "").split(os.pathsep))
_seen: set[tuple[str, int]] = set()
_of_tests: dict[str, dict[str, list[int]]] = {}
_seconds: dict[str, float] = {}
_failed: set[str] = set()


def _line(code: CodeType, line: int) -> object:
    if code.co_filename.startswith(_ROOMS):
        _seen.add((code.co_filename, line))
    return sys.monitoring.DISABLE


def pytest_configure() -> None:
    sys.monitoring.use_tool_id(_TOOL, "leasehold-mutate")
    sys.monitoring.register_callback(_TOOL, sys.monitoring.events.LINE, _line)
    sys.monitoring.set_events(_TOOL, sys.monitoring.events.LINE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    # Once per line and test: whatever ran before is heard again.
    _seen.clear()
    sys.monitoring.restart_events()
    # The processor's time: by the clock each takes longer while others use the machine.
    began_at = time.process_time()
    answer = yield
    _seconds[item.nodeid] = time.process_time() - began_at
    lines: dict[str, list[int]] = {}
    for name, line in sorted(_seen):
        lines.setdefault(name, []).append(line)
    _of_tests[item.nodeid] = lines
    return answer


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:  # who fails without a mutant notices none
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    sys.monitoring.set_events(_TOOL, sys.monitoring.events.NO_EVENTS)
    found = [
        {"test": test, "seconds": _seconds[test], "lines": {_below_root(name): lines[name] for name in lines}}
        for test, lines in _of_tests.items()
        if lines and test not in _failed
    ]
    if found:
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        (Path(os.environ["LEASEHOLD_COVERING"]) / f"{worker}.json").write_text(json.dumps(found), "utf-8")


def _below_root(name: str) -> str:
    return str(Path(name).relative_to(Path(__file__).parents[2]))
