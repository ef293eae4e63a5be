"""The errors are one tree, drawn in their module's docstring."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import leasehold
from leasehold.kernel import errors
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError, shown


def drawn_tree() -> list[tuple[int, str]]:
    """Depth and name of each class in the docstring."""
    lines = (errors.__doc__ or "").splitlines()
    named = [(match, line) for line in lines if (match := re.search(r"\w+Error", line)) and "roots" not in line]
    return [(match.start() // 4, match.group()) for match, _ in named]


def class_tree(root: type[LeaseholdError], depth: int = 0) -> list[tuple[int, str]]:
    drawn = [child for child in children(root) if child.__module__ == errors.__name__]
    return [(depth, root.__name__)] + [line for child in drawn for line in class_tree(child, depth + 1)]


def children(root: type[LeaseholdError]) -> list[type[LeaseholdError]]:
    ours = [child for child in root.__subclasses__() if child.__module__.startswith("leasehold.")]
    return sorted(ours, key=lambda child: inspect.getsourcelines(child)[1])


def every_error() -> list[type[LeaseholdError]]:
    for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
        import_module(module.name)
    found = [LeaseholdError]
    for error in found:
        found += children(error)
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_classes():
    every_error()

    assert class_tree(LeaseholdError) == drawn_tree()


def test_every_error_lives_in_the_tree_s_module_or_outside_of_the_kernel():
    modules = {error.__module__ for error in every_error()}

    assert {module for module in modules if module.startswith("leasehold.kernel.")} == {errors.__name__}


def test_every_error_has_a_code_of_its_own():
    codes = [vars(error).get("code") for error in every_error()]

    assert all(isinstance(code, str) and re.fullmatch(r"[a-z_]+", code) for code in codes)
    assert len(set(codes)) == len(codes)


def test_bad_input_is_a_value_error_that_says_value_reason_and_fix():
    error = InvalidOptionError(7, "max_attempts is too large", "Use less.")

    assert isinstance(error, ValueError)
    assert str(error) == "max_attempts is too large: got 7. Use less."
    assert (error.value, error.reason, error.fix) == (7, "max_attempts is too large", "Use less.")


def test_a_value_is_shown_shortened_and_never_breaks_the_message():
    assert shown("x" * 1000) == "'" + "x" * 119 + "… (1002 characters)"
    assert shown(10**5000) == "<int too large to show>"
