"""Run one seeded sequence of calls on the model and on an engine, and stop at the first answer that differs."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.table import DEAD_LETTERS, JOBS
from tests.simulation.dynamodb.agreement.comparison import outcome_of
from tests.simulation.dynamodb.agreement.hostile import Hostile
from tests.simulation.dynamodb.agreement.ordinary import Ordinary
from tests.simulation.dynamodb.database import Database
from tests.tables import creation_request

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
    """One engine against the model, over many sequences. `met` counts the known differences that showed.

    asks_all: a call that the engine should not be sent is sent all the same, to see the difference. If it writes, the
    sequence ends with it, for the tables may have gone different ways.
    """

    def __init__(self, engine: Engine, differences: Sequence[Difference], run: str, *, asks_all: bool = False) -> None:
        self._engine = engine
        self._differences = differences
        self._run = run
        self._asks_all = asks_all
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
            known = [each for each in self._differences if each.applies(operation, request, ours)]
            if any(each.forgive is None for each in known):
                assert "code" in ours or operation == "Query", "what an engine is not asked must change nothing"
                if self._asks_all:
                    self._see(known, ours, outcome_of(self._engine, operation, request))
                    if operation != "Query":
                        return
            else:
                theirs = outcome_of(self._engine, operation, request)
                self._see(known, ours, theirs)
                _forgive(known, ours, theirs)
                assert ours == theirs, _report(kind, seed, number, operation, request, ours, theirs)
            generator.remember((operation, request), ours)

    def _see(self, known: Sequence[Difference], ours: Outcome, theirs: Outcome) -> None:
        """Count each difference that shows: with all others forgiven, the two answers are still not the same."""
        for each in known:
            others = [other for other in known if other is not each]
            mine, its = deepcopy(ours), deepcopy(theirs)
            _forgive(others, mine, its)
            self.met[each.name] += mine != its


def _forgive(differences: Sequence[Difference], *outcomes: Outcome) -> None:
    for each in differences:
        if each.forgive is not None:
            for outcome in outcomes:
                each.forgive(outcome)


def _report(*found: Any) -> str:
    kind, seed, number, operation, request, ours, theirs = found
    shown = re.sub(r"(.)\1{20,}", lambda same: f"{same[1]}*{len(same[0])}", json.dumps(request, ensure_ascii=False))
    differing = [name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)]
    lines = [f"{name}: the model {ours.get(name)!r}, the engine {theirs.get(name)!r}" for name in sorted(differing)]
    return "\n".join([f"{kind} sequence {seed}, call {number}: {operation} {shown}", *lines])
