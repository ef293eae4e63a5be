"""Every story there is."""

from __future__ import annotations

from tests.stories import (
    corners,
    corners_of_limits,
    corners_of_meetings,
    corners_of_pollers,
    limited,
    plain_jobs,
    pollers,
    stored,
)
from tests.stories.story import STORIES

__all__ = [
    "STORIES",
    "corners",
    "corners_of_limits",
    "corners_of_meetings",
    "corners_of_pollers",
    "limited",
    "plain_jobs",
    "pollers",
    "stored",
]
