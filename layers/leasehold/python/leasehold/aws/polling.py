"""The poller as a Lambda function: what each kind of event makes it do."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.aws.wake import hints_of, is_stream_event
from leasehold.domain.lean import dataclass
from leasehold.domain.wakes import FREED_SOURCE, RESIDENT_SOURCE
from leasehold.engine.reside import ResidenceSettings, Resident
from leasehold.engine.stopping import Stopping
from leasehold.engine.telemetry import RESIDENT, STREAM, TICK, WAKE_UPS
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.store.jobs import DueScope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.kernel.report import PollReport
    from leasehold.store.jobs import DueJob

# A wake holds up its stream, or is one of many: what takes longer is left to the poller that waits.
_A_WAKE = timedelta(seconds=2)
# A freed seat wakes a poller within this time; only if none comes, it is looked at by whoever sees it.
_ON_THE_WAY = timedelta(seconds=1)
# Time kept back for the hand-over that is under way, for the measurements and for the logs.
_RESERVE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Why the poller was started."""

    channel: str
    hints: Sequence[DueJob | DueScope] = ()
    # The place that a stream's wake reserved for this resident.
    holder: str | None = None

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> Wake:
        if is_stream_event(event):
            return cls(channel=STREAM, hints=hints_of(event))
        if event.get("source") == FREED_SOURCE:
            return cls(channel=STREAM, hints=[DueScope(scope=scope, due_key=key) for scope, key in event["scopes"]])
        if event.get("source") == RESIDENT_SOURCE:
            return cls(channel=RESIDENT, holder=str(event["holder"]))
        return cls(channel=TICK)


class Polling:
    """One invocation. `start_resident` invokes this same function anew, with the event it is given."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        time_left: timedelta,
        start_resident: Callable[[bytes], None],
        residence: ResidenceSettings,
    ) -> None:
        self._parts = parts
        self._worker_id = worker_id
        self._start_resident = start_resident
        settings = PollSettings(leaves_to_wakes=_ON_THE_WAY)
        self._poller = Poller(parts, dispatcher, worker_id=worker_id, settings=settings, pool=parts.pool)
        self._resident = Resident(parts, self._poller, worker_id=worker_id, settings=residence)
        self._should_stop = Stopping(parts.clock, deadline=parts.clock.now() + time_left, reserve=_RESERVE)

    def answer(self, wake: Wake) -> PollReport:
        restore = self._should_stop.on_sigterm()
        try:
            self._parts.telemetry.measure(WAKE_UPS, 1, channel=wake.channel)
            if wake.channel == STREAM:
                report = self._poller.poll(hints=wake.hints, should_stop=self._wake_is_over())
                # It holds up its shard while it runs: another invocation waits in its place.
                holder = self._resident.reserve(wake.hints, report.soonest_at)
                if holder is not None:
                    self._start_resident(json.dumps({"source": RESIDENT_SOURCE, "holder": holder}).encode())
            else:
                report = self._poller.poll(should_stop=self._should_stop)
                if wake.channel == TICK:
                    from leasehold.engine.measure import measure

                    # First what must not be late: payloads that expire are lost, a figure comes again in a minute.
                    self._keep_payloads()
                    measure(self._parts)
                self._resident.stay(holder=wake.holder, should_stop=self._should_stop)
        finally:
            restore()
        return report

    def _wake_is_over(self) -> Callable[[], str | None]:
        until = self._parts.clock.now() + _A_WAKE

        def is_over() -> str | None:
            return self._should_stop() or ("a wake is short" if self._parts.clock.now() >= until else None)

        return is_over

    def _keep_payloads(self) -> None:
        # Not needed by wakes, which are most of what this function does.
        from leasehold.engine.keep_payloads import keep_payloads

        keep_payloads(self._parts, worker_id=self._worker_id, should_stop=self._should_stop)
