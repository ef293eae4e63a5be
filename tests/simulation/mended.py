"""What was mended once, each as it can be taken out again, with the test that must miss it then.

A mending is taken out in a process of its own, by a plug-in of pytest, which is this file: no file is ever changed.
`make simulate-teeth` takes out all of them; docs/reliability.md says what each was about.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leasehold.audit import records as audit
from leasehold.aws import polling
from leasehold.batches import execute as batches
from leasehold.batches import gather
from leasehold.bulk import enqueue_many
from leasehold.housekeeping import payload_rounds
from leasehold.kernel import dedup as dedup_records
from leasehold.kernel import execute, memory, offload
from leasehold.limits import admission, lines, looks, seating, turns, visit
from leasehold.limits.lanes import queue_of
from leasehold.limits.model import key_of_scope
from leasehold.limits.scopes import Lane
from leasehold.operate import measure, redrive
from leasehold.pollers import hand_overs, sharing, waiting, window
from leasehold.runtime import lease
from leasehold.schedules import by_hand, trigger
from tests.simulation.guards import Guard, without

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.kernel.claim import Claim

ROOT = Path(__file__).parents[2]
_TAKEN_OUT = "LEASEHOLD_TAKEN_OUT"
_FAILED = 1
_FOR_GOOD = ExitStack()


@dataclass(frozen=True, kw_only=True)
class Mending:
    """take_out: changes the library in this process, for good. test: below tests/, what must fail then."""

    name: str
    take_out: Callable[[], object]
    test: str


def pytest_configure() -> None:
    name = os.environ.get(_TAKEN_OUT)
    if name is not None:
        next(each for each in MENDINGS if each.name == name).take_out()


def is_noticed(mending: Mending) -> bool:
    """Whether its test fails without it."""
    quiet = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return (
        subprocess.run(
            [sys.executable, "-m", "pytest", *quiet, "-p", "tests.simulation.mended", f"tests/{mending.test}"],
            cwd=ROOT,
            env={**os.environ, _TAKEN_OUT: mending.name},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode
        == _FAILED
    )


def _lanes_follow_limits() -> None:
    """A job waits in a lane of the limit that is full, and is moved when it is another."""

    def lane_of(self: Any, entry: Any) -> Lane:
        full = self.narrowest_full(self.limits_of(entry.job_type, entry.concurrency_key))
        key = entry.concurrency_key if full is not None and key_of_scope(full.scope) else None
        return Lane(priority=entry.priority, queue=queue_of(entry.job_type, key))

    _set(admission.Admission, "lane_of", lane_of)


def _visits_stay() -> None:
    """A visit goes on until nobody can, whoever else is due."""
    whole = visit.Visits._serve

    def serve(self: Any, seen: Any, switches: Any) -> None:
        whole(self, seen, switches)
        while not seen.is_over and self._may_go_on():
            whole(self, seen, switches)

    _set(visit.Visits, "_serve", serve)


def _no_turns() -> None:
    """The first lane of a line is served, a page at a time, as long as it has jobs."""
    _set(turns.Visit, "_from_the_next", lambda _self, ring, _last: list(ring))
    _set(turns.Visit, "jobs_of_turn", lambda self, _lane: self._shared.page_limit)


def _looks_each_time() -> None:
    """However often nothing was found, a scope is looked at again soon, and as a whole."""
    _set(looks.Looks, "_next_at", lambda _self, _due_key, now: now + timedelta(seconds=60))
    _set(looks.Looks, "_is_full", lambda *_, **__: False)


def _is_cancel_requested(whole: Any) -> Any:
    def asked(attempt: Any) -> bool:
        attempt.services.store.jobs.get(attempt.job.job_id)
        return bool(whole(attempt))

    return asked


def _orphans_keep_seats() -> None:
    def may_still_run(end: Any) -> bool:
        return (
            end.is_orphan and end.job.locked_at is not None and end.at < end.job.locked_at + end.job_type.longest_hold
        )

    _set(seating, "_may_still_run", may_still_run)


def _free_seats_are_room() -> None:
    whole = seating.plan_seats

    def plan_seats(*given: Any) -> Any:
        plan = whole(*given)
        return replace(plan, room=len(plan.free) + len(plan.abandoned))

    _set(seating, "plan_seats", plan_seats)


def _trusts_for_ever() -> None:
    for module in (seating, admission):
        _set(module, "TRUSTED_FOR", timedelta(days=1))


def _forgets_soon() -> None:
    for module in (lines, looks):
        _set(module, "EMPTY_FOR", timedelta(minutes=1))


def _counts_for_ever() -> None:
    _set(measure, "COUNT_LIMIT", 10**9)
    _set(measure, "A_LOOK", timedelta(days=1))


def _keys_stay_taken() -> None:
    for module in (dedup_records, enqueue_many, redrive):
        _set(module, "is_free", lambda *_, **__: False)


def _backfills_all(whole: Any) -> Any:
    return lambda *given, **said: whole(*given, **{**said, "beyond_retention": True})


def _set(owner: object, name: str, value: object) -> None:
    assert hasattr(owner, name), f"{owner} has no {name} any more"
    setattr(owner, name, value)


def _wrapped(owner: object, name: str, wrap: Callable[[Any], object]) -> Callable[[], None]:
    return lambda: _set(owner, name, wrap(getattr(owner, name)))


def _as(owner: object, name: str, value: object) -> Callable[[], None]:
    return lambda: _set(owner, name, value)


def _batches_all() -> None:
    """The claim tells them apart, and so does the start."""
    _set(gather, "together", lambda claim: claim.job_type.batch.size if claim.job_type.batch else 1)
    _set(batches, "_may_start_with_others", lambda job, handover: job.locked_by == handover.token)


def _adds_twice(_whole: Any) -> Any:
    def add(self: gather.Gathering, claim: Claim, now: datetime) -> Any:
        waiting = self._waiting.setdefault(claim.handover.job_type, (now, []))[1]
        waiting.append(claim)
        return self._waiting.pop(claim.handover.job_type)[1] if len(waiting) >= gather.together(claim) else None

    return add


_HAND_OVERS = "kernel/test_hand_overs.py"
_LIMITS = "limits/test_limits.py"
_SEATS = "contract/test_seats_given_back.py"
_UNSEEN = "limits/test_nobody_waits_unseen.py"
_OPERATORS = "contract/test_operators_at_once.py"
MENDINGS = [
    Mending(
        name="lanes wait, jobs do not travel",
        take_out=_lanes_follow_limits,
        test=f"{_LIMITS}::test_jobs_that_wait_for_two_limits_are_not_moved_to_and_fro[type and key]",
    ),
    Mending(
        name="a visit is a guest",
        take_out=_visits_stay,
        test=f"{_LIMITS}::test_a_pause_that_ends_keeps_no_job_of_another_type_waiting[unpause_one_key-1]",
    ),
    Mending(
        name="a wake is short",
        take_out=_as(polling, "_A_WAKE", timedelta(hours=1)),
        test="aws/test_short_wakes.py::test_a_wake_that_meets_a_backlog_leaves_it_to_a_poller_that_may_stay",
    ),
    Mending(
        name="looks in vain are rare",
        take_out=_looks_each_time,
        test=f"{_LIMITS}::test_keys_that_are_blocked_for_long_cost_the_poller_little_and_go_on_when_they_are_free",
    ),
    Mending(
        name="lanes take turns",
        take_out=_no_turns,
        test=f"{_LIMITS}::test_a_tenant_with_ten_jobs_does_not_wait_for_a_tenant_with_a_thousand",
    ),
    Mending(
        name="measuring ends",
        take_out=_counts_for_ever,
        test="kernel/test_measure.py::test_figures_of_more_than_a_moment_can_count_are_a_sample_and_say_so",
    ),
    Mending(
        name="a tick keeps payloads",
        take_out=_as(payload_rounds, "keep_payloads", lambda *_, **__: None),
        test="kernel/test_measure.py::test_payloads_are_kept_before_anything_is_measured",
    ),
    Mending(
        name="an end is written with retries",
        take_out=_as(execute.Attempt, "_with_retries", lambda _self, call, **_: call()),
        test="kernel/test_patient_ends.py::test_a_job_whose_table_is_away_when_its_handler_is_done_completes_once",
    ),
    Mending(
        name="looking for a cancel survives a blip",
        take_out=_wrapped(lease, "is_cancel_requested", _is_cancel_requested),
        test="kernel/test_patient_ends.py::test_looking_whether_a_cancel_was_requested_survives_a_blip_and_sees_it_later",
    ),
    Mending(
        name="what a poll remembers is trusted for 30 s",
        take_out=_trusts_for_ever,
        test=f"{_UNSEEN}::test_a_poll_of_an_hour_joins_the_line_again_that_others_have_forgotten",
    ),
    Mending(
        name="a lane is forgotten after a poller's life",
        take_out=_forgets_soon,
        test=f"{_UNSEEN}::test_a_process_that_stood_still_before_it_held_a_job_and_then_died_leaves_it_to_the_next_look",
    ),
    Mending(
        name="a redrive takes a key that is free",
        take_out=_keys_stay_taken,
        test="contract/test_deduplication.py::test_a_dead_job_is_redriven_once_the_job_that_took_its_key_has_ended[memory]",
    ),
    Mending(
        name="a cancel sees the claim",
        take_out=lambda: _FOR_GOOD.enter_context(without(Guard("cancel", "locked_by as seen"))),
        test=f"{_SEATS}::test_a_job_that_is_claimed_while_it_is_cancelled_or_replaced_leaves_no_seat_behind",
    ),
    Mending(
        name="who never started gives its seat back",
        take_out=_orphans_keep_seats,
        test=f"{_SEATS}::test_a_hand_over_that_never_arrived_gives_its_seat_back_when_its_lease_ends",
    ),
    Mending(
        name="dates grow along a chain",
        take_out=_as(audit, "_ONE_STEP", -timedelta(days=36500)),
        test=f"{_OPERATORS}::test_an_operator_whose_clock_is_slow_leaves_a_trail_that_verifies",
    ),
    Mending(
        name="a token is of its content",
        take_out=_as(memory, "content_token", lambda token, _changes: token),
        test="contract/test_table_batches.py::test_a_token_that_comes_back_with_other_changes_is_another_transaction",
    ),
    Mending(
        name="operators try again for long",
        take_out=_as(audit, "tries", lambda _services: range(5)),
        test=f"{_OPERATORS}::test_an_emergency_halt_holds_however_often_others_are_quicker",
    ),
    Mending(
        name="a backfill leaves old slots alone",
        take_out=_wrapped(by_hand, "past_slots", _backfills_all),
        test="contract/test_backfill_looks.py::test_a_slot_whose_job_was_removed_by_retention_is_not_run_again_unless_that_is_wanted",
    ),
    Mending(
        name="what was told may be told again",
        take_out=_as(trigger, "TELL_AGAIN_AFTER", timedelta(days=3650)),
        test="contract/test_schedules.py::test_a_slow_call_of_an_older_version_does_not_stay_on_top",
    ),
    Mending(
        name="what was told late is told again",
        take_out=_as(trigger, "_make_up_for", lambda *_: None),
        test="contract/test_schedules.py::test_a_slow_call_of_an_older_version_does_not_stay_on_top",
    ),
    Mending(
        name="what a wake shows is waited for",
        take_out=_wrapped(
            waiting.WaitingPoller, "reserve", lambda whole: lambda self, _hints=(), *rest: whole(self, (), *rest)
        ),
        test="aws/test_short_wakes.py::test_a_job_that_no_index_shows_yet_is_waited_for",
    ),
    Mending(
        name="seats beyond a lowered limit count",
        take_out=_free_seats_are_room,
        test=f"{_UNSEEN}::test_a_limit_that_is_lowered_lets_nobody_start_while_as_many_run",
    ),
    Mending(
        name="a scope is forgotten",
        take_out=_as(lines.Lines, "forget", lambda _self, _scope: False),
        test=f"{_UNSEEN}::test_a_scope_that_was_full_once_is_forgotten_and_costs_nobody_a_write",
    ),
    Mending(
        name="a poll in vain is followed by a gap",
        take_out=_as(waiting, "_LONGEST_GAP", timedelta(0)),
        test="pollers/test_waiting.py::test_an_entry_that_cannot_be_handled_does_not_make_a_busy_loop",
    ),
    Mending(
        name="the heartbeat's exit is short",
        take_out=_as(lease, "_LONGEST_WAIT", timedelta(seconds=25)),
        test="runtime/test_heartbeat.py::test_a_beat_that_hangs_in_an_outage_does_not_keep_the_job_from_its_end",
    ),
    Mending(
        name="payloads live for 400 days",
        take_out=_as(offload, "SLACK", timedelta(days=35)),
        test="contract/test_payload_rounds.py::test_a_tick_that_is_off_for_a_year_loses_no_payload_of_a_live_job",
    ),
    Mending(
        name="who failed in a batch runs alone",
        take_out=_batches_all,
        test="batches/test_batches.py::test_a_job_that_failed_runs_alone_from_then_on",
    ),
    Mending(
        name="who waits for its batch is in it once",
        take_out=_wrapped(gather.Gathering, "add", _adds_twice),
        test="batches/test_gathering.py::test_a_job_that_is_claimed_again_while_it_waits_is_handed_over_once",
    ),
    Mending(
        name="a batch is waited for shortly",
        take_out=_as(gather, "_GATHERED_FOR", timedelta(hours=1)),
        test=f"{_HAND_OVERS}::test_a_claimed_job_of_a_batch_type_does_not_wait_for_the_end_of_its_lane",
    ),
    Mending(
        name="behind hand-overs that hang nothing is sent too late",
        take_out=_as(hand_overs, "_HANGS_AFTER", timedelta(days=1)),
        test=f"{_HAND_OVERS}::test_a_poll_that_has_to_end_puts_back_what_waits_behind_hand_overs_that_hang",
    ),
    Mending(
        name="a free shard is anyone's",
        take_out=_as(sharing.Sharing, "looks_at_all", lambda self, *, is_busy: self.part.of == 1),
        test=f"{_HAND_OVERS}::test_whoever_shares_a_backlog_comes_to_the_shard_of_one_who_never_came",
    ),
    Mending(
        name="what has not started is bounded",
        take_out=_as(window.Window, "_left", lambda _self, _plain: set()),
        test="pollers/test_window.py::test_what_has_not_started_is_bounded",
    ),
]
