"""A real browser: Chromium as the system has it, driven by Playwright."""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no Chromium on the PATH, so the console cannot be tried in a browser. `make browser` installs it where it can "
    "(Debian, as root); else install Chromium or Chrome yourself."
)


def chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)
