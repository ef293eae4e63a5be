"""Every story there is."""

from __future__ import annotations

from tests.stories import corners, limited, plain_jobs, pollers, stored
from tests.stories.story import STORIES

__all__ = ["STORIES", "corners", "limited", "plain_jobs", "pollers", "stored"]
