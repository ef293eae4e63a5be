"""Every example type is tested with the settings that its own folder deploys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.job_folders.folder import load_job_folder
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.runtime.handler import BaseJobHandler

ROOT = Path(__file__).parents[3]

type Deploy = Callable[[str, type[BaseJobHandler]], LeaseholdTest]


@pytest.fixture
def deploy() -> Deploy:
    """Make a queue in memory that holds one job type, as its job.toml says."""

    def make(name: str, handler: type[BaseJobHandler]) -> LeaseholdTest:
        return LeaseholdTest({name: handler}, types=[load_job_folder(ROOT, name).job_type])

    return make
