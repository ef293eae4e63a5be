"""Admission: may a job run now; if not, in which lane does it wait, and in whose line does that lane stand?

A job that may not run waits in the lane of its own queue (priority, type, and key where limits ask for it), and leaves
it by its claim or its end. What waits for a scope is the lane: it stands in one line, that of the narrowest scope that
was seen full. The line's entry is there before the first job is held, and the scope has a look before the entry: a
crash in between leaves a look for nothing, never a job that nobody looks at.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.circuit_breaker.circuits import circuit_of_type
from leasehold.circuit_breaker.probes import give_up, note_of
from leasehold.kernel.keys import EPOCH, Due
from leasehold.kernel.type_options import OnFull, type_scope
from leasehold.lean import dataclass
from leasehold.limits.lanes import queue_of
from leasehold.limits.lines import Moment
from leasehold.limits.model import DeployedLimits
from leasehold.limits.scopes import Lane, LineEntry, Turn
from leasehold.limits.seating import TRUSTED_FOR, Seats, places_of, read_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from leasehold.circuit_breaker.model import Circuit
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change
    from leasehold.limits.model import ConcurrencyPolicy, Limit
    from leasehold.limits.scopes import Scope
    from leasehold.limits.seating import Choice, SeatPlan


# The net below every nudge: how soon, and how late at most, a scope is looked at that nobody made due before.
FIRST_LOOK_AFTER = timedelta(minutes=1)
LAST_LOOK_AFTER = timedelta(minutes=10)
_GRID = timedelta(seconds=20)
_TRIES = 3


def together(at: datetime) -> datetime:
    """Looks that nobody asked for come at the same moments, so that one poll serves many of them."""
    return at + (_GRID - (at - EPOCH) % _GRID)


class Admission:
    """Who may run, as one poll sees it."""

    def __init__(self, services: Services, policy: ConcurrencyPolicy | None) -> None:
        self._services = services
        self._policy = policy or DeployedLimits()
        self.seats = Seats(services)
        # The circuits that this poll has sent a probe into, or another that was faster, as this one saw them.
        self.probed: set[tuple[str, datetime]] = set()
        # Lanes that were seen to stand in a line, and when; and the limits that held somebody back on this page.
        self._in_line: dict[tuple[str, Lane], datetime] = {}
        self._held: dict[tuple[str, Lane], datetime] = {}
        self._filled: dict[str, tuple[Limit, ...]] = {}

    def admit(self, entry: DueJob, switches: Switches, *, must_wait: bool = False) -> Decision:
        """May a new job run? It queues behind the lanes that wait for the same scopes, its own among them.

        must_wait: a job that has run before is not turned away.
        """
        stop = stop_of(entry.job_type, switches, self._services)
        circuit = self.to_probe(entry.job_type, stop.circuit if stop else None)
        limits = self.limits_of(entry.job_type, entry.concurrency_key)
        if stop is not None and circuit is None:
            return self._wait(entry, type_scope(entry.job_type), stop.reason, stop.until)
        full = self.narrowest_full(limits)
        line = self._line_for(limits, full)
        if line is None:
            return self.admitted(entry, limits, circuit)
        if stop is not None:
            return self._wait(entry, type_scope(entry.job_type), stop.reason, stop.until)
        full = full or line
        if not must_wait and self._is_turned_away(entry, full):
            return TurnedAway(full.reason)
        self._filled[line.scope] = (line, full)
        return self._wait(entry, line.scope, full.reason, self.seats.plan(line).next_free_at)

    def admitted(self, entry: DueJob, limits: Sequence[Limit], circuit: Circuit | None = None) -> Admitted:
        """Every one of these limits must have room."""
        job_type = self._services.deployment.registry().types[entry.job_type]
        return Admitted(self._services, self, entry, job_type, self.seats.choose(limits), circuit)

    def to_probe(self, job_type: str, circuit: Circuit | None) -> Circuit | None:
        """The open circuit that the next job of this type may probe; None if there is none, or it is not time yet."""
        if circuit is None or circuit.probe_at > self._services.clock.now():
            return None
        return None if (job_type, circuit.probe_at) in self.probed else circuit

    def limits_of(self, name: str, concurrency_key: str | None) -> tuple[Limit, ...]:
        registry = self._services.deployment.registry()
        job_type = registry.types.get(name)
        return () if job_type is None else self._policy.limits_of(job_type, concurrency_key, registry)

    def limits_of_lane(self, lane: Lane) -> tuple[Limit, ...]:
        """All jobs of a lane have the same: it is named after their type, and after their key where that counts."""
        name, _, key = lane.queue.partition("#")
        return self.limits_of(name, key or None)

    def lane_of(self, entry: DueJob) -> Lane:
        """Jobs of one lane share their limits. Keys are told apart where there are any: then they take turns."""
        key = entry.concurrency_key
        counts = bool(self.limits_of(entry.job_type, key))
        return Lane(priority=entry.priority, queue=queue_of(entry.job_type, key if counts else None))

    def narrowest_full(self, limits: Sequence[Limit], *, since: datetime | None = None) -> Limit | None:
        """The narrowest limit without a free seat, as read `since` then."""
        return next((limit for limit in reversed(limits) if self.seats.plan(limit, since=since).is_full), None)

    def after_page(self) -> None:
        """Nobody may have missed what was held on this page.

        A lane that was remembered to stand in line may have been found empty, and left it; so may one that joined its
        line long before its job was held, by a process that stood still. A seat that was freed after its scope was
        seen as full, and before the first was held, woke nobody.
        """
        while self._held:
            (scope, lane), seen_at = self._held.popitem()
            if timedelta(0) <= self._services.clock.now() - seen_at < TRUSTED_FOR:
                continue
            entry = self._services.store.lines.entry(scope, lane)
            if entry is None or entry.empty_since is not None:
                self.forget_line(scope, lane)
                self.stand_in_line(scope, lane, None)
        while self._filled:
            scope, limits = self._filled.popitem()
            self.nudge_if_free(scope, limits)

    def nudge_if_free(self, scope: str, limits: Sequence[Limit]) -> None:
        """Have a scope looked at if all of these limits have room by now."""
        for limit in limits:
            self.seats.forget(limit.scope)
        if not any(read_plan(limit, self._services).is_full for limit in limits):
            self._services.store.lines.nudge(scope, self.moment())

    def stand_in_line(self, scope: str, lane: Lane, look_at: datetime | None, since: datetime | None = None) -> bool:
        """See that a lane waits for a scope, and that the scope is looked at: by `look_at`, and soon in any case.

        With `since`, it comes from another line, which it leaves next: then nothing that is remembered is enough.
        """
        now = self._services.clock.now()
        if since is None and timedelta(0) <= now - self._in_line.get((scope, lane), now - TRUSTED_FOR) < TRUSTED_FOR:
            return True
        for _ in range(_TRIES):
            # Before the reads, which may be slow: what is remembered must not be older than it says.
            now = self._services.clock.now()
            if not self.expect_look(scope, look_at):
                continue
            if self._joins(scope, lane, now if since is None else since, is_moving=since is not None):
                self._in_line[scope, lane] = now
                self.seats.note_waited_for(scope)
                return True
        return False

    def _joins(self, scope: str, lane: Lane, since: datetime, *, is_moving: bool) -> bool:
        """Whether the lane stands in line from now on; False to look again."""
        lines = self._services.store.lines
        seen = lines.entry(scope, lane)
        # Who moves here gives the entry a new stamp: a late copy of its removal must not take it away.
        if seen is not None and seen.empty_since is None and not is_moving:
            return True
        entry = LineEntry(scope=scope, lane=lane, since=seen.since if seen else since, stamp=self.moment().stamp)
        # Whoever found nobody in line while this one joined has said so: then it must be taken back.
        return lines.join(entry, seen) and lines.scope(scope).is_waited_for

    def forget_line(self, scope: str, lane: Lane) -> None:
        self._in_line.pop((scope, lane), None)

    def moment(self) -> Moment:
        return Moment.of(self._services)

    def remember_seats(self, scope: Scope, entries: Sequence[LineEntry]) -> SeatPlan | None:
        """The seats of a scope that was just read with its line; None where nobody waits for seats in it."""
        limits = self.limits_of_lane(entries[0].lane) if entries else ()
        limit = next((each for each in limits if each.scope == scope.name), None)
        return None if limit is None else self.seats.remember(limit, scope)

    def _line_for(self, limits: Sequence[Limit], full: Limit | None) -> Limit | None:
        """Where to wait: the narrowest limit that is full, unless others wait for a wider one, or for any if none is.

        Lanes take turns there: this one would have to move there when the narrower has room. And it misses nothing:
        limits go from wide to narrow, so whoever frees a seat of the narrower frees one of the wider, too.
        """
        wider = limits if full is None else [each for each in limits[: limits.index(full)] if each.period is None]
        return self.waited_for(wider) or full

    def waited_for(self, limits: Sequence[Limit], *, since: datetime | None = None) -> Limit | None:
        """The narrowest of these limits that lanes wait for already, as read `since` then."""
        return next((each for each in reversed(limits) if self.seats.plan(each, since=since).is_waited_for), None)

    def _is_turned_away(self, entry: DueJob, full: Limit) -> bool:
        job_type = self._services.deployment.registry().types[entry.job_type]
        if job_type.on_full is OnFull.WAIT or not full.is_own:
            return False
        # Whom we send away does not come back: what this poll remembers of the seats is not enough.
        return self.seats.plan(full, since=self._services.clock.now()).is_full

    def _wait(self, entry: DueJob, scope: str, why: str, look_at: datetime | None) -> Decision:
        lane = self.lane_of(entry)
        is_remembered = (scope, lane) in self._in_line
        if not self.stand_in_line(scope, lane, look_at):
            return None
        # Nothing that is remembered is recent enough to rely on it after the page.
        seen_at = EPOCH if is_remembered else self._in_line[scope, lane]
        self._held[scope, lane] = min(seen_at, self._held.get((scope, lane), seen_at))
        return Waits(lane.name, scope, why)

    def expect_look(self, name: str, look_at: datetime | None = None) -> bool:
        lines, moment = self._services.store.lines, self.moment()
        scope, latest = lines.scope(name), moment.now + LAST_LOOK_AFTER
        if scope.is_waited_for and scope.due_key is not None and Due.parse(scope.due_key).at <= latest:
            return True
        return lines.expect(scope, self._first_look(moment.now, look_at), moment)

    def _first_look(self, now: datetime, look_at: datetime | None) -> datetime:
        """The longer a seat may be held, the less a look would find: a tenth of it, but 1 to 10 minutes, spread."""
        left = FIRST_LOOK_AFTER if look_at is None else max(look_at - now, timedelta(0))
        wait = min(max(left / 10, FIRST_LOOK_AFTER), LAST_LOOK_AFTER)
        if wait == FIRST_LOOK_AFTER:
            return now + min(left, wait)
        return min(now + left, together(now + wait * (1 - self._services.random_source.share() / 2)))


@dataclass(frozen=True, slots=True)
class Admitted:
    """A job that may run: its claim takes a seat in each of its limits, and makes it its type's probe."""

    services: Services
    admission: Admission
    entry: DueJob
    job_type: JobType
    choices: Sequence[Choice]
    circuit: Circuit | None

    def join(self, handover: Handover) -> tuple[list[Change], dict[str, object]]:
        """What commits together with the claim: changes of other records, and values of the job itself."""
        turn = Turn(self.admission.lane_of(self.entry), self.services.clock.now(), self.entry.due_key)
        changes: list[Change] = [each.taken(handover, self.job_type, turn) for each in self.choices]
        if self.circuit is not None:
            changes.append(note_of(handover.job_id, self.job_type, self.circuit, self.services))
        places = places_of(self.choices, handover.token)
        return changes, {} if places is None else {"seat": places}

    def refused(self, failed: Collection[int]) -> None:
        """Seats that another claim has are not put back; a probe that another sent is not sent again."""
        for at, each in enumerate(self.choices):
            if at not in failed:
                each.put_back()
        if self.circuit is not None and len(self.choices) in failed:
            self.admission.probed.add((self.entry.job_type, self.circuit.probe_at))

    def claimed(self) -> None:
        now = self.services.clock.now()
        for each in self.choices:
            each.note_taken(now, self.job_type)
        if self.circuit is not None:
            self.admission.probed.add((self.entry.job_type, self.circuit.probe_at))

    def undelivered(self, handover: Handover) -> None:
        for each in self.choices:
            self.admission.seats.forget(each.limit.scope)  # they were given back
        if self.circuit is not None:
            give_up(handover, self.circuit, self.services)


@dataclass(frozen=True, slots=True)
class Waits:
    """It waits in this lane: whoever decided so has seen to it that the lane is looked at."""

    lane: str
    scope: str
    why: str


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """It ends, because its type does not want to wait."""

    why: str


# None: others changed what it depends on, again and again. It stays as it is, and the next poll decides.
type Decision = Admitted | Waits | TurnedAway | None


@dataclass(frozen=True, slots=True)
class Stop:
    """Why no job of a type may run; `until` is when to look again, None if somebody will say so."""

    reason: str
    until: datetime | None = None
    # If this alone is the reason, one job may be let through as a probe.
    circuit: Circuit | None = None


def stop_of(job_type: str, switches: Switches, services: Services) -> Stop | None:
    """Why no job of this type may run, or None."""
    if job_type in switches.pauses:
        return Stop("paused")
    reserved_until = switches.reserved_until(job_type, services.clock.now())
    if reserved_until is not None:
        return Stop("reserved", reserved_until)
    # Before a job waits for a deployment, make sure that it has not just happened: the registry is cached.
    registry = services.deployment.registry
    if job_type not in registry().types and job_type not in registry(fresh=True).types:
        return Stop("not deployed")
    # Last: a probe passes by this reason and by no other.
    circuit = circuit_of_type(job_type, services)
    if circuit is not None:
        return Stop("circuit open", circuit.probe_at, circuit)
    return None
