"""One handler for every scenario: a test scripts what each of its runs does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold import BaseJobHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold import JobContext
    from leasehold.kernel.payload import Json

    type Step = Json | BaseException | Callable[[JobContext], Json]


class Work(BaseModel):
    n: int = 0


@dataclass
class Script:
    """What the next runs return, raise or do; a run without a step returns nothing. `seen` lists every run."""

    steps: deque[Step] = field(default_factory=deque)
    seen: list[tuple[str, int]] = field(default_factory=list)

    def then(self, *steps: Step) -> None:
        self.steps.extend(steps)

    def play(self, context: JobContext) -> Json:
        self.seen.append((context.job_id, context.attempt))
        step = self.steps.popleft() if self.steps else None
        if isinstance(step, BaseException):
            # Tests share some, and each raise would add to its traceback: slower to print, and no world is ever freed.
            raise step.with_traceback(None)
        return step(context) if callable(step) else step


def scripted(script: Script) -> type[BaseJobHandler]:
    class Scripted(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Work

        def handle(self, payload: BaseModel, context: JobContext) -> Json:
            return script.play(context)

    return Scripted
