"""Options of jobs that are objects themselves: retry policies and dedup windows, told apart by their kind."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from leasehold.api.queries import Word
from leasehold.domain.dedup import Day, DedupWindow, UntilEnded, Within
from leasehold.domain.retry import Delays, Exponential, Fixed, RetryPolicy

type Seconds = Annotated[float, Field(ge=0, le=366 * 24 * 3600, allow_inf_nan=False)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UntilEndedWindow(Body):
    kind: Literal["until_ended"]

    def window(self) -> DedupWindow:
        return UntilEnded()


class WithinWindow(Body):
    kind: Literal["within"]
    seconds: Annotated[float, Field(gt=0, le=366 * 24 * 3600, allow_inf_nan=False)]

    def window(self) -> DedupWindow:
        return Within(timedelta(seconds=self.seconds))


class DayWindow(Body):
    kind: Literal["day"]
    timezone: Word = "UTC"

    def window(self) -> DedupWindow:
        return Day(self.timezone)


class ExponentialRetry(Body):
    kind: Literal["exponential"]
    base: Seconds = 60
    cap: Seconds = 6 * 3600
    jitter: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.1

    def policy(self) -> RetryPolicy:
        return Exponential(timedelta(seconds=self.base), timedelta(seconds=self.cap), self.jitter)


class FixedRetry(Body):
    kind: Literal["fixed"]
    delay: Seconds

    def policy(self) -> RetryPolicy:
        return Fixed(timedelta(seconds=self.delay))


class DelaysRetry(Body):
    kind: Literal["delays"]
    delays: Annotated[list[Seconds], Field(min_length=1, max_length=50)]

    def policy(self) -> RetryPolicy:
        return Delays(tuple(timedelta(seconds=each) for each in self.delays))


type Window = Annotated[UntilEndedWindow | WithinWindow | DayWindow, Field(discriminator="kind")]
type Retry = Annotated[ExponentialRetry | FixedRetry | DelaysRetry, Field(discriminator="kind")]
