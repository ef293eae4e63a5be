"""What waiting for a limit or a switch may cost, that nobody waits unseen, and that nobody else waits because of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.keys import from_text
from tests.simulation.deployments import TYPES
from tests.simulation.invariants.violation import hold
from tests.simulation.withheld import LANES_WAIT, LINES, is_withheld

if TYPE_CHECKING:
    from tests.simulation.invocation import Invocation
    from tests.simulation.mirror import Key, Mirror
    from tests.simulation.world import World

type Record = dict[str, Any]

_HOLD, _GROUPS = "hold#", "group:"
_SCOPE = "-"
# A stream's record may take 1.5 s, a tick comes each 20 s; then a poll has a few others to see to.
_LATEST = timedelta(seconds=25)
_CALLS = 100
_CALM_TICK = timedelta(seconds=60)
_SETTLING = 125.0
# What a job and each of its starts may cost at most where nothing goes wrong, however many others wait beside it. That
# is more than most do (see `make limits`): with few jobs, nearly each one opens and ends a line of its own.
_LINE_WRITES, _LINE_WRITES_OF_START, _LINE_WRITES_OF_NOBODY = 7, 5, 20
_WRITES, _WRITES_OF_NOBODY = 25, 60


class Waiting:
    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._starts = 0
        self._writes = 0
        self._line_writes = 0

    def note_call(self, keys: list[Key | None]) -> None:
        """What a call changed in the job table."""
        for key in keys:
            if key is not None:
                self._writes += 1
                self._line_writes += is_line(key)

    def check_job(self, old: Record, new: Record, writer: Invocation) -> None:
        """A job that waits is moved into the lane of its queue once, and leaves it by its claim or its end."""
        if new["status"] == "in_progress" != old["status"]:
            self._starts += 1
        before, after = old.get("due_lane", ""), new.get("due_lane", "")
        if is_withheld(LANES_WAIT) or writer.role != "poller" or before == after:
            return
        is_moved = before.startswith(_HOLD) and after.startswith(_HOLD) and _GROUPS not in before
        # With other limits its key counts, or counts no longer: it waits in another queue.
        is_same_type = _type_of(before) == _type_of(after)
        told = f"{new['job_type']} {new['job_id'][-6:]}: {before} -> {after} by {writer}"
        hold(not is_moved or is_same_type, "a job that waits is not moved about", told)

    def check_lines(self, world: World) -> None:
        """Every held job's lane stands in a line whose scope is looked at, or parked by a switch that is there."""
        # Who stands still between two calls, or dies there, leaves that to the next look.
        is_settled = world.plan.is_calm or world.kernel.seconds > world.plan.calm_at + _SETTLING
        if is_withheld(LINES) or not is_settled:
            return
        lines = self._lines()
        for job in self._mirror.jobs.values():
            lane = job.get("due_lane", "")
            if not lane.startswith(_HOLD):
                continue
            _, priority, queue = lane.split("#", 2)
            scopes = lines.get((int(priority), queue), [queue] if queue.startswith(_GROUPS) else [])
            seen = any(self._is_seen(scope, world) for scope in scopes)
            told = f"{job['job_type']} {job['job_id'][-6:]} waits in {lane}, which stands in {scopes}"
            hold(seen, "nobody waits unseen", told)

    def check_end(self, world: World) -> None:
        """At rest nobody has a seat, where nothing went wrong; and waiting has cost no more than it may.

        A handler that its platform ended right after its job leaves its seats to whoever needs them next. One whose
        heartbeat ended may still have run: what was tried again meanwhile leaves the seats of its first run, too.
        """
        if not world.plan.is_calm:
            return
        seats = {} if world.has_timeouts else self._mirror.items
        jobs_seen = self._mirror.jobs.values()
        lost = {job["job_id"] for job in jobs_seen if TYPES[job["job_type"]].heartbeat and job.get("runs", ())[1:]}
        for (partition, sort), record in seats.items():
            if partition.startswith("seat#") and sort.isdigit() and "job_id" in record:
                told = f"{partition} {sort} of {record['job_id'][-6:]}"
                hold("taken_by" not in record or record["job_id"] in lost, "no seat without a holder", told)
        jobs = len(self._mirror.jobs) + len(self._mirror.removed)
        told = (
            f"{jobs} jobs with {self._starts} starts took {self._writes} writes, {self._line_writes} of them of lines"
        )
        # A program that polls as well looks at each line beside the others.
        nobodys = _LINE_WRITES_OF_NOBODY * (1 + world.plan.programs)
        most = _LINE_WRITES * jobs + _LINE_WRITES_OF_START * self._starts + nobodys
        hold(self._line_writes <= most, "line writes within budget", told)
        hold(self._writes <= _WRITES * (jobs + self._starts) + _WRITES_OF_NOBODY, "writes within budget", told)

    def _lines(self) -> dict[tuple[int, str], list[str]]:
        lines: dict[tuple[int, str], list[str]] = {}
        for partition, sort in self._mirror.items:
            if partition.startswith("seat#") and sort.startswith("lane#"):
                _, level, queue = sort.split("#", 2)
                lines.setdefault((3 - int(level), queue), []).append(partition.removeprefix("seat#"))
        return lines

    def _is_seen(self, scope: str, world: World) -> bool:
        if scope.startswith(_GROUPS):
            # While it is made, or after that broke off, the group itself is looked at.
            group = self._mirror.items.get((f"group#{scope.removeprefix(_GROUPS)}", "group"), {})
            if "due_key" in group:
                return True
        record = self._mirror.items.get((f"seat#{scope}", _SCOPE))
        if record is None:
            return False
        name = scope.removeprefix("type:")
        is_stopped = ("control", f"pause#{name}") in self._mirror.items or name not in world.registry.types
        return "due_key" in record or is_stopped


def check_lateness(old: Record, world: World) -> None:
    """Of a plain job, which nobody stopped and which waits for nothing, while others do."""
    plan = world.plan
    is_unrelated = old["job_type"] == "plain" and world.registry.concurrency is None
    is_undisturbed = plan.is_calm and plan.skew == 0.0 and not plan.chores and "group_id" not in old
    if not is_unrelated or not is_undisturbed or old["status"] != "pending" or "schedule" in old:
        return
    late = world.kernel.now - from_text(old["due_key"].partition("#")[0])
    most = _LATEST + timedelta(seconds=_CALLS * plan.latency)
    if world.kernel.seconds >= plan.calm_at and not plan.wakes:
        most += _CALM_TICK  # from then on nothing but ticks tells of it, which are as rare as deployed
    hold(late <= most, "nobody waits for others' limits", f"{old['job_id'][-6:]} was claimed {late} late")


def is_line(key: Key) -> bool:
    return key[0].startswith("seat#") and not key[1].isdigit()


def _type_of(lane: str) -> str:
    return lane.split("#", 2)[-1].partition("#")[0]
