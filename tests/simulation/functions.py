"""What runs in the containers: the entry points of the deployed functions, without Lambda around them."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.aws.handovers import handovers_in
from leasehold.aws.names import HELPER_SOURCE
from leasehold.aws.polling import Polling, Wake
from leasehold.functions.dead_letter_reporter import new_dead_letters
from leasehold.kernel.errors import DispatchError, LeaseholdError
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.operate.reports import report_dead_letters
from leasehold.pollers.waiting import WaitingSettings
from leasehold.runtime.worker import Worker
from leasehold.schedules.trigger import trigger
from tests.simulation.handlers import heartbeat
from tests.simulation.invariants.batches import check_batch
from tests.simulation.invariants.violation import Violation
from tests.simulation.invokes import POLLER, dispatcher_in

if TYPE_CHECKING:
    from leasehold.aws.dispatcher import LambdaDispatcher
    from leasehold.pollers.sharing import Part
    from tests.simulation.invocation import Invocation
    from tests.simulation.process import Process
    from tests.simulation.world import World

POLLERS_TIME = 40.0
_RESIDENCE = WaitingSettings(stay=timedelta(seconds=20), look_every=timedelta(seconds=8))


class Functions:
    def __init__(self, world: World) -> None:
        self._world = world

    def start(self, function: str, event: dict[str, Any], delay: float) -> None:
        invoke = self._world.fleet.invoke
        if function == POLLER:
            invoke(POLLER, "poller", lambda p, i: self._poll(p, i, event), timeout=POLLERS_TIME, delay=delay)
        elif function == "reporter":
            invoke("reporter", "reporter", lambda p, _: self._report(p, event), timeout=20.0, delay=delay)
        elif function == "trigger":
            invoke("trigger", "poller", lambda p, _: self._trigger(p, event), timeout=20.0, delay=delay)
        else:
            tokens = [each["token"] for each in event.get("batch", [event])]
            timeout = self._world.timeout_of(event["job_type"])
            invoke(
                function,
                "handler",
                lambda p, i: self._handle(p, i, event, timeout),
                tokens=tokens,
                timeout=timeout.total_seconds(),
                delay=delay,
            )

    def _trigger(self, process: Process, event: dict[str, Any]) -> None:
        trigger(event["schedule"], process.services, reads_jobs=False)

    def _poll(self, process: Process, invocation: Invocation, event: dict[str, Any]) -> None:
        world, wake = self._world, Wake.parse(event)
        dispatcher = dispatcher_in(world)
        if not world.plan.resides:
            settings = PollSettings(poll_limit=world.plan.page)
            poller = Poller(
                process.services,
                dispatcher,
                worker_id=invocation.worker_id,
                settings=settings,
                pool=process.services.pool,
                call_helper=lambda part: _call(dispatcher, part),
            )
            poller.poll(hints=wake.hints, part=wake.part)
            return
        polling = Polling(
            process.services,
            dispatcher,
            worker_id=invocation.worker_id,
            time_left=timedelta(seconds=POLLERS_TIME),
            start_another=lambda payload: dispatcher.invoke(POLLER, payload),
            waiting=_RESIDENCE,
        )
        # Signals are the test process's own.
        polling._should_stop.on_sigterm = lambda: lambda: None  # type: ignore[method-assign]
        polling.answer(wake)

    def poll_on(self, process: Process, invocation: Invocation) -> None:
        """A program of its own that polls until the trouble is over, with one poller and all that it remembers."""
        world = self._world
        settings = PollSettings(poll_limit=world.plan.page)
        poller = Poller(
            process.services,
            dispatcher_in(world),
            worker_id=invocation.worker_id,
            settings=settings,
            pool=process.services.pool,
        )
        while world.kernel.seconds < world.plan.calm_at:
            with suppress(LeaseholdError):
                poller.poll(should_stop=lambda: "calm" if world.kernel.seconds >= world.plan.calm_at else None)
            world.kernel.sleep(1.0)

    def _handle(self, process: Process, invocation: Invocation, event: dict[str, Any], timeout: timedelta) -> None:
        worker = Worker(
            process.services,
            self._world.handlers,
            worker_id=invocation.worker_id,
            limit_time=False,
            keep_alive=heartbeat,
        )
        handovers = handovers_in(event)
        try:
            check_batch(handovers)
        except Violation as violation:
            self._world.watch.blame(violation)
        if len(handovers) > 1:
            executions = worker.run_batch(handovers, remaining=timeout)
        else:
            executions = {handovers[0].job_id: worker.run(handovers[0], remaining=timeout)}
        for job_id, execution in executions.items():
            self._world.trace.note(invocation.worker_id, f"{job_id[-6:]} {execution}")

    def _report(self, process: Process, event: dict[str, Any]) -> None:
        dead_letters = new_dead_letters(event)
        untaken = report_dead_letters([job_id for _, job_id in dead_letters], process.services)
        if any(job_id in untaken for _, job_id in dead_letters):
            self.start("reporter", event, 5.0)


def _call(dispatcher: LambdaDispatcher, part: Part) -> None:
    event = {"source": HELPER_SOURCE, "part": part.number, "of": part.of}
    with suppress(DispatchError):
        dispatcher.invoke(POLLER, json.dumps(event).encode())
