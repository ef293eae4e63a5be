"""The stages: everything that differs between two deployments, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Settings of one deployment.

    name: part of every resource's name: `leasehold-<name>-…`.
    keeps_data: tables cannot be deleted, and stay when their stack goes.
    architecture: of the functions and their dependency layer.
    shards: partitions of the due index; one carries about 250 jobs a second. Raise it on a live table, never lower it.
    ended_index: list ended jobs by type and status, for one more write unit per job.
    wake_by_stream: start due jobs within a second; off, everything runs at the tick or at `poll_interval`.
    poll_interval: below a minute, the tick stays and polls at this interval; None for once a minute.
    poller_concurrency: reserved for the poller: the tick, a resident, and the wakes of the stream's shards.
    customer_key: encrypt tables, topic and queues with a key of this account instead of AWS's own.
    permissions_boundary: name of a managed policy that bounds every role, where an organisation asks for one.
    sentry_dsn_secret, sentry_dsn_parameter: where the DSN is kept, in Secrets Manager or SSM; none for no Sentry.
    log_retention_days: one of the numbers that CloudWatch Logs accepts.
    alarm_email: who is told; None for a topic without a subscriber.
    """

    name: str
    keeps_data: bool = False
    architecture: Literal["arm64", "x86_64"] = "arm64"
    shards: int = 1
    ended_index: bool = True
    wake_by_stream: bool = True
    poll_interval: timedelta | None = None
    poller_concurrency: int = 5
    customer_key: bool = False
    permissions_boundary: str | None = None
    sentry_dsn_secret: str | None = None
    sentry_dsn_parameter: str | None = None
    log_retention_days: int = 30
    alarm_email: str | None = None

    def named(self, name: str) -> str:
        """The physical name of a resource: programs outside of the stacks find tables and functions by it."""
        return f"leasehold-{self.name}-{name}"

    @property
    def metrics_namespace(self) -> str:
        return f"Leasehold/{self.name}"


STAGES: tuple[Stage, ...] = (
    Stage(name="dev"),
    Stage(
        name="prod",
        keeps_data=True,
        customer_key=True,
        log_retention_days=90,
        sentry_dsn_secret="leasehold/prod/sentry-dsn",
    ),
    # What `leasehold local deploy` puts onto the local AWS of this machine.
    Stage(name="local", architecture="x86_64", log_retention_days=1),
)


def stage_named(name: str) -> Stage:
    for stage in STAGES:
        if stage.name == name:
            return stage
    names = ", ".join(stage.name for stage in STAGES)
    raise ValueError(f"there is no stage {name!r}. Use one of {names}, or add it to infra/stages.py.")
