"""The environments that the reference app is deployed to: all that differs between two of them, in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from leasehold.aws.api_access import Access
from leasehold.cdk import ApiOptions

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One deployment of the reference app; its queue has the environment's name.

    keeps_data: tables cannot be deleted, and stay when their stack goes.
    customer_key: encrypt tables, topic, queues and logs with a key of this account instead of AWS's own.
    audit_lock: how the daily roots of the audit are locked; read docs/operations.md before you set "compliance".
    sentry_dsn, webhook_keys: where they are kept: the name of a secret, or that of an SSM parameter if it begins
        with `/`; None for no Sentry, and no webhooks.
    log_retention_days: one of the numbers that CloudWatch Logs accepts.
    with_exercises: deploy functions/exercises too, job types that go wrong on purpose; for the local AWS only.
    props: further props of its JobQueue.
    """

    name: str
    keeps_data: bool = False
    customer_key: bool = False
    audit_lock: Literal["governance", "compliance"] | None = None
    sentry_dsn: str | None = None
    webhook_keys: str | None = None
    log_retention_days: int = 30
    with_exercises: bool = False
    props: Mapping[str, Any] = field(default_factory=dict, hash=False)


ENVIRONMENTS: tuple[Environment, ...] = (
    Environment(
        name="dev",
        webhook_keys="/leasehold/dev/webhook-keys",
        props={"metrics_per_type": True, "dashboard": True},
    ),
    Environment(
        name="prod",
        keeps_data=True,
        customer_key=True,
        audit_lock="governance",
        sentry_dsn="leasehold/prod/sentry-dsn",
        webhook_keys="leasehold/prod/webhook-keys",
        log_retention_days=90,
        props={"metrics_per_type": True, "dashboard": True},
    ),
    # What `leasehold local deploy` puts onto the local AWS of this machine.
    Environment(
        name="local",
        # Nothing is stored there unless somebody wants to see the reports: put a DSN there, and they are sent.
        sentry_dsn="/leasehold/local/sentry-dsn",
        webhook_keys="/leasehold/local/webhook-keys",
        log_retention_days=1,
        with_exercises=True,
        # Users that somebody makes there have the role that their name begins with.
        props={
            "api": ApiOptions(
                access=Access(
                    roles={
                        "viewer": ("arn:aws:iam::000000000000:user/viewer*",),
                        "operator": ("arn:aws:iam::000000000000:user/operator*",),
                        "admin": ("arn:aws:iam::000000000000:user/admin*", "arn:aws:iam::000000000000:root"),
                    }
                )
            )
        },
    ),
)


def environment_named(name: str) -> Environment:
    for environment in ENVIRONMENTS:
        if environment.name == name:
            return environment
    names = ", ".join(each.name for each in ENVIRONMENTS)
    raise ValueError(f"there is no environment {name!r}. Use one of {names}, or add it to infra/environments.py.")
