"""Every story there is."""

from __future__ import annotations

from tests.stories import limited, plain_jobs, pollers, stored
from tests.stories.story import STORIES

__all__ = ["STORIES", "limited", "plain_jobs", "pollers", "stored"]
