"""Property tests here repeat exactly and know no deadline: a slow machine must not make them fail."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("repeatable")
