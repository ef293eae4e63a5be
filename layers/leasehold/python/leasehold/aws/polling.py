"""The poller as a Lambda function: what each kind of event makes it do."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as wakes
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.errors import DispatchError, StoreUnavailableError
from leasehold.kernel.jobs import DueJob, due_entry
from leasehold.kernel.lanes import service_lanes
from leasehold.kernel.other_entries import DueScope, FreedScope
from leasehold.kernel.poll import POLL_LIMIT, Poller, PollSettings
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass
from leasehold.pollers.waiting import WaitingPoller, WaitingSettings
from leasehold.pollers.window import Window
from leasehold.pool import Stopping
from leasehold.telemetry import HELPER, STREAM, TICK, WAITING, WAKE_UPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.services import Services
    from leasehold.limits.model import ConcurrencyPolicy
    from leasehold.pollers.sharing import Part


# A wake holds up its stream, or is one of many: what takes longer is left to the poller that waits.
_A_WAKE = timedelta(seconds=2)
_A_WAKE_IS_SHORT = "a wake is short"
# A freed seat wakes a poller within this time; only if none comes, it is looked at by whoever sees it.
_ON_THE_WAY = timedelta(seconds=1)
# Time kept back for the hand-over that is under way, for the measurements and for the logs.
_RESERVE = timedelta(seconds=10)
# Between tries to reach a store that does not answer.
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(milliseconds=200), timedelta(seconds=5)
# Time of a tick for keeping payloads and for measuring.
_CHORES = timedelta(seconds=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Why the poller was started."""

    channel: str
    hints: Sequence[DueJob | DueScope | FreedScope] = ()
    # The waiter lease that a stream's wake reserved for this poller.
    holder: str | None = None
    # Of how many that share a backlog it is which.
    part: Part | None = None

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> Wake:
        if any(record.get("eventSource") == "aws:dynamodb" for record in event.get("Records", ())):
            return cls(channel=STREAM, hints=hints_of(event))
        match event.get("source"):
            case wakes.FREED_SOURCE:
                return cls(channel=STREAM, hints=[FreedScope(str(scope)) for scope in event["scopes"]])
            case wakes.WAITING_SOURCE:
                return cls(channel=WAITING, holder=str(event["holder"]))
            case wakes.HELPER_SOURCE:
                from leasehold.pollers.sharing import Part

                return cls(channel=HELPER, part=Part(int(event["part"]), int(event["of"])))
        return cls(channel=TICK)


class Polling:
    """One invocation. `start_another` invokes this same function anew, with the event it is given."""

    def __init__(
        self,
        services: Services,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        time_left: timedelta,
        start_another: Callable[[bytes], None],
        waiting: WaitingSettings,
        poll_limit: int | None = None,
        policy: ConcurrencyPolicy | None = None,
    ) -> None:
        services.window = services.window or Window()
        self._services = services
        self._worker_id = worker_id
        self._start_another = start_another
        self._poller = Poller(
            services,
            dispatcher,
            worker_id=worker_id,
            settings=PollSettings(poll_limit=poll_limit or POLL_LIMIT, leaves_to_wakes=_ON_THE_WAY),
            policy=policy,
            pool=services.pool,
            call_helper=self._call_helper,
        )
        self._waiting = WaitingPoller(services, self._poller, worker_id=worker_id, settings=waiting)
        self._deadline = services.clock.now() + time_left
        self._should_stop = Stopping(services.clock, deadline=self._deadline, reserve=_RESERVE)

    def answer(self, wake: Wake) -> PollReport:
        restore = self._should_stop.on_sigterm()
        try:
            self._services.telemetry.measure(WAKE_UPS, 1, channel=wake.channel)
            if wake.channel == STREAM:
                return self._answer_stream(wake)
            report = self._poller.poll(part=wake.part, should_stop=self._poll_is_over(wake))
            if wake.channel == TICK:
                # Not needed by wakes, which are most of what this function does.
                from leasehold.housekeeping.payload_rounds import keep_payloads
                from leasehold.operate.measure import measure

                # First what must not be late: payloads that expire are lost, a figure comes again in a minute.
                keep_payloads(self._services, worker_id=self._worker_id, should_stop=self._should_stop)
                measure(self._services)
            if wake.channel != HELPER:
                self._waiting.stay(holder=wake.holder, should_stop=self._should_stop)
        finally:
            restore()
        return report

    def _answer_stream(self, wake: Wake) -> PollReport:
        """Look where the hints say, and where features wait; whatever names no lane may be about any of them."""
        is_over = partial(self._stopped_by, self._services.clock.now() + _A_WAKE, _A_WAKE_IS_SHORT)
        shown = [hint for hint in wake.hints if not isinstance(hint, FreedScope)]
        named = {hint.lane for hint in shown if isinstance(hint, DueJob)}
        try:
            lanes = {*named, *service_lanes(self._services.deployment.registry().shards)} if wake.hints else None
            report = self._poller.poll(hints=wake.hints, lanes=lanes, should_stop=is_over)
        except StoreUnavailableError:
            self._make_due([hint.scope for hint in wake.hints if isinstance(hint, FreedScope)])
            raise
        if report.stopped_by == _A_WAKE_IS_SHORT:
            report.note_due(self._services.clock.now())
        if not shown and wake.hints and report.soonest_at is None:
            return report  # a seat was freed, which brings nothing near
        # It holds up its shard while it runs: another invocation waits in its place.
        holder = self._waiting.reserve(shown, report.soonest_at, lanes)
        if holder is not None:
            self._start_another(json.dumps({"source": wakes.WAITING_SOURCE, "holder": holder}).encode())
        return report

    def _make_due(self, scopes: Sequence[str]) -> None:
        """Nothing but this wake tells of a freed seat: keep at it until the store answers, or the time is up."""
        if not scopes:
            return
        from leasehold.limits.seating import make_due

        pause = _FIRST_PAUSE
        while self._should_stop() is None:
            self._services.clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            with suppress(StoreUnavailableError):
                make_due(scopes, self._services)
                return

    def _call_helper(self, part: Part) -> None:
        with suppress(DispatchError):  # one that does not come costs time, and nothing else
            event = {"source": wakes.HELPER_SOURCE, "part": part.number, "of": part.of}
            self._start_another(json.dumps(event).encode())

    def _poll_is_over(self, wake: Wake) -> Callable[[], str | None]:
        """A tick's poll, however much is due, leaves time for what only ticks do."""
        until = self._deadline - _RESERVE - _CHORES
        return partial(self._stopped_by, until, "deadline") if wake.channel == TICK else self._should_stop

    def _stopped_by(self, until: datetime, reason: str) -> str | None:
        return self._should_stop() or (reason if self._services.clock.now() >= until else None)


# The rest of an image, the payload above all, is not even decoded.
_NEEDED = ("PK", "SK", "due_key", "due_lane", "job_type", "status", "priority", "concurrency_key")


def hints_of(event: Mapping[str, Any]) -> list[DueJob | DueScope]:
    """The jobs of a stream event, and the scopes in which somebody waits who may run now."""
    hints: list[DueJob | DueScope] = []
    for record in event.get("Records", ()):
        image = record.get("dynamodb", {}).get("NewImage")
        if not image or "due_key" not in image:
            continue
        entry = due_entry(from_item({name: image[name] for name in _NEEDED if name in image}))
        if isinstance(entry, DueScope) or (isinstance(entry, DueJob) and entry.status is not JobStatus.IN_PROGRESS):
            hints.append(entry)
    return hints
