"""A handler that behaves as its payload says, and notes each time that it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.signals import Cancel, Skip, Snooze
from tests.crash.faults import Killed

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json
    from leasehold.runtime.handler import JobContext
    from tests.crash.world import World


class Work(BaseModel):
    mode: str = "result"


def handler_in(world: World) -> type[BaseJobHandler]:
    class WorkHandler(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Work

        def handle(self, payload: BaseModel, context: JobContext) -> Json:
            assert isinstance(payload, Work)
            world.executions[context.job_id] += 1
            world.deliver_late()
            return _behave(payload.mode, context, world)

    return WorkHandler


def _behave(mode: str, context: JobContext, world: World) -> Json:
    is_first_run = world.executions[context.job_id] == 1
    match mode:
        case "extend":
            context.extend()
        case "transact":
            context.transact_complete([world.counted(context.job_id)], result={"by": "transaction"})
        case "fail_once" if is_first_run:
            raise RuntimeError("not this time")
        case "fail":
            raise RuntimeError("never")
        case "snooze_once" if is_first_run:
            raise Snooze(30)
        case "die_once" if is_first_run:
            raise Killed("in the handler")
        case "skip":
            raise Skip("nothing to do")
        case "cancel":
            raise Cancel("no longer wanted")
        case "fail_after_cancel":
            if is_first_run:
                world.elsewhere.queue.cancel(context.job_id, reason="an operator said so")
            raise RuntimeError("stopped")
        case "die_after_cancel" if is_first_run:
            world.elsewhere.queue.cancel(context.job_id, reason="an operator said so")
            raise Killed("in the handler")
    return {"done": mode}
