"""The schema of job.toml: from a file's values to what is deployed for its job type."""

from __future__ import annotations

import re
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.batches.model import LARGEST_BATCH, LONGEST_BATCH_WAIT, SMALLEST_BATCH, Batch
from leasehold.job_folders.features import read_circuit_breaker, read_limits, read_webhook
from leasehold.job_folders.permission import Permission, read_permission
from leasehold.job_folders.schedule import JobSchedule, read_schedule
from leasehold.job_folders.toml import Section, Unfit, choice, duration, flag, one_of, share, text, whole_number
from leasehold.kernel.errors import InvalidJobTypeError
from leasehold.kernel.job_type import JobType, parse_users_job_type
from leasehold.kernel.keys import NOT_ISOLATED, SYSTEM_CODE, Priority
from leasehold.kernel.retry import MAX_DELAY, Delays, Exponential, Fixed
from leasehold.kernel.type_options import CLOCK_TOLERANCE, Retention
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.job_folders.toml import FolderProblem
    from leasehold.kernel.retry import RetryPolicy


DEFAULT_MEMORY_MB = 256
# What CloudWatch Logs accepts.
LOG_RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)

_DEFAULT = JobType(name="default")
_PRIORITIES = {priority.name.lower(): priority for priority in Priority}
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?==[\w.!+]+( --hash=sha256:[0-9a-f]{64})+", re.ASCII)

_code = whole_number("the code of a type is", "", NOT_ISOLATED + 1, SYSTEM_CODE - 1)
_timeout = duration("a Lambda function runs", timedelta(seconds=1), timedelta(seconds=900))
_batch_size = whole_number("a batch has", " jobs", SMALLEST_BATCH, LARGEST_BATCH)
_batch_wait = duration("a batch waits", timedelta(0), LONGEST_BATCH_WAIT)
_event_age = duration("Lambda keeps an event for", timedelta(seconds=60), timedelta(hours=6))
_lease = duration("a lease is", 3 * CLOCK_TOLERANCE, timedelta(days=1))
_kept = duration("an ended job is kept for", timedelta(hours=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFolder:
    """A job type and what its function needs besides.

    path: the folder, relative to the project at `root`, e.g. functions/jobs/backup.
    environment: variables of the function, besides Leasehold's own.
    environments: those of single deployments, by environment name; they win.
    permissions: what its role may do besides its own job.
    enqueues, deduplicates: the job types that its handler may enqueue, and may enqueue with a dedup key.
    requirements: packages that the dependency layer lacks, each pinned with its hashes, and all that they need; or
        packages of the project, as paths relative to the folder.
    log_retention_days: of the function's logs; None takes the queue's.
    reserved_concurrency: a share of the account's Lambda concurrency kept for this function; None is no share.
    """

    job_type: JobType
    path: str
    root: str = "."
    memory_mb: int = DEFAULT_MEMORY_MB
    environment: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    permissions: tuple[Permission, ...] = ()
    enqueues: tuple[str, ...] = ()
    deduplicates: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    schedule: JobSchedule | None = None
    log_retention_days: int | None = None
    reserved_concurrency: int | None = None

    @property
    def name(self) -> str:
        return self.job_type.name

    def in_environment(self, environment_name: str) -> JobFolder:
        """As it is deployed there: with that environment's variables, and its name filled in."""
        variables = {**self.environment, **self.environments.get(environment_name, {})}
        return replace(
            self,
            environment={key: value.replace(_HERE, environment_name) for key, value in variables.items()},
            permissions=tuple(each.with_filled_in(_HERE, environment_name) for each in self.permissions),
        )


def read_job_toml(
    name: str, path: str, values: Mapping[str, object], problems: list[FolderProblem], *, file: str
) -> JobFolder:
    """Read what job.toml says; whatever is wrong is added to `problems`, and the default stands in for it."""
    root = Section(file, values, problems)
    job_type = _read_job_type(name, root)
    schedule = root.optional_section("schedule")
    environment, environments = read_environment(root.section("environment"))
    folder = JobFolder(
        job_type=job_type,
        path=path,
        memory_mb=root.read("memory", whole_number("a Lambda function has", " MB", 128, 10240), DEFAULT_MEMORY_MB),
        environment=environment,
        environments=environments,
        permissions=tuple(read_permission(each) for each in root.sections("permissions")),
        enqueues=root.read_each("enqueues", _job_type),
        deduplicates=root.read_each("deduplicates", _job_type),
        requirements=root.read_each("requirements", _requirement),
        schedule=read_schedule(schedule) if schedule else None,
        log_retention_days=root.read(
            "log_retention_days", one_of("CloudWatch keeps logs for", LOG_RETENTION_DAYS), None
        ),
        reserved_concurrency=root.read("reserved_concurrency", whole_number("a reserve is", "", 1), None),
    )
    seats, reserve = job_type.concurrency, folder.reserved_concurrency
    if reserve is not None and seats is not None and reserve < seats:
        root.note(
            "reserved_concurrency", f"concurrency = {seats} lets more jobs run than that", f"Use {seats} or more."
        )
    for other in (each for each in folder.deduplicates if each not in folder.enqueues):
        root.note("deduplicates", f"{other} is not in enqueues, and one cannot be without the other", "Add it there.")
    root.close("job.toml")
    return folder


def _read_job_type(name: str, root: Section) -> JobType:
    timeout = root.read("timeout", _timeout, _DEFAULT.timeout)
    max_event_age = root.read("max_event_age", _event_age, _DEFAULT.max_event_age)
    heartbeat = root.read("heartbeat", flag, False)
    batch = root.optional_section("batch")
    breaker = root.optional_section("circuit_breaker")
    webhook = root.optional_section("webhook")
    job_type = JobType(
        name=name,
        code=root.read("code", _code, 0),
        timeout=timeout,
        max_event_age=max_event_age,
        heartbeat=heartbeat,
        **read_limits(root),
        batch=_read_batch(batch) if batch else None,
        breaker=read_circuit_breaker(breaker) if breaker else None,
        priority=root.read("priority", choice(_PRIORITIES), Priority.NORMAL),
        max_attempts=root.read("max_attempts", whole_number("a job has", " attempt", 1), _DEFAULT.max_attempts),
        retry=read_retry(root.section("retry")),
        retention=_read_retention(root.section("retention")),
        webhook=read_webhook(webhook) if webhook else None,
        audit_creation=root.read("audit_creation", flag, True),
        check_payload=root.read("check_payload", flag, True),
        reported_fields=root.read_each("reported_fields", text),
    )
    return replace(job_type, lease=_read_lease(root, job_type))


def _read_batch(table: Section) -> Batch:
    """Its keys have defaults: the header alone switches it on."""
    default = Batch()
    size = table.read("size", _batch_size, default.size)
    wait = table.read("wait", _batch_wait, default.wait)
    table.close("[batch]")
    return Batch(size=size, wait=wait)


def _read_lease(root: Section, job_type: JobType) -> timedelta | None:
    lease = root.read("lease", _lease, None)
    if lease is None or lease >= job_type.full_lease or job_type.heartbeat:
        return lease
    # With a timeout that could not be read, what the lease must outlast is not known either.
    if root.is_sound:
        needed = int(job_type.full_lease.total_seconds())
        root.note(
            "lease",
            f"a lease shorter than timeout + max_event_age + 5 s ({needed} seconds) needs a heartbeat",
            "Add heartbeat = true, or leave the lease out.",
        )
    return None


def _read_retention(retention: Section) -> Retention:
    default = Retention()
    read = Retention(
        completed=retention.read("completed", _kept, default.completed),
        cancelled=retention.read("cancelled", _kept, default.cancelled),
        dead_letter=retention.read("dead_letter", _kept, default.dead_letter),
    )
    retention.close("[retention]")
    return read


def _job_type(value: object) -> str:
    try:
        return parse_users_job_type(text(value))
    except InvalidJobTypeError as error:
        raise Unfit(error.reason, "Use the name of a job type's folder.") from None


def _requirement(value: object) -> str:
    requirement = text(value)
    if is_local(requirement):
        return requirement
    if not _REQUIREMENT.fullmatch(requirement):
        raise Unfit(
            "a requirement is pinned and has its hashes, so that every deployment gets the same",
            'Write "name==version --hash=sha256:…", also for what it needs itself, '
            'as uv pip compile --generate-hashes does. A package of your project is a path: "../../billing".',
        )
    return requirement


def is_local(requirement: str) -> bool:
    """A package or wheel of the project itself, relative to the job's folder.

    >>> is_local("../../packages/billing"), is_local("httpx==0.28.1")
    (True, False)
    """
    return requirement.startswith(("./", "../"))


_DEFAULT_RETRY = Exponential()
_delay = duration("a retry comes after", most=MAX_DELAY)


def read_retry(retry: Section) -> RetryPolicy:
    policy = retry.read("policy", choice({name: name for name in ("exponential", "fixed", "delays")}), "exponential")
    made: RetryPolicy
    match policy:
        case "fixed":
            made = Fixed(retry.read("delay", _delay, timedelta(seconds=60)))
        case "delays":
            delays = retry.read_each("delays", _delay, required='policy = "delays" lists them')
            made = Delays(delays) if delays else _DEFAULT_RETRY
        case _:
            base = retry.read("base", _delay, _DEFAULT_RETRY.base)
            cap = retry.read("cap", _delay, max(_DEFAULT_RETRY.cap, base))
            jitter = retry.read("jitter", share, _DEFAULT_RETRY.jitter)
            made = retry.build(lambda: Exponential(base, cap, jitter), _DEFAULT_RETRY)
    retry.close(f'[retry] with policy = "{policy}"')
    return made


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# Which deployment this is, in variables and permissions.
_HERE = "${environment_name}"
# Lambda sets these itself and refuses a function that does.
_OF_LAMBDA = frozenset(
    [
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "LAMBDA_RUNTIME_DIR",
        "LAMBDA_TASK_ROOT",
    ]
)
# Lambda takes 4 KB in all; the rest is for what Leasehold sets.
_MAX_BYTES = 3 * 1024


def read_environment(section: Section) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Those of every deployment, and below `[environment.<environment_name>]` those of single ones."""
    deployments = [name for name in section.names() if section.is_table(name)]
    everywhere = _read_variables(section, [name for name in section.names() if name not in deployments])
    own: dict[str, dict[str, str]] = {}
    for name in deployments:
        if not ENVIRONMENT_NAME.fullmatch(name):
            section.note(name, "an environment's name has 1 to 32 of a-z, 0-9, - and _", "Use a name like prod.")
        table = section.section(name)
        own[name] = _read_variables(table, table.names())
    size = max(_size({**everywhere, **each}) for each in ({}, *own.values()))
    if size > _MAX_BYTES:
        section.note("", f"{size} bytes are more than the {_MAX_BYTES} there is room for", "Keep it in SSM or S3.")
    return everywhere, own


def _read_variables(section: Section, names: list[str]) -> dict[str, str]:
    found = {name: section.read(name, _value, "") for name in names}
    for name in found:
        if not _NAME.fullmatch(name):
            section.note(name, "a variable has two or more letters, digits and _", "Use a name like REPORT_BUCKET.")
        elif name in _OF_LAMBDA or name.startswith("AWS_LAMBDA_"):
            section.note(name, "Lambda sets this variable itself", "Use another name.")
        elif name.startswith("LEASEHOLD_"):
            section.note(name, "Leasehold's own variables start with LEASEHOLD_", "Use another name.")
    return found


def _size(found: Mapping[str, str]) -> int:
    return sum(len(name.encode()) + len(value.encode()) for name, value in found.items())


def _value(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit("a variable is text", "Put quotes around it.")
    return value
