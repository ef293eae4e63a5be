"""Mutation testing: is a change of the code's meaning noticed?

    python -m tests.mutate --count 300 --seed 1

Takes a random sample of mutants of the rooms, and runs for each the tests that run the changed lines, quickest first,
until one fails. Each runs in a process of its own, and no file is changed (`trying.py`). What no test notices is
printed: it is redundant code, a missing test, or an equivalent change, which `equivalent.toml` lists with its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypedDict

from tests.mutate.mutants import Mutant, mutants_of
from tests.mutate.running import STORIES, Runner, Trial, with_all_collected
from tests.mutate.trying import SIMULATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]
LIBRARY = Path("layers/leasehold/python/leasehold")
ROOMS = ("kernel", "limits", "pollers")
FEATURES = (
    *("admin", "audit", "aws", "batches", "bulk", "circuit_breaker", "direct_runs", "groups", "operate", "queue"),
    *("restore", "runtime", "schedules", "schemas", "telemetry", "templates", "testing", "webhooks"),
)
# What logic is tried with: no server, no deployed stack. Seeds of the simulation are asked about survivors only.
TESTS = (
    "tests/stories",
    "tests/kernel",
    "tests/limits",
    "tests/pollers",
    "tests/contract",
    "tests/concurrency",
    "tests/cost",
    "tests/simulation",
    "tests/properties",
    *(f"tests/{room}" for room in FEATURES),
)
MARKS = "not deep and not dynoxide and not ministack and not browser and not slow"
# Of the tests that run a changed line, so many seconds' worth are tried, the quickest first.
SECONDS_A_MUTANT = 45.0


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
    began_at = time.monotonic()
    covering = covering_of(rooms, options.tests, options.covering, at_once=options.at_once)
    # What tests print is nobody's; what is found out is printed here.
    shown = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    found: list[Trial] = []

    def try_all(runner: Runner) -> None:
        runner.seconds = {each["test"]: each["seconds"] for each in covering}
        waiting = [mutant for mutant in sample if not is_equivalent(mutant)]
        found.extend(Trial(mutant, (), outcome="listed") for mutant in sample if is_equivalent(mutant))
        sound, left_out = set[str](), set[str]()
        while waiting:
            tried = []
            trials = [Trial(mutant, tests_for(mutant, covering), SIMULATION not in left_out) for mutant in waiting]
            for trial in runner.outcomes(trials):
                tried.append(trial)
                done = f"{len(found) + len(tried)} of {len(sample)}, {time.monotonic() - began_at:.0f} s"
                by = f" by {trial.by}" if trial.outcome == "noticed" else ""
                print(f"{trial.outcome:9} {trial.mutant}{by}   ({done})", flush=True, file=shown)
            # Who notices the library as it is would notice any mutant.
            unsound = noticing_nothing(runner, [each for each in tried if each.by not in sound])
            sound |= {each.by for each in tried} - unsound
            left_out |= unsound
            covering[:] = [each for each in covering if each["test"] not in unsound]
            for test in sorted(unsound):
                print(f"{test} fails without a mutant, too: left out", flush=True, file=shown)
            waiting = [each.mutant for each in tried if each.outcome == "noticed" and each.by in unsound]
            found.extend(each for each in tried if each.mutant not in waiting)

    with_all_collected(options.tests, MARKS, options.at_once, try_all)
    sys.exit(report(found, shown) if len(found) == len(sample) else "the tests cannot be collected")


def noticing_nothing(runner: Runner, tried: Iterable[Trial]) -> set[str]:
    """Those of the tests that noticed these mutants which also fail without them."""
    by = {each.by: each.mutant for each in tried if each.outcome == "noticed"}
    controls = [
        Trial(unchanged(mutant), [test] if "::" in test else [], simulate=test == SIMULATION)
        for test, mutant in by.items()
    ]
    names = {id(control): test for control, test in zip(controls, by, strict=True)}
    return {names[id(each)] for each in runner.outcomes(controls) if each.outcome != "survived"}


def sample_of(rooms: Iterable[Path], count: int, seed: int) -> list[Mutant]:
    every = [
        mutant
        for room in rooms
        for path in (sorted((ROOT / room).rglob("*.py")) if (ROOT / room).is_dir() else [ROOT / room])
        for mutant in mutants_of(ROOT, path)
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def unchanged(mutant: Mutant) -> Mutant:
    return replace(mutant, text=(ROOT / mutant.path).read_text("utf-8"))


def covering_of(rooms: Sequence[Path], tests: Sequence[str], kept: Path | None, *, at_once: int) -> list[Covering]:
    """The tests that pass, with how long each takes and which lines of the rooms it runs."""
    if kept and kept.exists():
        return _read_covering([kept])
    print("==> running the tests once, to see which lines each of them runs", flush=True)
    with tempfile.TemporaryDirectory(prefix="leasehold-mutate-") as folder:
        paths = os.pathsep.join(str(ROOT / room) for room in rooms)
        quiet = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", str(at_once)]
        subprocess.run(
            [sys.executable, "-m", "pytest", *quiet, "-p", "tests.mutate.covering", "-m", MARKS, *tests],
            cwd=ROOT,
            env={**os.environ, "LEASEHOLD_COVERING": folder, "LEASEHOLD_ROOMS": paths},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        covering = _read_covering(sorted(Path(folder).glob("*.json")))
    print(f"==> {len(covering)} tests run them", flush=True)
    if kept:
        kept.write_text(json.dumps(covering), "utf-8")
    return covering


def _read_covering(files: Iterable[Path]) -> list[Covering]:
    return [each for file in files for each in json.loads(file.read_text("utf-8"))]


def tests_for(mutant: Mutant, covering: list[Covering]) -> list[str]:
    files = {path for each in covering for path in each["lines"]} if mutant.names else set()
    names = with_those_made_of_it(mutant.names, frozenset(files))
    places = {path: lines_naming(path, names) for path in files}
    places[mutant.path] = places.get(mutant.path, set()) | set(mutant.lines)
    running = []
    for each in covering:
        runs = {path for path, wanted in places.items() if not wanted.isdisjoint(each["lines"].get(path, ()))}
        if runs:
            running.append((each["seconds"], each["test"]))
    if not running:  # only an import runs it: whoever runs the file may notice
        running = [(each["seconds"], each["test"]) for each in covering if mutant.path in each["lines"]]
    chosen: list[str] = []
    left = SECONDS_A_MUTANT
    for seconds, test in sorted(running):
        if chosen and left < seconds:
            break
        left -= seconds
        chosen.append(test)
    # Stories notice most.
    return sorted(chosen, key=lambda test: not test.startswith(STORIES))


@cache
def with_those_made_of_it(names: tuple[str, ...], files: frozenset[str]) -> tuple[str, ...]:
    """These constants, and those that are made of one of them."""
    found = set(names)
    for path in sorted(files):
        lines = (ROOT / path).read_text("utf-8").splitlines()
        made = (re.match(r"(\w+) = (.*)", lines[number - 1]) for number in sorted(lines_naming(path, names)))
        found |= {each[1] for each in made if each}
    return names if found == set(names) else with_those_made_of_it(tuple(sorted(found)), files)


@cache
def lines_naming(path: str, names: tuple[str, ...]) -> set[int]:
    naming = re.compile(rf"\b(?:{'|'.join(names)})\b")
    lines = (ROOT / path).read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if naming.search(line)}


def is_equivalent(mutant: Mutant) -> bool:
    """Listed by what stands there, not by a line number, which the next change moves."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text("utf-8"))
    file = mutant.path.removeprefix(f"{LIBRARY}/")
    line = (ROOT / mutant.path).read_text("utf-8").splitlines()[mutant.lines.start - 1].strip()
    mine = {"file": file, "before": mutant.before, "after": mutant.after, "line": line}
    if any(all(each[key] == mine[key] for key in mine if key in each) for each in listed["equivalent"]):
        return True
    is_one_more = mutant.before.isdigit() and mutant.after == str(int(mutant.before) + 1)
    tuned = {name for each in listed["tuning"] if each["file"] == file for name in each["constants"]}
    return is_one_more and bool(mutant.names) and tuned.issuperset(mutant.names)


def report(found: Sequence[Trial], shown: TextIO) -> int:
    counts = {name: sum(each.outcome == name for each in found) for name in ("noticed", "listed", "survived")}
    survivors = sorted(str(each.mutant) for each in found if each.outcome == "survived")
    print(f"\n{len(found)} mutants: " + ", ".join(f"{count} {name}" for name, count in counts.items()), file=shown)
    print(f"noticed: {100 * counts['noticed'] / max(1, len(found)):.1f} %", file=shown)
    for mutant in survivors:
        print(f"  {mutant}", file=shown, flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    main()
