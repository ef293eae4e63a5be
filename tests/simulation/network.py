"""Between processes and DynamoDB: each call takes its time, and may meet a fault."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ConnectionClosedError

from tests.simulation.calls import Call, asked_of, refused_of
from tests.simulation.dynamodb.refusal import Refusal
from tests.simulation.faults import KILLS, Fault, possible_at
from tests.simulation.kernel import Killed
from tests.simulation.trace import described, keys_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.simulation.invocation import Invocation
    from tests.simulation.kernel import Task
    from tests.simulation.world import World

# Not struck: deployments have one order, else an earlier one with fewer shards could undo a later one.
DEPLOYMENT = "deployment"
_ADDRESS = "https://dynamodb.simulated"
# How long the platform may let a process stand still; one that outlives its time stands still for longer than a lease.
_STALLS = (2.0, 8.0, 15.0)
_LONG_STALLS = (15.0, 40.0, 90.0)


class Network:
    def __init__(self, world: World, random_source: Random) -> None:
        self._kernel = world.kernel
        self._database = world.database
        self._plan = world.plan
        self._random_source = random_source
        self._watch = world.watch
        self._trace = world.trace
        self._coverage = world.coverage
        # Told of each call before it arrives; it may let others come first.
        self.interject: Callable[[Invocation, str, dict[str, Any]], None] | None = None

    def draw(self, possible: tuple[Fault, ...]) -> Fault | None:
        """The fault that strikes now, if one does."""
        if self._kernel.seconds >= self._plan.calm_at:
            return None
        dice = self._random_source.random()
        for fault in possible:
            dice -= self._plan.rates.get(fault, 0.0)
            if dice < 0:
                return fault
        return None

    def _is_out(self) -> bool:
        now = self._kernel.seconds
        return now < self._plan.calm_at and any(since <= now < since + seconds for since, seconds in self._plan.outages)

    def latency(self) -> float:
        return self._random_source.expovariate(1 / self._plan.latency)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """One try of one call, as botocore sends it."""
        task = self._kernel.current()
        process = task.process
        assert process is not None
        if process.is_dead:
            raise Killed(task.name)
        invocation = process.invocation
        assert invocation is not None
        self._coverage.calls[operation] += 1
        fault = None if process.name == DEPLOYMENT else self.draw(possible_at(operation))
        if fault is not None:
            self.strike(task, fault, operation, request)
            if fault in {Fault.KILL_BEFORE, Fault.KILL_LATE}:
                if fault is Fault.KILL_LATE:
                    self._send_late(task, invocation, operation, request)
                process.die()
                raise Killed(task.name)
        self._kernel.sleep(self.latency())
        if self._is_out():
            self._coverage.outages[operation] += 1
            raise ConnectionClosedError(endpoint_url=_ADDRESS)
        if self.interject is not None:
            self.interject(invocation, operation, request)
        if fault is Fault.STALL:
            self._kernel.sleep(self._random_source.choice(_LONG_STALLS if self._plan.outlives else _STALLS))
        elif fault is not None and fault is not Fault.ECHO and fault not in KILLS:
            self._refuse(fault, operation, request, task, invocation)
        if fault in {Fault.ECHO, Fault.KILL_ECHO}:
            self._send_late(task, invocation, operation, request)
        if fault is Fault.CONFLICT:
            return self._apply_but_one(task, invocation, operation, request)
        answer = self.apply(task, invocation, operation, request)
        if fault in KILLS:
            process.die()
            raise Killed(task.name)
        return answer

    def strike(self, task: Task, fault: Fault, operation: str, request: dict[str, Any]) -> None:
        self._coverage.cells[fault, operation, self._watch.state_of(keys_of(operation, request))] += 1
        self._trace.note(task.name, f"{operation} {described(operation, request)}: {fault}")

    def _refuse(
        self, fault: Fault, operation: str, request: dict[str, Any], task: Task, invocation: Invocation
    ) -> None:
        match fault:
            case Fault.THROTTLE:
                raise Refusal("ProvisionedThroughputExceededException", "injected")
            case Fault.SERVER_ERROR:
                raise Refusal("InternalServerError", "injected")
            case Fault.CONFLICT if operation == "BatchExecuteStatement":
                return  # each of its statements has an answer of its own
            case Fault.CONFLICT:
                self._conflict(operation, request)
            case Fault.LOST_RESPONSE:
                with suppress(Refusal):
                    self.apply(task, invocation, operation, request, suffix="~unheard")
                raise ConnectionClosedError(endpoint_url=_ADDRESS)
            case _:
                raise ConnectionClosedError(endpoint_url=_ADDRESS)

    def _conflict(self, operation: str, request: dict[str, Any]) -> None:
        if operation in {"TransactWriteItems", "ExecuteTransaction"}:
            others = len(request.get("TransactItems") or request["TransactStatements"]) - 1
            reasons = [{"Code": "TransactionConflict"}, *({"Code": "None"} for _ in range(others))]
            raise Refusal("TransactionCanceledException", "injected", CancellationReasons=reasons)
        raise Refusal("TransactionConflictException", "injected")

    def _apply_but_one(
        self, task: Task, invocation: Invocation, operation: str, request: dict[str, Any]
    ) -> dict[str, Any]:
        """One statement of a batch meets a conflict, the others go through."""
        statements = list(request["Statements"])
        unlucky = self._random_source.randrange(len(statements))
        del statements[unlucky]
        responses = []
        if statements:
            others = {**request, "Statements": statements}
            responses = list(self.apply(task, invocation, operation, others)["Responses"])
        responses.insert(unlucky, {"Error": {"Code": "TransactionConflict", "Message": "injected"}})
        return {"Responses": responses}

    def _send_late(self, task: Task, invocation: Invocation, operation: str, request: dict[str, Any]) -> None:
        """A call that arrives when its process is dead, or has gone on."""

        def arrive() -> None:
            with suppress(Refusal):
                self.apply(task, invocation, operation, request, suffix="~late")

        self._kernel.later(self._random_source.choice((0.05, 1.0, 10.0, 30.0)), arrive)

    def apply(
        self, task: Task, invocation: Invocation, operation: str, request: dict[str, Any], *, suffix: str = ""
    ) -> dict[str, Any]:
        """What DynamoDB makes of it; looked at before anybody else goes on."""
        before = self._database.units.write_units
        try:
            answer = self._database.call(operation, request)
        except Refusal as refusal:
            reasons = refusal.fields.get("CancellationReasons", [refusal.fields])
            _remember({"Responses": {"": [each["Item"] for each in reasons if each.get("Item")]}}, invocation.refused)
            self._look(f"{task.name}{suffix}", invocation, operation, request, before, refusal=refusal)
            raise
        self._look(f"{task.name}{suffix}", invocation, operation, request, before, answer=answer)
        if operation in {"GetItem", "BatchGetItem"}:
            _remember(answer, invocation.seen)
        return answer

    def _look(
        self,
        who: str,
        invocation: Invocation,
        operation: str,
        request: dict[str, Any],
        units_before: float,
        *,
        answer: dict[str, Any] | None = None,
        refusal: Refusal | None = None,
    ) -> None:
        asked = asked_of(operation, request, self._database)
        call = Call(
            operation=operation,
            units=self._database.units.write_units - units_before,
            asked=asked,
            refused=refused_of(asked, answer or {}, refusal),
            # A suffix says that the answer goes nowhere.
            is_heard="~" not in who,
        )
        seen = self._watch.after_call(invocation, call)
        outcome = refusal.code.removesuffix("Exception") if refusal else "ok"
        self._trace.note(who, f"{operation} {described(operation, request)}: {outcome} {seen}")


def _remember(answer: dict[str, Any], items: dict[tuple[str, str], dict[str, Any]]) -> None:
    found = (
        [answer["Item"]]
        if "Item" in answer
        else [each for some in answer.get("Responses", {}).values() for each in some]
    )
    for item in found:
        if "job_type" in item and "PK" in item:
            items[item["PK"]["S"], item["SK"]["S"]] = item
