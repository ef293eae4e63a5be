"""A function is changed where it stands: whoever holds it, by whatever name, has the mutant's."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import pytest

from tests.mutate.mutants import Mutant, mutants_of
from tests.mutate.trying import functions_in_memory, give_new_code

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
from functools import cache

LIMIT = 3


class Base:
    def bound(self):
        return 7


class Lane(Base):
    @property
    def is_full(self):
        return 2 < LIMIT

    def bound(self):
        return super().bound()


@cache
def seats(more=4):
    return sum(each for each in (1, more))
"""


@pytest.fixture
def module(tmp_path: Path) -> Any:
    (tmp_path / "lanes.py").write_text(TEXT, "utf-8")
    spec = spec_from_file_location("lanes", tmp_path / "lanes.py")
    assert spec
    assert spec.loader
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def mutant(tmp_path: Path, before: str, after: str) -> Mutant:
    (found,) = (each for each in mutants_of(tmp_path.parent, tmp_path / "lanes.py") if each.before == before)
    assert found.after == after
    return Mutant(**{**vars(found), "path": str(tmp_path / "lanes.py")})


def test_a_property_and_what_is_behind_a_decorator_are_changed(tmp_path: Path, module: Any) -> None:
    lane, functions = module.Lane(), functions_in_memory()

    assert give_new_code(mutant(tmp_path, "2 < LIMIT", "(2) <= (LIMIT)"), functions)
    assert give_new_code(mutant(tmp_path, "1", "2"), functions)

    module.LIMIT = 2
    assert lane.is_full
    assert module.seats() == 6


def test_what_runs_once_at_the_import_is_in_no_function(tmp_path: Path, module: Any) -> None:
    assert mutant(tmp_path, "3", "4").function is None
    assert mutant(tmp_path, "4", "5").function is None


def test_a_function_that_needs_no_class_any_more_is_imported_anew(tmp_path: Path, module: Any) -> None:
    assert not give_new_code(mutant(tmp_path, "return super().bound()", "return None"), functions_in_memory())
