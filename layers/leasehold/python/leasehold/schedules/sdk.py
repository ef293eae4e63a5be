"""Recurring jobs: `queue.schedules`."""

from __future__ import annotations

from dataclasses import replace
from itertools import batched, islice
from typing import TYPE_CHECKING, Unpack, cast

from leasehold.kernel.keys import to_text
from leasehold.kernel.payload import encode_value, resolve
from leasehold.kernel.type_options import whole_number
from leasehold.schedules import by_hand
from leasehold.schedules.model import (
    Origin,
    Plan,
    ScheduleDeployedError,
    ScheduleExistsError,
    ScheduleOptions,
    coming_slots,
    parse_schedule_name,
    planned,
)
from leasehold.schedules.trigger import id_of_slot, job_of_slot, look_up_template
from leasehold.schedules.verbs import all_schedules, change, checked, existing, find, redefined

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.schedules.model import Schedule
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload

    # Named out here: within the class, `list` is a method.
    type _Schedules = list[Schedule]
    type _Moments = list[datetime]
    type _JobIds = list[JobId]


MAX_NEXT_RUNS = 1_000
# As many as one BatchGetItem can fetch.
_READ_AT_ONCE = 100


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
            return replace(wanted, cursor=self._services.clock.now(), created_by=by)

        return self._change(wanted.name, "create", new, reason)

    def list(self) -> _Schedules:
        """All schedules by name; `mirror_error` says what EventBridge refused, if it did."""
        return all_schedules(self._services)

    def get(self, name: str) -> Schedule:
        """ScheduleNotFoundError if there is none."""
        return find(name, self._services)

    def next_runs(self, name: str, count: int = 5) -> _Moments:
        """The coming slots, in UTC; none while it is disabled or paused."""
        whole_number(count, "a number of runs", MAX_NEXT_RUNS, "Ask for fewer.")
        schedule = self.get(name)
        return list(islice(coming_slots(schedule, self._services.clock.now()), count))

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

        def new(old: Schedule) -> Schedule:
            return redefined(old, checked(planned(name, plan, old), self._services), self._services.clock.now())

        return self._change_existing(name, "update", new, reason, is_made_here=True)

    def pause(self, name: str, *, reason: str = "") -> Schedule:
        """Run no slots until it is resumed; also of a schedule that comes from a job.toml. It outlasts deployments."""
        return self._change_existing(name, "pause", lambda old: replace(old, paused=True), reason)

    def resume(self, name: str, *, reason: str = "") -> Schedule:
        """Go on with the next slot; those that passed during the pause are not made up for (see `backfill`)."""

        def new(old: Schedule) -> Schedule:
            return replace(old, paused=False, cursor=self._services.clock.now()) if old.paused else old

        return self._change_existing(name, "resume", new, reason)

    def delete(self, name: str, *, reason: str = "") -> None:
        """Remove a schedule. Its jobs stay."""
        self._change_existing(name, "delete", lambda old: replace(old, retired=True), reason, is_made_here=True)

    def _change_existing(
        self, name: str, action: str, new: Callable[[Schedule], Schedule], reason: str, *, is_made_here: bool = False
    ) -> Schedule:
        def changed(old: Schedule | None) -> Schedule:
            known = existing(name, old)
            if is_made_here and known.origin is Origin.DEPLOYED:
                raise ScheduleDeployedError(name, action)
            return new(known)

        return self._change(name, action, changed, reason)

    def _change(self, name: str, action: str, new: Callable[[Schedule | None], Schedule], reason: str) -> Schedule:
        by = self._services.identity.actor()
        return cast("Schedule", change(parse_schedule_name(name), action, new, self._services, by=by, reason=reason))

    def trigger(self, name: str, *, reason: str = "") -> JobId:
        """Run it once now, outside of its plan. Two calls within a minute make one job."""
        services = self._services
        services.deployment.refuse_if_halted()
        schedule, slot = self.get(name), services.clock.now().replace(second=0, microsecond=0)
        look_up_template(schedule, services)
        job = job_of_slot(schedule, slot, services, kind="by-hand", created_by=services.identity.actor())
        by_hand.make_job(schedule, job, by_hand.TRIGGER, services, reason=reason)
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
            if by_hand.make_job(schedule, job, "backfill", services, reason=reason, slot=to_text(slot)):
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
