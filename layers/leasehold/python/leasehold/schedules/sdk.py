"""Recurring jobs: `queue.schedules`."""

from __future__ import annotations

from dataclasses import replace
from itertools import batched, islice
from typing import TYPE_CHECKING, TypedDict, Unpack

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import to_text
from leasehold.kernel.payload import encode_value, resolve
from leasehold.schedules import by_hand
from leasehold.schedules.model import Plan, ScheduleExistsError, parse_schedule_name, planned, replanned
from leasehold.schedules.records import triggered_by_hand
from leasehold.schedules.recurrence import slots_after
from leasehold.schedules.trigger import id_of_slot, job_of_slot, look_up_template
from leasehold.schedules.verbs import all_schedules, change, checked, existing, find, made, made_here, redefined

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.payload_models import PayloadModel, TypedPayload
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record
    from leasehold.schedules.model import Missed, Overlap, Schedule
    from leasehold.schedules.recurrence import InTheGap, WhenRepeated

    # Named out here: within the class, `list` is a method.
    type _Schedules = list[Schedule]
    type _Moments = list[datetime]
    type _JobIds = list[JobId]


MAX_NEXT_RUNS = 1_000
# As many as one BatchGetItem can fetch.
_READ_AT_ONCE = 100


class ScheduleOptions(TypedDict, total=False):
    """The options of a schedule; see `Schedules.create`."""

    template: str | None
    every: timedelta | None
    cron: str | None
    timezone: str | None
    on_dst_gap: InTheGap | str | None
    on_dst_overlap: WhenRepeated | str | None
    missed: Missed | str | None
    missed_window: timedelta | None
    overlap: Overlap | str | None
    priority: Priority | PriorityName | int | None
    enabled: bool | None


class Schedules:
    """Each change is recorded with its reason and with who made it, as AWS knows them.

    >>> queue.schedules.create(                                                # doctest: +SKIP
    ...     "weekday-summary", "daily_summary", {"user_id": "u1"}, cron="0 9 * * 1-5", timezone="Europe/Berlin"
    ... )
    >>> queue.schedules.create("sync", "user_sync", every=timedelta(minutes=30))  # doctest: +SKIP
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def create(
        self,
        name: str,
        job: str | TypedPayload | None = None,
        payload: Json | PayloadModel = None,
        *,
        reason: str = "",
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Run a job at every slot of a rate (`every`), or of a five-field `cron` line in a `timezone` (default UTC).

        template: each job is made from it as it is when its slot comes, with `payload` laid over its own; it brings
            the job type along. One that is missing then is said by the logs and asked for again: no slot is lost.
        missed: slots that passed in a halt or an outage: `latest` of them (default), `all` within `missed_window`
            (default a day), or `skip`.
        overlap: a slot whose predecessor's job has not ended: `skip` it (default), `queue` it (default with
            missed="all"), or `allow` both.
        on_dst_gap: local times that a clock change leaves out: `once`, at the end of the gap (default), or `skip`.
        on_dst_overlap: local times that come twice: `once`, at the first (default), `both`, or `skip`.
        priority: of its jobs, instead of their type's.
        enabled: False for one that is there and makes no jobs.
        """
        job_type, payload_text = resolve(job, payload)
        plan, by = Plan(job_type=job_type, payload_text=payload_text, **options), self._services.identity.actor()
        wanted = checked(planned(name, plan), self._services)

        def new(old: Schedule | None) -> Schedule:
            if old is not None and not old.retired:
                raise ScheduleExistsError(name, old.origin)
            return made(wanted, old, self._services.clock.now(), by)

        return self._change(wanted.name, "create", new, reason)

    def list(self) -> _Schedules:
        """All schedules by name; `mirror_error` says what EventBridge refused, if it did."""
        return all_schedules(self._services)

    def get(self, name: str) -> Schedule:
        """ScheduleNotFoundError if there is none."""
        return find(name, self._services)

    def next_runs(self, name: str, count: int = 5) -> _Moments:
        """The coming slots, in UTC; none while it is disabled or paused."""
        asked: object = count
        if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= MAX_NEXT_RUNS:
            raise InvalidOptionError(count, f"a number of runs is 1 to {MAX_NEXT_RUNS}", "Ask for fewer.")
        schedule = self.get(name)
        if not schedule.is_active:
            return []
        return list(islice(slots_after(schedule.recurrence, max(schedule.cursor, self._services.clock.now())), count))

    def update(
        self,
        name: str,
        *,
        job: str | None = None,
        payload: Json | PayloadModel = None,
        reason: str = "",
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Change what is passed, by the options of `create`. A new rate, line or timezone counts from now on."""
        text = None if payload is None else encode_value(payload)
        plan = Plan(job_type=job, payload_text=text, **options)

        def new(old: Schedule | None) -> Schedule:
            here = made_here(old, name, "update")
            return redefined(here, checked(replanned(here, plan), self._services), self._services.clock.now())

        return self._change(name, "update", new, reason)

    def pause(self, name: str, *, reason: str = "") -> Schedule:
        """Run no slots until it is resumed; also of a schedule that comes from a job.toml. It outlasts deployments."""

        def new(old: Schedule | None) -> Schedule:
            known = existing(old, name)
            return known if known.paused else replace(known, paused=True, version=known.version + 1)

        return self._change(name, "pause", new, reason)

    def resume(self, name: str, *, reason: str = "") -> Schedule:
        """Go on with the next slot; those that passed during the pause are not made up for (see `backfill`)."""

        def new(old: Schedule | None) -> Schedule:
            known, now = existing(old, name), self._services.clock.now()
            return replace(known, paused=False, cursor=now, version=known.version + 1) if known.paused else known

        return self._change(name, "resume", new, reason)

    def delete(self, name: str, *, reason: str = "") -> None:
        """Remove a schedule. Its jobs stay."""

        def new(old: Schedule | None) -> Schedule:
            here = made_here(old, name, "delete")
            return replace(here, retired=True, version=here.version + 1)

        self._change(name, "delete", new, reason)

    def _change(self, name: str, action: str, new: Callable[[Schedule | None], Schedule], reason: str) -> Schedule:
        by = self._services.identity.actor()
        return change(parse_schedule_name(name), action, new, self._services, by=by, reason=reason)

    def trigger(self, name: str, *, reason: str = "") -> JobId:
        """Run it once now, outside of its plan. Two calls within a minute make one job."""
        services = self._services
        services.deployment.refuse_if_halted()
        schedule, slot = self.get(name), services.clock.now().replace(second=0, microsecond=0)
        look_up_template(schedule, services)
        job = job_of_slot(schedule, slot, services, kind="by-hand", created_by=services.identity.actor())
        entry = by_hand.audit_entry(schedule, "trigger", {"job_id": job.job_id}, services, reason)
        by_hand.make_job(job, entry, services, also=[triggered_by_hand(schedule, entry.at)])
        return job.job_id

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        reason: str = "",
        beyond_retention: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> _JobIds:
        """Make the jobs of past slots that have none, from `start` to `end`; returns those that were made.

        All are made at once, whatever the schedule says about overlaps: the job type's concurrency paces them.
        Slots that are older than the type's retention are refused, since nobody knows whether they were run;
        `beyond_retention=True` makes their jobs, even if that is for the second time.
        `progress` is called with how many slots were looked at and how many there are.
        """
        services = self._services
        services.deployment.refuse_if_halted()
        schedule = self.get(name)
        slots = by_hand.past_slots(schedule, start, end, services, beyond_retention=beyond_retention)
        look_up_template(schedule, services)
        made_ids = []
        for number, slot in enumerate(slots, start=1):
            services.deployment.refuse_if_halted()
            job = job_of_slot(schedule, slot, services, created_by=services.identity.actor())
            details: Record = {"job_id": job.job_id, "slot": to_text(slot)}
            if by_hand.make_job(job, by_hand.audit_entry(schedule, "backfill", details, services, reason), services):
                made_ids.append(job.job_id)
            if progress is not None:
                progress(number, len(slots))
        return made_ids

    def missing_runs(self, name: str, start: datetime, end: datetime, *, beyond_retention: bool = False) -> _Moments:
        """The past slots that have no job: what `backfill` would make."""
        schedule, services = self.get(name), self._services
        slots = by_hand.past_slots(schedule, start, end, services, beyond_retention=beyond_retention)
        missing: _Moments = []
        for some in batched(slots, _READ_AT_ONCE):
            there = services.store.jobs.get_many([id_of_slot(schedule, slot, services) for slot in some])
            missing += [slot for slot in some if id_of_slot(schedule, slot, services) not in there]
        return missing
