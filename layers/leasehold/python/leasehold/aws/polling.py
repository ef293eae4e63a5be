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
from leasehold.kernel.poll import POLL_LIMIT, Poller, PollSettings
from leasehold.store.jobs import FreedScope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.domain.limits import ConcurrencyPolicy
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.kernel.report import PollReport
    from leasehold.store.jobs import DueJob, DueScope

# A wake holds up its stream, or is one of many: what takes longer is left to the poller that waits.
_A_WAKE = timedelta(seconds=2)
# A freed seat wakes a poller within this time; only if none comes, it is looked at by whoever sees it.
_ON_THE_WAY = timedelta(seconds=1)
# Time kept back for the hand-over that is under way, for the measurements and for the logs.
_RESERVE = timedelta(seconds=10)
# Time of a tick for keeping payloads and for measuring.
_CHORES = timedelta(seconds=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Why the poller was started."""

    channel: str
    hints: Sequence[DueJob | DueScope | FreedScope] = ()
    # The place that a stream's wake reserved for this resident.
    holder: str | None = None

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> Wake:
        if is_stream_event(event):
            return cls(channel=STREAM, hints=hints_of(event))
        if event.get("source") == FREED_SOURCE:
            return cls(channel=STREAM, hints=[FreedScope(str(scope)) for scope in event["scopes"]])
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
        poll_limit: int | None = None,
        policy: ConcurrencyPolicy | None = None,
    ) -> None:
        self._parts = parts
        self._worker_id = worker_id
        self._start_resident = start_resident
        settings = PollSettings(poll_limit=poll_limit or POLL_LIMIT, leaves_to_wakes=_ON_THE_WAY)
        self._poller = Poller(parts, dispatcher, worker_id=worker_id, settings=settings, policy=policy, pool=parts.pool)
        self._resident = Resident(parts, self._poller, worker_id=worker_id, settings=residence)
        self._deadline = parts.clock.now() + time_left
        self._should_stop = Stopping(parts.clock, deadline=self._deadline, reserve=_RESERVE)

    def answer(self, wake: Wake) -> PollReport:
        restore = self._should_stop.on_sigterm()
        try:
            self._parts.telemetry.measure(WAKE_UPS, 1, channel=wake.channel)
            if wake.channel == STREAM:
                report = self._poller.poll(hints=wake.hints, should_stop=self._wake_is_over())
                self._have_one_wait(wake, report)
            else:
                report = self._poller.poll(should_stop=self._poll_is_over(wake))
                if wake.channel == TICK:
                    from leasehold.engine.measure import measure

                    # First what must not be late: payloads that expire are lost, a figure comes again in a minute.
                    self._keep_payloads()
                    measure(self._parts)
                self._resident.stay(holder=wake.holder, should_stop=self._should_stop)
        finally:
            restore()
        return report

    def _have_one_wait(self, wake: Wake, report: PollReport) -> None:
        """A wake holds up its shard while it runs: another invocation waits in its place for what is near."""
        shown = [hint for hint in wake.hints if not isinstance(hint, FreedScope)]
        if not shown and report.soonest_at is None:
            return  # a seat was freed, which brings nothing near
        holder = self._resident.reserve(shown, report.soonest_at)
        if holder is not None:
            self._start_resident(json.dumps({"source": RESIDENT_SOURCE, "holder": holder}).encode())

    def _wake_is_over(self) -> Callable[[], str | None]:
        return self._over_at(self._parts.clock.now() + _A_WAKE, "a wake is short")

    def _poll_is_over(self, wake: Wake) -> Callable[[], str | None]:
        """A tick's poll, however much is due, leaves time for what only ticks do."""
        until = self._deadline - _RESERVE - _CHORES
        return self._over_at(until, "deadline") if wake.channel == TICK else self._should_stop

    def _over_at(self, until: datetime, reason: str) -> Callable[[], str | None]:
        def is_over() -> str | None:
            return self._should_stop() or (reason if self._parts.clock.now() >= until else None)

        return is_over

    def _keep_payloads(self) -> None:
        # Not needed by wakes, which are most of what this function does.
        from leasehold.engine.keep_payloads import keep_payloads

        keep_payloads(self._parts, worker_id=self._worker_id, should_stop=self._should_stop)
