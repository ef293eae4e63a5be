"""What a deployment makes of the `[schedule]` table."""

from __future__ import annotations

from datetime import timedelta

from leasehold.job_folders.folder import schedules_of
from leasehold.schedules.model import Missed, Overlap
from leasehold.schedules.records import definition_of, definition_record
from leasehold.schedules.recurrence import Cron, Every, InTheGap, WhenRepeated
from tests.job_folders.reading import read_well


def test_a_rate_becomes_a_schedule_that_has_the_type_s_name():
    (schedule,) = schedules_of([read_well('[schedule]\nrate = "30 minutes"')])

    assert (schedule.name, schedule.job_type, schedule.payload_text) == ("backup", "backup", "{}")
    assert schedule.recurrence == Every(timedelta(minutes=30))
    assert (schedule.missed, schedule.overlap, schedule.enabled) == (Missed.LATEST, Overlap.SKIP, True)


def test_every_policy_can_be_written_down():
    folder = read_well(
        """
        [schedule]
        cron = "30 2 * * *"
        timezone = "Europe/Berlin"
        on_dst_gap = "skip"
        on_dst_overlap = "both"
        missed = "all"
        missed_window = "2d"
        enabled = false
        payload = { user = "ada" }
        """
    )

    (schedule,) = schedules_of([folder])

    assert schedule.recurrence == Cron("30 2 * * *", "Europe/Berlin", InTheGap.SKIP, WhenRepeated.BOTH)
    assert (schedule.missed, schedule.missed_window) == (Missed.ALL, timedelta(days=2))
    assert (schedule.overlap, schedule.enabled) == (Overlap.QUEUE, False)
    assert schedule.payload_text == '{"user":"ada"}'


def test_a_folder_without_a_schedule_has_none():
    assert schedules_of([read_well("")]) == []


def test_a_template_is_kept_by_its_name_next_to_the_payload_that_is_laid_over_it():
    folder = read_well('[schedule]\nrate = "1 hour"\ntemplate = "nightly"\npayload = { user = "ada" }')

    (schedule,) = schedules_of([folder])

    assert (schedule.template, schedule.job_type, schedule.payload_text) == ("nightly", "backup", '{"user":"ada"}')
    assert definition_of(schedule.name, definition_record(schedule)) == schedule
