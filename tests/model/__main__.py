"""Check the model in full, and write its figures into docs/model.md.

.venv/bin/python -m tests.model                           every search (`make model`)
.venv/bin/python -m tests.model claim_ENTRY_AS_READ       the shortest counterexample without one guard, in words
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.model import results as kept
from tests.model.guards import guards_of_the_model
from tests.model.redundant import REDUNDANT
from tests.model.results import FULL, SMALL, counterexample_of, figures_of
from tests.model.spin import Verifier, follow, missing_tool, version

if TYPE_CHECKING:
    from tests.model.spin import Search


def main(arguments: list[str]) -> int:
    lacking = missing_tool()
    if lacking:
        print(f"the model was not checked: {lacking}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="leasehold-model-") as folder:
        return _show(arguments[0], Path(folder)) if arguments else _check_all(Path(folder))


def _show(guard: str, folder: Path) -> int:
    if guard not in guards_of_the_model():
        print(f"{guard!r} is no guard of the model; there are: {', '.join(guards_of_the_model())}", file=sys.stderr)
        return 2
    if guard in REDUNDANT:
        print(f"nothing breaks without it, for it is implied by {REDUNDANT[guard]}")
        return 0
    print(follow(folder, SMALL, guard))
    return 0


def _check_all(folder: Path) -> int:
    found: dict[str, Any] = {"model": kept.model_hash(), "spin": version(), "runs": {}, "without": {}}
    print(f"==> building three verifiers with {found['spin']}", flush=True)
    searches = {
        "one job, safety": (SMALL, Verifier(folder / "small", SMALL)),
        "one job, any cycle": (SMALL, Verifier(folder / "cycles", SMALL, cycles=True)),
        "two jobs, safety": (FULL, Verifier(folder / "full", FULL)),
    }
    for name, (size, verifier) in searches.items():
        print(f"==> searching: {name} (two jobs take some minutes)", flush=True)
        search = verifier.search()
        if search.violation is not None:
            print(f"{search.violation.broken} is broken after {search.violation.steps} steps", file=sys.stderr)
            return 1
        found["runs"][name] = figures_of(size, search)
        print(f"    {search.states:,} states, depth {search.depth}, {search.memory_mb:,} MB, {search.seconds} s")
    unexpected = _without_each(found, Verifier(folder / "shortest", SMALL, shortest=True))
    if unexpected:
        print(f"not as tests/model/redundant.py says: {', '.join(unexpected)}", file=sys.stderr)
        return 1
    kept.save(found)
    kept.PAGE.write_text(kept.filled(kept.PAGE.read_text(), found))
    print(f"==> nothing is broken, and every guard is needed or implied; see {kept.PAGE.name}; next: make docs")
    return 0


def _without_each(found: dict[str, Any], verifier: Verifier) -> list[str]:
    """Search without each guard in turn; those that do not break, or break, against what is written of them."""
    print("==> taking away one guard at a time", flush=True)
    for name, number in guards_of_the_model().items():
        search = verifier.search(without=number)
        found["without"][name] = counterexample_of(search)
        print(f"    {name:36} {_told(search)}", flush=True)
    return [name for name, example in found["without"].items() if (example is None) != (name in REDUNDANT)]


def _told(search: Search) -> str:
    broken = search.violation
    return "is implied by others" if broken is None else f"breaks {broken.broken} after {broken.steps} steps"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
