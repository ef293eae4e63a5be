"""Settings of a job type, and of a whole deployment: what they have to be, checked where they are made."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.errors import InvalidKeyError, InvalidOptionError
from leasehold.kernel.keys import MAX_SHARDS, NOT_ISOLATED, SYSTEM_CODE, Priority
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry

# How far apart the clocks of two machines may be before only fencing protects a job.
CLOCK_TOLERANCE = timedelta(seconds=5)
MAX_ATTEMPTS = 1000
# One read sees a whole scope, so that who finds it full has seen every seat.
MAX_SEATS = 999
# The system's own job type: a job of it tells one receiver of one run. Users can neither deploy nor enqueue it.
DELIVERY = "webhook_delivery"
# Of a job type, and of a resource.
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# Of schedules and templates.
_DASHED_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


class OnFull(StrEnum):
    """What becomes of a new job that finds a limit of its type full. One that has run before always waits."""

    WAIT = "wait"
    # It ends as completed, with a run whose outcome is SKIPPED.
    SKIP = "skip"
    # It ends as cancelled, with that reason.
    CANCEL_NEW = "cancel_new"


def type_scope(job_type: str) -> str:
    """Where a type's jobs wait together when they may not run now."""
    return f"type:{job_type}"


def parse_priority(value: object) -> Priority:
    """
    >>> parse_priority("high") is parse_priority(2) is Priority.HIGH
    True
    """
    if isinstance(value, str):
        value = next((each for each in Priority if each.name.lower() == value), value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in set(Priority):
        names = ", ".join(f"{each.name}={each.value}" for each in Priority)
        raise InvalidOptionError(value, "there is no such priority", f"Use one of {names}.")
    return Priority(value)


def parse_attempts(value: object) -> int:
    return whole_number(value, "max_attempts", MAX_ATTEMPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long an ended job stays readable. Dead letters stay until they are resolved."""

    completed: timedelta = timedelta(days=7)
    cancelled: timedelta = timedelta(days=7)
    dead_letter: timedelta = timedelta(days=30)

    def __post_init__(self) -> None:
        shortest = min(self.completed, self.cancelled, self.dead_letter)
        if shortest <= timedelta(0):
            raise InvalidOptionError(shortest, "an ended job is kept for a while", "Use an hour or more.")


def check_job_type(job_type: JobType) -> None:
    name, lease = job_type.name, job_type.lease
    if not NOT_ISOLATED < job_type.code < SYSTEM_CODE and name != DELIVERY:
        problem = f"{name}: a code is {NOT_ISOLATED + 1} to {SYSTEM_CODE - 1}"
        raise InvalidOptionError(job_type.code, problem, "Leave it out, or choose another.")
    if job_type.timeout <= timedelta(0) or job_type.max_event_age < timedelta(0):
        times = job_type.timeout, job_type.max_event_age
        raise InvalidOptionError(times, f"{name}: timeout and event age must be positive", "Correct it.")
    if job_type.max_attempts < 1:
        raise InvalidOptionError(job_type.max_attempts, f"{name}: max_attempts is at least 1", "Use 1 or more.")
    if job_type.is_limited or job_type.weights:
        features.check_limits(job_type)
    whole_number(job_type.weight, f"{name}: a weight", MAX_SEATS)
    if lease is not None and lease < job_type.full_lease and not job_type.heartbeat:
        problem = f"a lease shorter than timeout + event age + 5 s ({job_type.full_lease}) needs a heartbeat"
        raise InvalidOptionError(lease, f"{name}: {problem}", "Set heartbeat, or leave the lease out.")
    if lease is not None and lease < 3 * CLOCK_TOLERANCE:
        raise InvalidOptionError(lease, f"{name}: a lease is at least {3 * CLOCK_TOLERANCE}", "Use a longer lease.")


def check_registry(registry: Registry) -> None:
    if not 1 <= registry.shards <= MAX_SHARDS:
        raise InvalidOptionError(registry.shards, f"shards are 1 to {MAX_SHARDS}", "Start with 1.")
    codes = {name: each.code for name, each in registry.types.items()} | dict(registry.retired)
    if registry.isolate_types and len({*codes.values()}) < len(codes):
        features.refuse_shared_codes(codes)
    needs = any(each.resources for each in registry.types.values())
    if needs or registry.resources or registry.concurrency is not None:
        features.check_shared_limits(registry)


def whole_number(value: object, subject: str, most: int, fix: str = "Correct it.", *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidOptionError(value, f"{subject} is a whole number from {least} to {most}", fix)
    return value


def parse_choice[Choice: StrEnum](kind: type[Choice], value: object, what: str) -> Choice:
    try:
        return kind(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidOptionError(value, f"{what} is not known", f"Use one of {', '.join(kind)}.") from None


MAX_KEY_BYTES = 256


def parse_key(key: object, what: str) -> str:
    """Keys become parts of table keys, where `#` separates: one inside would reach into another key."""
    fix = "Use 1 to 256 bytes of text without '#' and control characters."
    if not isinstance(key, str) or not key:
        raise InvalidKeyError(key, f"a {what} is a non-empty string", fix)
    # Half of a surrogate pair, which no table takes, is not printable either.
    if "#" in key or not key.isprintable():
        raise InvalidKeyError(key, f"a {what} holds no '#' and no control characters", fix)
    if len(key.encode()) > MAX_KEY_BYTES:
        raise InvalidKeyError(key, f"a {what} is at most {MAX_KEY_BYTES} bytes", fix)
    return key


def parse_name(name: object, what: str, example: str) -> str:
    if not isinstance(name, str) or not _DASHED_NAME.fullmatch(name):
        problem = f"a {what}'s name is 1 to 64 characters of a-z, 0-9, _ and -, starting with a letter"
        raise InvalidKeyError(name, problem, f"Use a name like {example}.")
    return name
