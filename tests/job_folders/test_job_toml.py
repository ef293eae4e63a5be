"""job.toml: what good files mean."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.job_folders.job_toml import JobFolder
from leasehold.job_folders.permission import Permission
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority
from leasehold.kernel.retry import Delays, Exponential, Fixed
from leasehold.kernel.type_options import OnFull, Retention
from leasehold.limits.model import Rate
from leasehold.schedules.model import Schedule
from leasehold.schedules.recurrence import Cron, Every
from leasehold.webhooks.address import RunEvent, Webhook
from tests.job_folders.reading import read_well


def test_an_empty_file_takes_every_default():
    assert read_well("") == JobFolder(job_type=JobType(name="backup"), path="functions/jobs/backup")


def test_every_key_is_understood():
    folder = read_well("""
        timeout = "15m"
        memory = 1024
        max_event_age = 120
        lease = "45s"
        heartbeat = true
        concurrency = 2
        concurrency_per_key = 1
        rate = "100 per minute"
        rate_per_key = "5/s"
        resources = ["gpu"]
        weight = 2
        on_full = "skip"
        priority = "critical"
        max_attempts = 3
        reported_fields = ["user_id"]
        requirements = ["httpx==0.28.1 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000"]
        log_retention_days = 90
        reserved_concurrency = 2

        [retry]
        policy = "delays"
        delays = [30, "1m"]

        [weights]
        acme = 3

        [circuit_breaker]
        failure_rate = 0.25
        min_runs = 40
        window = "10m"
        probe_after = "30s"
        longest_pause = "15m"

        [webhook]
        url = "https://hooks.example.com/jobs"
        events = ["job.run.dead_lettered"]

        [retention]
        completed = "1d"
        cancelled = "2 days"
        dead_letter = "52 weeks"

        [environment]
        REPORT_BUCKET = "reports"

        [[permissions]]
        actions = ["s3:PutObject"]
        resources = ["arn:${AWS::Partition}:s3:::reports/*"]
        reason = "a report's key holds its date"
        conditions = { StringEquals = { "s3:x-amz-acl" = "private" } }

        [schedule]
        cron = "0 9 * * mon-fri"
        timezone = "Europe/Berlin"
        enabled = false
        payload = { tables = ["users"] }
    """)
    assert folder == JobFolder(
        job_type=JobType(
            name="backup",
            timeout=timedelta(minutes=15),
            max_event_age=timedelta(minutes=2),
            lease=timedelta(seconds=45),
            heartbeat=True,
            concurrency=2,
            concurrency_per_key=1,
            rate=Rate(100, timedelta(minutes=1)),
            rate_per_key=Rate(5, timedelta(seconds=1)),
            resources=("gpu",),
            weight=2,
            weights={"acme": 3},
            on_full=OnFull.SKIP,
            breaker=CircuitBreaker(
                failure_rate=0.25,
                min_runs=40,
                window=timedelta(minutes=10),
                probe_after=timedelta(seconds=30),
                longest_pause=timedelta(minutes=15),
            ),
            priority=Priority.CRITICAL,
            max_attempts=3,
            retry=Delays((timedelta(seconds=30), timedelta(minutes=1))),
            retention=Retention(
                completed=timedelta(days=1), cancelled=timedelta(days=2), dead_letter=timedelta(weeks=52)
            ),
            webhook=Webhook(url="https://hooks.example.com/jobs", events=(RunEvent.DEAD_LETTERED,)),
            reported_fields=("user_id",),
        ),
        path="functions/jobs/backup",
        memory_mb=1024,
        environment={"REPORT_BUCKET": "reports"},
        permissions=(
            Permission(
                actions=("s3:PutObject",),
                resources=("arn:${AWS::Partition}:s3:::reports/*",),
                conditions={"StringEquals": {"s3:x-amz-acl": ("private",)}},
                reason="a report's key holds its date",
            ),
        ),
        requirements=(f"httpx==0.28.1 --hash=sha256:{'0' * 64}",),
        schedule=Schedule(
            name="backup",
            job_type="backup",
            recurrence=Cron("0 9 * * mon-fri", "Europe/Berlin"),
            payload_text='{"tables":["users"]}',
            enabled=False,
        ),
        log_retention_days=90,
        reserved_concurrency=2,
    )


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90),
        ('"90s"', 90),
        ('"90 seconds"', 90),
        ('"1 minute"', 60),
        ('"15m"', 900),
        ("1", 1),
        ("900", 900),
    ],
)
def test_a_timeout_is_seconds_or_text_with_a_unit(written: str, seconds: int):
    assert read_well(f"timeout = {written}").job_type.timeout == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ("", Exponential()),
        ("base = 10", Exponential(timedelta(seconds=10))),
        ('base = "7h"', Exponential(timedelta(hours=7), timedelta(hours=7))),
        ('policy = "exponential"\ncap = "1h"\njitter = 0', Exponential(cap=timedelta(hours=1), jitter=0)),
        ('policy = "fixed"\ndelay = 60', Fixed(timedelta(minutes=1))),
        ('policy = "delays"\ndelays = [0, "5m"]', Delays((timedelta(0), timedelta(minutes=5)))),
    ],
)
def test_each_retry_policy_can_be_written(written: str, policy: object):
    assert read_well(f"[retry]\n{written}").job_type.retry == policy


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("1 minute", timedelta(minutes=1)),
        ("30 minutes", timedelta(minutes=30)),
        ("1 hour", timedelta(hours=1)),
        ("1 week", timedelta(weeks=1)),
    ],
)
def test_a_schedule_may_have_a_rate(written: str, rate: timedelta):
    schedule = read_well(f'[schedule]\nrate = "{written}"').schedule
    assert schedule is not None
    assert schedule.recurrence == Every(rate)


@pytest.mark.parametrize("cron", ["* * * * *", "*/15 0-6,22 1 jan,jul sun", "0 9 * * 1-5", "5/10 0 31 12 7"])
def test_a_cron_line_has_five_fields(cron: str):
    schedule = read_well(f'[schedule]\ncron = "{cron}"').schedule
    assert schedule is not None
    assert schedule.recurrence == Cron(cron)


@pytest.mark.parametrize(
    ("written", "breaker"),
    [
        ("", CircuitBreaker()),
        ("failure_rate = 1", CircuitBreaker(failure_rate=1.0)),
        ('probe_after = "2h"', CircuitBreaker(probe_after=timedelta(hours=2), longest_pause=timedelta(hours=2))),
    ],
)
def test_the_header_alone_switches_the_circuit_breaker_on(written: str, breaker: CircuitBreaker):
    assert read_well(f"[circuit_breaker]\n{written}").job_type.breaker == breaker


def test_an_action_on_everything_is_allowed_with_its_reason():
    folder = read_well("""
        [[permissions]]
        actions = ["cloudwatch:PutMetricData"]
        resources = ["*"]
        reason = "AWS knows no resource for this action"
    """)
    assert folder.permissions[0].resources == ("*",)


def test_a_lease_that_a_heartbeat_keeps_alive_may_be_short():
    assert read_well("lease = 15\nheartbeat = true").job_type.lease == timedelta(seconds=15)


def test_a_lease_that_outlasts_the_function_needs_no_heartbeat():
    assert read_well("timeout = 10\nlease = 75").job_type.lease_length == timedelta(seconds=75)


def test_a_type_without_a_limit_may_say_so():
    assert read_well('concurrency = "unlimited"').job_type.concurrency is None


def test_a_webhook_without_an_address_says_what_is_told_of_jobs_that_bring_one():
    folder = read_well("[webhook]\nevents = ['job.run.completed']")
    assert folder.job_type.webhook == Webhook(url=None, events=(RunEvent.COMPLETED,))
