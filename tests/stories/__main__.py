"""Write every story anew, for somebody to look at what has changed: `make stories`."""

from __future__ import annotations

import sys

from tests.stories.all import STORIES
from tests.stories.story import text_of
from tests.stories.test_stories import KEPT


def main() -> None:
    KEPT.mkdir(exist_ok=True)
    wanted = sys.argv[1:] or list(STORIES)
    for name in wanted:
        (KEPT / f"{name}.txt").write_text(text_of(name), "utf-8")
    for path in KEPT.glob("*.txt"):
        if path.stem not in STORIES:
            path.unlink()
    print(f"{len(wanted)} stories written to {KEPT}; look at what has changed with git diff")


if __name__ == "__main__":
    main()
