"""What is deployed for one kind of job: its limits, its lease, its retries."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidJobTypeError
from leasehold.kernel.keys import SYSTEM_CODE, Priority, type_code
from leasehold.kernel.retry import DEFAULT_MAX_ATTEMPTS, Exponential, RetryPolicy
from leasehold.kernel.type_options import CLOCK_TOLERANCE, DELIVERY, NAME, OnFull, Retention, check_job_type
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.batches.model import Batch
    from leasehold.circuit_breaker.model import CircuitBreaker
    from leasehold.limits.model import Rate
    from leasehold.webhooks.address import Webhook

# An invocation of Lambda lives no longer.
LONGEST_INVOCATION = timedelta(minutes=15)
# What an invocation needs besides its jobs' own time: to start with a small share of a core, and to write the ends.
START_AND_RESERVE = timedelta(seconds=10)


def parse_job_type(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        problem = "a job type is 1 to 64 characters of a-z, 0-9 and _, starting with a letter"
        raise InvalidJobTypeError(name, problem, "Use a name like daily_summary.")
    return name


def parse_users_job_type(name: object) -> str:
    """A name that a user may give to a job type, and enqueue jobs under."""
    if parse_job_type(name) == DELIVERY:
        raise InvalidJobTypeError(name, "this job type is the system's own", "Use another name.")
    return str(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobType:
    """Settings of one job type.

    code: names its jobs' partitions, and stands in their ids; left out, it is a hash of the name.
    timeout: how long a handler may run.
    max_event_age: how long a hand-over may wait in Lambda's own queue.
    lease: how long a claim lasts; by default as long as the platform could need.
    heartbeat: extend the lease from a background thread, for leases shorter than the timeout.
    concurrency: how many jobs of this type may be claimed at once; None is no limit.
    concurrency_per_key: how many of them with the same `concurrency_key`; jobs without a key are not counted.
    rate, rate_per_key: how many may start in a while, of the type and of one key.
    resources: what it needs a share of, e.g. "gpu"; how much of each there is stands in the stage.
    weight: how many of its jobs have a turn together where it shares a limit with other types.
    weights: the same of its keys, under the type's own limits; a key that is not in here has 1.
    batch: how many of its jobs one invocation may take; None for one each.
    on_full: what becomes of a new job that finds one of these limits full.
    breaker: pause it by itself when too many of its runs fail; None leaves that to people.
    webhook: whom to tell of the runs of its jobs, and of which; None for those that a job itself names.
    audit_creation: whether a job that a person creates leaves an audit record; those of the system never do.
    check_payload: whether a payload that does not fit the handler's model is refused before there is a job.
    schema: names what it is checked against; a deployment asks the handler, and sets it.
    reported_fields: payload fields that error reports may show; by default none leaves the account.
    function: the Lambda function that handles it; None where handlers run in process.
    logs: its region and log group, e.g. "eu-central-1:/aws/lambda/x", as it says at a deployment.
    """

    name: str
    code: int = 0
    timeout: timedelta = timedelta(seconds=60)
    max_event_age: timedelta = timedelta(seconds=60)
    lease: timedelta | None = None
    heartbeat: bool = False
    concurrency: int | None = None
    concurrency_per_key: int | None = None
    rate: Rate | None = None
    rate_per_key: Rate | None = None
    resources: tuple[str, ...] = ()
    on_full: OnFull = OnFull.WAIT
    weight: int = 1
    weights: Mapping[str, int] = field(default_factory=dict)
    batch: Batch | None = None
    breaker: CircuitBreaker | None = None
    priority: Priority = Priority.NORMAL
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    retry: RetryPolicy = field(default_factory=Exponential)
    retention: Retention = field(default_factory=Retention)
    webhook: Webhook | None = None
    audit_creation: bool = True
    check_payload: bool = True
    schema: str | None = None
    reported_fields: tuple[str, ...] = ()
    function: str | None = None
    logs: str | None = None

    def __post_init__(self) -> None:
        parse_job_type(self.name)
        if self.name == DELIVERY or not self.code:
            object.__setattr__(self, "code", SYSTEM_CODE if self.name == DELIVERY else type_code(self.name))
        check_job_type(self)

    @property
    def is_limited(self) -> bool:
        """Whether it has limits of its own, or shares some with other types."""
        limits = self.concurrency, self.concurrency_per_key, self.rate, self.rate_per_key
        return bool(self.resources) or limits != (None,) * len(limits)

    @property
    def longest_run(self) -> timedelta:
        """How long the jobs of one invocation may take together."""
        if self.batch is None:
            return self.timeout
        return max(self.timeout, min(self.timeout * self.batch.size, LONGEST_INVOCATION - START_AND_RESERVE))

    @property
    def full_lease(self) -> timedelta:
        """As long as an invocation of this type can possibly still be on its way or running."""
        return self.longest_run + self.max_event_age + CLOCK_TOLERANCE

    @property
    def lease_length(self) -> timedelta:
        return self.lease or self.full_lease

    @property
    def longest_hold(self) -> timedelta:
        """How long a seat is kept: a heartbeat may give up its lease sooner, while the handler still runs."""
        return max(self.full_lease, self.lease_length)
