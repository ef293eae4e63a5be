"""Spin: build a verifier of the model, run it, and read what it found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
SOURCES = sorted([*HERE.glob("*.pml"), *HERE.glob("*.h")])
# Far below what the model's state vectors could fill: a machine is not to be brought down by a mistake in them.
MEMORY_LIMIT_MB = 12_000
_FOUND = re.compile(r"^pan:1: (?P<what>.*) \(at depth (?P<depth>\d+)\)", re.MULTILINE)
_PROPERTY = re.compile(r"^#define (\w+)\s+(\d+) /\* (.*) \*/", re.MULTILINE)

# Properties by the number that an assertion names, and what they say.
_NUMBERED = {int(number): name for name, number, _ in _PROPERTY.findall((HERE / "properties.h").read_text())}
PROPERTIES = {name: text for name, _, text in _PROPERTY.findall((HERE / "properties.h").read_text())}
ENDS = "ENDS"
PROPERTIES[ENDS] = "every job ends, whatever happened on the way"
NO_CYCLE = "NO_CYCLE"


class SpinFailedError(Exception):
    """A tool did not do its work; the message has what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much happens in a run of the model. `mishaps` are lost responses, second copies, early reads and the like."""

    workers: int = 3
    jobs: int = 2
    expiries: int = 3
    mishaps: int = 2

    @property
    def definitions(self) -> list[str]:
        return [f"-D{name}={getattr(self, name.lower())}" for name in ("WORKERS", "JOBS", "EXPIRIES", "MISHAPS")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    broken: str
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search saw. Without a violation it has seen everything there is."""

    violation: Violation | None
    states: int
    transitions: int
    depth: int
    memory_mb: int
    seconds: float


def missing_tool() -> str | None:
    """Why the model cannot be checked here, or None."""
    lacking = [name for name in ("spin", "gcc") if shutil.which(name) is None]
    return f"{' and '.join(lacking)} not found: run `make spin` as root on Debian, or install it" if lacking else None


def version() -> str:
    return _run(["spin", "-V"], Path.cwd()).strip()


class Verifier:
    """The model, compiled. `shortest` finds the shortest way to a violation, `cycles` any cycle at all."""

    def __init__(self, folder: Path, size: Size, *, shortest: bool = False, cycles: bool = False) -> None:
        self._folder = folder
        self._arguments = ["-w22" if size.jobs == 1 else "-w26", "-m100000", *(["-l"] if cycles else [])]
        folder.mkdir(parents=True, exist_ok=True)
        for source in SOURCES:
            shutil.copy(source, folder)
        # Compiled out where no guard is ever missing: the check of each costs the long search a quarter of its time.
        fixed = [] if shortest else ["-DWITHOUT=0"]
        _run(["spin", *size.definitions, *fixed, "-a", "lease.pml"], folder)
        kind = ["-DNP"] if cycles else ["-DSAFETY", *(["-DBFS"] if shortest else [])]
        limit = f"-DMEMLIM={MEMORY_LIMIT_MB}"
        effort = "-O1" if size.jobs == 1 else "-O2"  # a short search is over before -O2 has paid for itself
        _run(["gcc", "-w", effort, "-DCOLLAPSE", limit, *kind, "-o", "verifier", "pan.c"], folder)

    def search(self, *, without: int = 0) -> Search:
        started = time.monotonic()
        text = _run(["./verifier", *self._arguments], self._folder, {"WITHOUT": str(without)})
        return _search_of(text, time.monotonic() - started)


def follow(folder: Path, size: Size, guard: str) -> str:
    """The steps of the shortest counterexample, in words."""
    for source in SOURCES:
        shutil.copy(source, folder)
    chosen = [*size.definitions, "-DKEEP_NAMES", f"-DWITHOUT={guard}"]
    expanded = _run(["gcc", "-E", "-P", "-x", "c", *chosen, "lease.pml"], folder)
    (folder / "told.pml").write_text(_with_whole_texts(expanded))
    _run(["spin", "-a", "told.pml"], folder)
    _run(["gcc", "-w", "-O1", "-DCOLLAPSE", "-DSAFETY", "-DBFS", "-o", "verifier", "pan.c"], folder)
    _run(["./verifier", "-w22"], folder)
    told = _run(["spin", "-t", "told.pml"], folder)
    return "\n".join(line.strip() for line in told.splitlines() if re.search(r"\bjob \d+: ", line))


def _with_whole_texts(model: str) -> str:
    """Promela neither joins texts that stand next to each other nor prints one by %s: both are done here."""
    joined = re.sub(r'"\s+"', "", model)
    return re.sub(r'printf\("([^"]*)%s([^"]*)", (.*?), "([^"]*)"\)', r'printf("\1\4\2", \3)', joined)


def _search_of(text: str, seconds: float) -> Search:
    if "Search not completed" in text and not _FOUND.search(text):
        raise SpinFailedError(f"the search did not come to its end:\n{text}")
    found = _FOUND.search(text)
    return Search(
        violation=_violation_of(found["what"], int(found["depth"])) if found else None,
        states=int(_figure(text, r"([\d.e+]+) states, stored")),
        transitions=int(_figure(text, r"([\d.e+]+) transitions")),
        depth=int(_figure(text, r"depth reached (\d+)")),
        memory_mb=round(_figure(text, r"([\d.]+)\s+total actual memory usage")),
        seconds=round(seconds, 1),
    )


def _violation_of(what: str, depth: int) -> Violation:
    number = re.search(r"broken!=(\d+)", what)
    if number:
        return Violation(broken=_NUMBERED[int(number[1])], steps=depth + 1)
    return Violation(broken=ENDS if "invalid end state" in what else NO_CYCLE, steps=depth)


def _figure(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise SpinFailedError(f"the verifier said nothing like {pattern!r}:\n{text}")
    return float(found[1])


def _run(command: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **(variables or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SpinFailedError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout
