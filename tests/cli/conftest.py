"""What tests of the operators' commands share."""

from __future__ import annotations

import pytest

from tests.cli.operators_shell import Shell


@pytest.fixture
def shell() -> Shell:
    return Shell()
