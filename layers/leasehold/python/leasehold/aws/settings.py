"""What a deployed function is told by its environment; read when it is first needed, never at import."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass
from leasehold.telemetry import NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MEMORY = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
_DEFAULT_MEMORY = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    jobs_table: str
    dead_letters_table: str
    environment_name: str = "production"
    metrics_namespace: str = NAMESPACE
    # Each metric of jobs once per type; else once for the queue, which is a fraction of the price.
    metrics_per_type: bool = False
    # Below a minute, a tick stays and polls at this interval.
    poll_interval: timedelta | None = None
    # How many due entries a poll reads at once; None for the default.
    poll_limit: int | None = None
    # Which limits jobs count against, by `module:function` in the user's own code; None for those of the settings.
    concurrency_policy: str | None = None
    # Who is started when a seat is freed that somebody waits for; unset leaves that to the stream.
    poller_function: str | None = None
    # What Lambda gives this function; it is told by Lambda itself.
    memory_mb: int = _DEFAULT_MEMORY
    # Where the Sentry DSN is kept; both unset means that there is no Sentry.
    sentry_dsn_secret: str | None = None
    sentry_dsn_parameter: str | None = None
    # What EventBridge is told of schedules: the group they live in, what they start, and as whom; unset for none.
    schedule_group: str | None = None
    schedule_function: str | None = None
    schedule_role: str | None = None
    # Where the daily roots of the audit trails are kept; unset where nobody keeps them.
    audit_roots_bucket: str | None = None

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Settings:
        """A text stands under the name of its field, as leasehold.aws.names has it."""
        texts = {name: given.get(getattr(variables, name.upper())) for name in _TEXTS}
        said: dict[str, Any] = {name: text for name, text in texts.items() if text}
        return cls(
            jobs_table=required(variables.JOBS_TABLE, given),
            dead_letters_table=required(variables.DEAD_LETTERS_TABLE, given),
            metrics_per_type=given.get(variables.METRICS_PER_TYPE) == "true",
            poll_interval=_parsed(variables.POLL_INTERVAL, given, _seconds, "a number of seconds"),
            poll_limit=_parsed(variables.POLL_LIMIT, given, _counting, "a whole number above 0"),
            memory_mb=int(given.get(_MEMORY) or _DEFAULT_MEMORY),
            **{"schedule_function": _itself(given), **said},
        )


_TEXTS = (
    *("environment_name", "metrics_namespace", "concurrency_policy", "poller_function", "audit_roots_bucket"),
    *("sentry_dsn_secret", "sentry_dsn_parameter", "schedule_group", "schedule_function", "schedule_role"),
)


def _itself(given: Mapping[str, str]) -> str | None:
    """The function that this is, where it knows the role by which it is woken: its own name cannot be told to it."""
    role, name, region = (
        given.get(each) for each in (variables.SCHEDULE_ROLE, "AWS_LAMBDA_FUNCTION_NAME", "AWS_REGION")
    )
    if not role or not name or not region:
        return None
    _, partition, _, _, account, _ = role.split(":", 5)
    return f"arn:{partition}:lambda:{region}:{account}:function:{name}"


def _parsed[T](name: str, given: Mapping[str, str], parse: Callable[[str], T], what: str) -> T | None:
    value = given.get(name)
    if not value:
        return None
    try:
        return parse(value)
    except ValueError:
        raise InvalidOptionError(value, f"{name} is not {what}", "Correct it, or deploy again.") from None


def _seconds(value: str) -> timedelta:
    return timedelta(seconds=float(value))


def _counting(value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise ValueError(value)
    return int(value)


def required(name: str, given: Mapping[str, str]) -> str:
    value = given.get(name)
    if not value:
        raise InvalidOptionError(value, f"the environment variable {name} is not set", "The stacks set it: deploy.")
    return value
