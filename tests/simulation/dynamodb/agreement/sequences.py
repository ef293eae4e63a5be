"""Run one seeded sequence of calls on the model and on an engine, and stop at the first answer that differs."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from leasehold.store.definition import DEAD_LETTERS, JOBS
from leasehold.store.dynamodb.creation import creation_request
from leasehold.store.dynamodb.table import TableNames
from tests.simulation.dynamodb.agreement.comparison import outcome_of
from tests.simulation.dynamodb.agreement.hostile import Hostile
from tests.simulation.dynamodb.agreement.ordinary import Ordinary
from tests.simulation.dynamodb.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.dynamodb.agreement.comparison import Engine, Outcome
    from tests.simulation.dynamodb.agreement.differences import Difference

type Call = tuple[str, dict[str, Any]]

_LENGTH = 25
_GENERATORS: dict[str, type[Ordinary | Hostile]] = {"ordinary": Ordinary, "hostile": Hostile}


class Generator(Protocol):
    def call(self) -> Call: ...

    def remember(self, call: Call, answer: Outcome) -> None: ...


class Comparison:
    """One engine against the model, over many sequences. `met` counts the known differences that showed."""

    def __init__(self, engine: Engine, differences: Sequence[Difference], run: str) -> None:
        self._engine = engine
        self._differences = differences
        self._run = run
        self.met: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def run(self, kind: str, seed: int) -> None:
        names = TableNames(jobs=f"{kind}-{self._run}-{seed}-jobs", dead_letters=f"{kind}-{self._run}-{seed}-dead")
        model = Database(lambda: datetime.now(UTC))
        for definition in (JOBS, DEAD_LETTERS):
            for each in (model, self._engine):
                each.call("CreateTable", creation_request(definition, names.of(definition)))
        generator: Generator = _GENERATORS[kind](Random(seed), names)
        for number in range(_LENGTH):
            operation, request = generator.call()
            self.calls[operation] += 1
            ours = outcome_of(model, operation, request)
            theirs = self._theirs(operation, request, ours)
            assert theirs is None or ours == theirs, _report(kind, seed, number, operation, request, ours, theirs)
            generator.remember((operation, request), ours)

    def _theirs(self, operation: str, request: dict[str, Any], ours: Outcome) -> Outcome | None:
        """What the engine answers, with known differences taken out of both; nothing if it is not asked."""
        known = [each for each in self._differences if each.applies(operation, request, ours)]
        self.met.update(each.name for each in known)
        if any(each.forgive is None for each in known):
            assert "code" in ours or operation == "Query", "what an engine is not asked must change nothing"
            return None
        theirs = outcome_of(self._engine, operation, request)
        for each in known:
            assert each.forgive is not None
            each.forgive(ours)
            each.forgive(theirs)
        return theirs


def _report(*found: Any) -> str:
    kind, seed, number, operation, request, ours, theirs = found
    shown = re.sub(r"(.)\1{20,}", lambda same: f"{same[1]}*{len(same[0])}", json.dumps(request, ensure_ascii=False))
    differing = [name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)]
    lines = [f"{name}: the model {ours.get(name)!r}, the engine {theirs.get(name)!r}" for name in sorted(differing)]
    return "\n".join([f"{kind} sequence {seed}, call {number}: {operation} {shown}", *lines])
