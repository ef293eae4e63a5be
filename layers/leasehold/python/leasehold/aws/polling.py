"""The poller as a Lambda function: what each kind of event makes it do."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.aws.wake import hints_of, is_stream_event
from leasehold.domain.lean import dataclass
from leasehold.engine.poll import Poller
from leasehold.engine.reside import ResidenceSettings, Resident
from leasehold.engine.stopping import Stopping
from leasehold.engine.telemetry import RESIDENT, STREAM, TICK, WAKE_UPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.engine.report import PollReport
    from leasehold.store.jobs import DueJob

RESIDENT_SOURCE = "leasehold.resident"
# Time kept back for the hand-over that is under way, for the measurements and for the logs.
_RESERVE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Why the poller was started."""

    channel: str
    hints: Sequence[DueJob] = ()
    # The place that a stream's wake reserved for this resident.
    holder: str | None = None

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> Wake:
        if is_stream_event(event):
            return cls(channel=STREAM, hints=hints_of(event))
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
        self._poller = Poller(parts, dispatcher, worker_id=worker_id)
        self._resident = Resident(parts, self._poller, worker_id=worker_id, settings=residence)
        self._should_stop = Stopping(parts.clock, deadline=parts.clock.now() + time_left, reserve=_RESERVE)

    def answer(self, wake: Wake) -> PollReport:
        restore = self._should_stop.on_sigterm()
        try:
            self._parts.telemetry.measure(WAKE_UPS, 1, channel=wake.channel)
            report = self._poller.poll(hints=wake.hints, should_stop=self._should_stop)
            if wake.channel == STREAM:
                # It holds up its shard while it runs: another invocation waits in its place.
                holder = self._resident.reserve()
                if holder is not None:
                    self._start_resident(json.dumps({"source": RESIDENT_SOURCE, "holder": holder}).encode())
            else:
                if wake.channel == TICK:
                    from leasehold.engine.measure import measure

                    measure(self._parts)
                    self._keep_payloads()
                self._resident.stay(holder=wake.holder, should_stop=self._should_stop)
        finally:
            restore()
        return report

    def _keep_payloads(self) -> None:
        # Not needed by wakes, which are most of what this function does.
        from leasehold.engine.keep_payloads import keep_payloads

        keep_payloads(self._parts, worker_id=self._worker_id, should_stop=self._should_stop)
