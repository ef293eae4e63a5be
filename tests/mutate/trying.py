"""One mutant, tried in a process of its own, which says by its exit code what came of it, and by whom it was noticed.

Most processes are forked from one that has imported the library and collected the tests, and give the changed function
its new code. What runs when a file is imported is tried in a process that imports the library anew.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from enum import IntEnum
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    from tests.mutate.mutants import Mutant
    from tests.mutate.running import Trial

ROOT = Path(__file__).parents[2]
# Imported once, before any mutant; nothing of the library, which is imported anew for each.
IMPORTED = ("pytest", "boto3", "botocore.client", "pydantic", "hypothesis", "aws_lambda_powertools", __name__)
QUIET = ("-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")
SEEDS = 20
SIMULATION = "the simulation"
MEMORY_BYTES = 4 * 1024**3
# By the processor's time, not by the clock, which runs on while others use the machine: ten times as long as unchanged.
_SPINS_AFTER, _SPINS_TIMES, _A_SEED = 10.0, 10.0, 60.0
_TIMED_OUT = "from pytest-timeout"


class Exit(IntEnum):
    PASSED = 0
    NOTICED = 1
    TIMED_OUT = 20
    NOT_HERE = 21


class Watch:
    """A pytest plug-in that ends the process at the first test that fails, and says which it was."""

    def __init__(self, seconds: Mapping[str, float], said: Connection) -> None:
        self._seconds = seconds
        self._said = said

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        begin(item.nodeid, _SPINS_AFTER + _SPINS_TIMES * self._seconds.get(item.nodeid, 0.0), self._said)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(Exit.TIMED_OUT if _TIMED_OUT in str(report.longrepr) else Exit.NOTICED)


def begin(what: str, seconds: float, said: Connection) -> None:
    """What begins now, and for how long it may compute."""
    said.send(what)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, most))


type Functions = Mapping[tuple[str, int, str], Sequence[FunctionType]]


def functions_in_memory() -> Functions:
    """All that were made, by where each is written."""
    found: dict[tuple[str, int, str], list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            code = each.__code__
            found.setdefault((code.co_filename, code.co_firstlineno, code.co_name), []).append(each)
    return found


def try_here(
    trial: Trial,
    functions: Functions,
    items: Sequence[pytest.Item],
    seconds: Mapping[str, float],
    said: Connection,
) -> None:
    """In a process that was forked from one with all imported: change one function, run these tests until one fails."""
    _set_apart()
    if not give_new_code(trial.mutant, functions):
        os._exit(Exit.NOT_HERE)
    if items:
        hooks = items[0].config
        hooks.pluginmanager.register(Watch(seconds, said))
        for item, following in zip(items, [*items[1:], None], strict=True):
            hooks.hook.pytest_runtest_protocol(item=item, nextitem=following)
    if trial.simulate:
        _simulate(said)
    os._exit(Exit.PASSED)


def try_anew(
    mutant: Mutant,
    tests: Sequence[str],
    simulate: bool,
    seconds: Mapping[str, float],
    said: Connection,
) -> None:
    """Import the library with the mutant in the place of its file, and run these tests until one fails."""
    _set_apart()
    os.chdir(ROOT)
    assert not any(name.startswith("leasehold.") for name in sys.modules), "the library was imported before its mutant"
    said.send("the import")
    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    # Before pytest, which puts its own finder before ours and rewrites what belongs to a plug-in, as the library does.
    import_module(finder.name)
    if tests:
        # What is imported before is none of the tests'; see IMPORTED.
        options = [*QUIET, "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = int(pytest.main([*options, *tests], plugins=[Watch(seconds, said)]))
        if code:
            os._exit(Exit.NOTICED)
    if simulate:
        _simulate(said)
    os._exit(Exit.PASSED)


def _simulate(said: Connection) -> None:
    from tests.simulation.simulation import simulate

    for seed in range(SEEDS):
        begin(SIMULATION, _A_SEED, said)
        if simulate(seed).violation is not None:
            os._exit(Exit.NOTICED)


def _set_apart() -> None:
    # One that never ends shall not take the machine's memory with it.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def give_new_code(mutant: Mutant, functions: Functions) -> bool:
    """Whoever holds the function, a decorator or a class, holds the same one as before, with another body."""
    assert mutant.function is not None
    lines, name = mutant.function
    file = str(ROOT / mutant.path)
    module = compile(mutant.text, file, "exec", dont_inherit=True)
    new = [each for each in _codes_in(module) if (each.co_firstlineno, each.co_name) == (lines.start, name)]
    old = functions.get((file, lines.start, name), ())
    if len(new) != 1 or not old or any(each.__code__.co_freevars != new[0].co_freevars for each in old):
        return False
    for each in old:
        each.__code__ = new[0]
    return True


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes_in(each)


class _MutatedLoader(SourceFileLoader):
    """The mutant's text in the place of the file's."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)


class _Finder:
    def __init__(self, mutant: Mutant) -> None:
        self._text = mutant.text
        self._file = ROOT / mutant.path
        parts = Path(mutant.path).with_suffix("").parts
        self.name = ".".join(parts[parts.index("leasehold", 2) :]).removesuffix(".__init__")

    def find_spec(self, fullname: str, _path: Any = None, _target: Any = None) -> Any:
        if fullname != self.name:
            return None
        loader = _MutatedLoader(fullname, str(self._file))
        loader.text = self._text
        return spec_from_file_location(fullname, self._file, loader=loader)
