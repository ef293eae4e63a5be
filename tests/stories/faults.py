"""Stories in which one call goes wrong, each of its writes in turn: what becomes of it all in the end."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from leasehold.kernel.table import JOBS
from tests.stories.recording import FAULTS, Fault
from tests.stories.story import STORIES, Died, Story, told

if TYPE_CHECKING:
    from collections.abc import Iterator

# Short ones that come by each kind of write.
TROUBLED = (
    "a_plain_job",
    "a_job_that_fails_twice",
    "a_job_that_is_cancelled",
    "a_job_that_must_start_in_time",
    "a_running_job_is_asked_to_stop",
    "a_dead_letter_and_its_redrive",
    "a_dead_letter_that_is_discarded",
    "a_hand_over_that_never_starts",
    "a_worker_that_dies",
    "a_cancelled_job_whose_worker_died",
    "a_zombie",
    "a_lease_that_is_extended",
    "signals",
    "a_halt",
    "a_poll_that_has_to_stop",
    "many_jobs_at_once",
    "claims_at_once_that_are_refused",
    "one_job_per_key",
    "one_job_per_window",
    "a_key_that_two_want",
    "a_burst_that_runs_once",
    "a_large_payload",
    "two_receivers_are_told",
    "an_end_that_is_settled_later",
    "a_group_one_after_the_other",
    "the_only_seat",
    "a_freed_seat_wakes",
    "woken_beside_another",
    "a_seat_that_another_took",
    "an_abandoned_seat",
    "a_rate",
    "a_pause",
    "a_line_that_empties",
    "a_line_that_is_found_empty_and_is_not",
    "a_circuit_with_a_limit",
    "a_reserved_type",
    "a_poller_that_waits",
    "what_a_wake_tells",
    "a_backlog_on_one_shard",
    "a_batch",
)

# Those in which others act at the same time as well.
MET = (
    "a_plain_job",
    "a_job_that_fails_twice",
    "a_job_that_must_start_in_time",
    "a_hand_over_that_never_starts",
    "a_worker_that_dies",
    "signals",
    "a_poll_that_has_to_stop",
    "many_jobs_at_once",
    "one_job_per_key",
    "two_receivers_are_told",
    "the_only_seat",
    "an_abandoned_seat",
    "a_line_that_empties",
    "a_circuit_with_a_limit",
    "a_poller_that_waits",
)
MEETINGS = ("meets a poll", "meets a run", "meets a cancel")


def troubled(name: str) -> str:
    """A line for each fault. The last word names all that happened, line by line: `--at` shows them."""
    head = f"{name.replace('_', ' ')}, when one call goes wrong"
    return "\n".join([head, "", *(_ending(name, fault) for fault in faults_of(name))]) + "\n"


def faults_of(name: str) -> Iterator[Fault]:
    kinds = told(name).table.kinds
    # What is deployed is deployed before the story begins.
    for at, kind in list(enumerate(kinds, 1))[2:]:
        for fault in FAULTS.get(kind, ()):
            yield Fault(at, fault)
        if name in MET and kind in FAULTS:
            yield from (Fault(at, meeting) for meeting in MEETINGS)


def _ending(name: str, fault: Fault) -> str:
    here = recovered(name, fault)
    digest = hashlib.sha256("\n".join([*here.recording.lines, *here.table.left()]).encode()).hexdigest()[:8]
    return f"call {fault.at:3} {fault.kind}: {_became(here)}; {here.table.calls} calls, {digest}"


def recovered(name: str, fault: Fault) -> Story:
    """The story with this fault, and what polls make of it afterwards."""
    here = Story(name, fault)
    try:
        STORIES[name](here)
    except (Exception, Died) as error:
        here.recording.note(f"breaks off: {type(error).__name__}: {here.recording.named(str(error))}")
    for pause in (1, 130, 130):
        here.wait(pause)
        here.work()
    return here


def _became(here: Story) -> str:
    jobs = [each for each in here.table.stored.scan(JOBS) if "job_id" in each and "status" in each]
    became = sorted(
        f"{here.recording.text(each['job_id'])} {each['status']!s}/{each.get('attempts', 0)!s}" for each in jobs
    )
    return ", ".join(became) or "no job"
