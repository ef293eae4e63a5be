"""Asynchronous invokes, as Lambda takes them: accepted at once, run a little later, perhaps twice, perhaps never."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.aws.dispatcher import LambdaDispatcher, wake_poller
from tests.simulation.faults import AT_INVOKES, Fault
from tests.simulation.kernel import Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.simulation.world import World

POLLER = "poller"
_ACCEPTED = {"StatusCode": 202}
# As `max_event_age` of the simulated types: Lambda drops what waited longer.
OLDEST_EVENT = 6.0


class Lambda:
    """The part of a Lambda client that a dispatcher uses."""

    def __init__(self, world: World) -> None:
        self._world = world

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        world = self._world
        task = world.kernel.current()
        assert task.process is not None
        if task.process.is_dead:
            raise Killed(task.name)
        world.coverage.calls["Invoke"] += 1
        fault = world.network.draw(AT_INVOKES)
        event = json.loads(Payload)
        if fault is not None:
            world.coverage.cells[fault, "Invoke", world.state_of_job(event.get("job_id"))] += 1
        world.trace.note(task.name, f"Invoke {FunctionName} {event.get('job_id', '')[-6:]}: {fault or 'accepted'}")
        if fault is Fault.KILL_BEFORE:
            task.process.die()
            raise Killed(task.name)
        world.kernel.sleep(world.network.latency())
        if fault is Fault.INVOKE_REFUSED:
            raise ClientError({"Error": {"Code": "TooManyRequestsException", "Message": "injected"}}, "Invoke")
        copies = 0 if fault is Fault.INVOKE_DROPPED else 2 if fault is Fault.INVOKE_TWICE else 1
        for _ in range(copies):
            delay = world.random_source.uniform(0.0, 0.05)
            if fault in {Fault.INVOKE_LATE, Fault.INVOKE_TWICE}:
                delay = world.random_source.uniform(0.0, OLDEST_EVENT * (8 if world.plan.outlives else 1))
            world.start(FunctionName, event, delay)
        if fault is Fault.KILL_AFTER:
            task.process.die()
            raise Killed(task.name)
        return _ACCEPTED


def dispatcher_in(world: World) -> LambdaDispatcher:
    return LambdaDispatcher(Lambda(world))  # type: ignore[arg-type]


def waker_in(world: World) -> Callable[[Sequence[str]], None]:
    return partial(wake_poller, dispatcher_in(world), POLLER)
