"""Mutation testing: is a change of the code's meaning noticed?

    python -m tests.mutate --count 300 --seed 1

Takes a random sample of mutants of the rooms, and runs for each the tests that run the changed lines, quickest first,
in a copy of the repository. What no test notices is printed: it is redundant code, a missing test, or an equivalent
change, which `equivalent.toml` lists with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypedDict, cast

from tests.mutate.mutants import Mutant, mutants_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]
LIBRARY = Path("layers/leasehold/python/leasehold")
ROOMS = ("kernel", "limits")
# What logic is tried with: no server, no deployed stack. Seeds of the simulation are asked about survivors only.
TESTS = ("tests/unit", "tests/contract", "tests/concurrency", "tests/groups", "tests/schedules", "tests/cost")
MARKS = "not deep and not dynoxide and not ministack and not browser"
SEEDS = 30
# Of the tests that run a changed line, so many seconds' worth are tried, the quickest first.
SECONDS_A_MUTANT = 40.0
_HANGS_AFTER = 600.0


class Covering(TypedDict):
    """A test that passes: how long it takes, and which lines of which files it runs."""

    test: str
    seconds: float
    lines: dict[str, list[int]]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rooms", nargs="+", default=ROOMS, help="folders or files of the library")
    arguments.add_argument("--tests", nargs="+", default=TESTS)
    arguments.add_argument("--at-once", type=int, default=2)
    arguments.add_argument("--covering", type=Path, help="keep, or take, what the run before the mutants found out")
    options = arguments.parse_args()

    rooms = [LIBRARY / room for room in options.rooms]
    sample = sample_of(rooms, options.count, options.seed)
    with tempfile.TemporaryDirectory(prefix="leasehold-mutate-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.at_once):
            copies.put(_copy(Path(folder) / str(number)))
        covering = covering_of(copies, rooms, options.tests, options.covering)

        def tried(mutant: Mutant) -> str:
            copy = copies.get()
            try:
                return outcome_of(mutant, copy, covering)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.at_once) as pool:
            outcomes = []
            for mutant, outcome in zip(sample, pool.map(tried, sample), strict=True):
                print(f"{outcome:9} {mutant}", flush=True)
                outcomes.append(outcome)
    sys.exit(report(sample, outcomes))


def sample_of(rooms: Iterable[Path], count: int, seed: int) -> list[Mutant]:
    every = [
        mutant
        for room in rooms
        for path in (sorted((ROOT / room).rglob("*.py")) if (ROOT / room).is_dir() else [ROOT / room])
        for mutant in mutants_of(ROOT, path)
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def covering_of(
    copies: SimpleQueue[Path], rooms: Sequence[Path], tests: Sequence[str], kept: Path | None
) -> list[Covering]:
    """The tests that pass, with how long each takes and which lines of the rooms it runs."""
    if kept and kept.exists():
        return cast("list[Covering]", json.loads(kept.read_text("utf-8")))
    copy = copies.get()
    print("==> running the tests once, to see which lines each of them runs", flush=True)
    found = copy / "covering.json"
    paths = os.pathsep.join(str(copy / room) for room in rooms)
    extra = {"LEASEHOLD_COVERING": str(found), "LEASEHOLD_ROOMS": paths}
    _pytest(copy, ["-p", "tests.mutate.covering", "-m", MARKS, *tests], extra, timeout=3600)
    covering = cast("list[Covering]", json.loads(found.read_text("utf-8")))
    for each in covering:
        each["lines"] = {str(Path(name).relative_to(copy)): lines for name, lines in each["lines"].items()}
    if kept:
        kept.write_text(json.dumps(covering), "utf-8")
    copies.put(copy)
    return covering


def outcome_of(mutant: Mutant, copy: Path, covering: list[Covering]) -> str:
    """Noticed, equivalent, or survived; a copy of the repository is changed and put right again."""
    if is_equivalent(mutant):
        return "listed"
    chosen = tests_for(mutant, covering)
    target = copy / mutant.path
    original = target.read_text("utf-8")
    target.write_text(mutant.text, "utf-8")
    try:
        if chosen and not _passes(copy, chosen):
            return "noticed"
        return "survived" if _holds_in_simulation(copy) else "noticed"
    finally:
        target.write_text(original, "utf-8")


def tests_for(mutant: Mutant, covering: list[Covering]) -> list[str]:
    wanted = set(mutant.lines)
    running = [(each["seconds"], each["test"]) for each in covering if wanted & set(each["lines"].get(mutant.path, ()))]
    chosen: list[str] = []
    left = SECONDS_A_MUTANT
    for seconds, test in sorted(running):
        if chosen and left < seconds:
            break
        left -= seconds
        chosen.append(test)
    return chosen


def is_equivalent(mutant: Mutant) -> bool:
    """Listed by what stands there, not by a line number, which the next change moves."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text("utf-8")).get("equivalent", [])
    mine = (mutant.path.removeprefix(f"{LIBRARY}/"), mutant.before, mutant.after)
    return any((each["file"], each["before"], each["after"]) == mine for each in listed)


def report(sample: Sequence[Mutant], outcomes: Sequence[str]) -> int:
    counts = {name: outcomes.count(name) for name in ("noticed", "listed", "survived")}
    survivors = [mutant for mutant, outcome in zip(sample, outcomes, strict=True) if outcome == "survived"]
    print(f"\n{len(sample)} mutants: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    print(f"noticed: {100 * counts['noticed'] / max(1, len(sample)):.1f} %")
    for mutant in survivors:
        print(f"  {mutant}")
    return 1 if survivors else 0


def _copy(target: Path) -> Path:
    """What git knows or would add, so that no file of the repository is ever changed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in (".venv", "node_modules"):
        if (ROOT / name).exists():
            (target / name).symlink_to(ROOT / name)
    return target


def _passes(copy: Path, tests: Sequence[str]) -> bool:
    chosen = copy / "chosen.txt"
    chosen.write_text("\n".join(tests), "utf-8")
    return _pytest(copy, ["-x", f"@{chosen}"], {}, timeout=_HANGS_AFTER) == 0


def _holds_in_simulation(copy: Path) -> bool:
    return _run(copy, ["-m", "tests.simulation", "--seeds", str(SEEDS)], {}, timeout=_HANGS_AFTER) == 0


def _pytest(copy: Path, arguments: Sequence[str], extra: dict[str, str], *, timeout: float) -> int:
    quiet = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return _run(copy, ["-m", "pytest", *quiet, *arguments], extra, timeout=timeout)


def _run(copy: Path, arguments: Sequence[str], extra: dict[str, str], *, timeout: float) -> int:
    path = os.pathsep.join([str(copy / LIBRARY.parent), str(copy)])
    try:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **extra},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return -1


if __name__ == "__main__":
    main()
