"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import leasehold

MODULES = sorted(module.name for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name):
    failed, _tried = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)

    assert failed == 0


def test_there_are_examples_that_really_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [
        example
        for name in MODULES
        for found in finder.find(import_module(name))
        for example in found.examples
        if not example.options.get(doctest.SKIP)
    ]

    assert len(examples) >= 10
