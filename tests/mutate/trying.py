"""One mutant, tried in a process of its own that ends with 0 if nobody noticed it."""

from __future__ import annotations

import os
import resource
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from tests.mutate.mutants import Mutant

ROOT = Path(__file__).parents[2]
# Imported once, before any mutant; nothing of the library, which is imported anew for each.
IMPORTED = ("pytest", "boto3", "botocore.client", "pydantic", "hypothesis", "aws_lambda_powertools", __name__)
SEEDS = 20
MEMORY_BYTES = 4 * 1024**3


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


def passes(mutant: Mutant, tests: Sequence[str]) -> None:
    """Run these tests until one fails."""
    _begin(mutant)
    quiet = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    # What is imported before is none of the tests'; see IMPORTED.
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    _end(int(pytest.main([*quiet, *tests])))


def holds_in_simulation(mutant: Mutant) -> None:
    _begin(mutant)
    from tests.simulation.simulation import simulate

    _end(int(any(simulate(seed).violation is not None for seed in range(SEEDS))))


def _begin(mutant: Mutant) -> None:
    # One that never ends shall not take the machine's memory with it.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(ROOT)
    assert not any(name.startswith("leasehold.") for name in sys.modules), "the library was imported before its mutant"
    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    # Before pytest, which puts its own finder before ours and rewrites what belongs to a plug-in, as the library does.
    import_module(finder.name)


def _end(code: int) -> None:
    # At once: threads that a mutant left behind are not waited for.
    os._exit(code)
