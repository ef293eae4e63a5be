"""Write every story anew, for somebody to look at what has changed: `make stories`.

python -m tests.stories                                    all of them
python -m tests.stories a_plain_job --at 7 --fault "is lost"    show one in which this call goes wrong
"""

from __future__ import annotations

import argparse

from tests.stories.all import STORIES
from tests.stories.faults import TROUBLED, recovered, troubled
from tests.stories.recording import Fault
from tests.stories.story import text_of
from tests.stories.tables import TABLES, table_text
from tests.stories.test_stories import KEPT, TROUBLE, VALUES, WIRE
from tests.stories.wire import SCENES, wire_text


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("stories", nargs="*")
    arguments.add_argument("--at", type=int, help="the number of the call that goes wrong")
    arguments.add_argument("--fault", default="is lost")
    options = arguments.parse_args()
    if options.at is not None:
        here = recovered(options.stories[0], Fault(options.at, options.fault))
        print("\n".join([*here.recording.lines, "", "» in the end", *here.table.left()]))
        return
    TROUBLE.mkdir(parents=True, exist_ok=True)
    for name in options.stories or STORIES:
        (KEPT / f"{name}.txt").write_text(text_of(name), "utf-8")
    for name in options.stories or TROUBLED:
        if name in TROUBLED:
            (TROUBLE / f"{name}.txt").write_text(troubled(name), "utf-8")
    VALUES.mkdir(exist_ok=True)
    for name in TABLES:
        (VALUES / f"{name}.txt").write_text(table_text(name), "utf-8")
    WIRE.mkdir(exist_ok=True)
    for name in SCENES:
        (WIRE / f"{name}.txt").write_text(wire_text(name), "utf-8")
    for path in [*KEPT.glob("*.txt"), *TROUBLE.glob("*.txt")]:
        if path.stem not in (STORIES if path.parent == KEPT else TROUBLED):
            path.unlink()
    print(f"written to {KEPT}; look at what has changed with git diff")


if __name__ == "__main__":
    main()
