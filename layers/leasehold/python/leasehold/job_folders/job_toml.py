"""The schema of job.toml: from a file's values to what is deployed for its job type."""

from __future__ import annotations

import re
from dataclasses import field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, ValidationError

from leasehold.job_folders.features import Batched, Breaker, Kept, Limits, Retry, Told
from leasehold.job_folders.permission import Permission
from leasehold.job_folders.schedule import ScheduleTable
from leasehold.job_folders.toml import (
    AS_TABLE,
    FolderProblem,
    InvalidJobFolderError,
    Listed,
    Text,
    choice,
    duration,
    problem,
    problems_of,
    text,
    whole_number,
)
from leasehold.kernel.errors import InvalidJobTypeError, InvalidOptionError
from leasehold.kernel.job_type import JobType, parse_users_job_type
from leasehold.kernel.keys import NOT_ISOLATED, SYSTEM_CODE, Priority
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core import InitErrorDetails

    from leasehold.schedules.model import Schedule

DEFAULT_MEMORY_MB = 256
# What CloudWatch Logs accepts.
LOG_RETENTION_DAYS = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731),
    *(1096, 1827, 2192, 2557, 2922, 3288, 3653),
)

_DEFAULT = JobType(name="default")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?==[\w.!+]+( --hash=sha256:[0-9a-f]{64})+", re.ASCII)


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
ENVIRONMENT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
# Which deployment this is, in variables and permissions.
_HERE = "${environment_name}"
# Lambda sets these itself and refuses a function that does.
_OF_LAMBDA = re.compile(
    r"AWS_(LAMBDA_.*|ACCESS_KEY(_ID)?|SECRET_ACCESS_KEY|SESSION_TOKEN|(DEFAULT_)?REGION|EXECUTION_ENV)"
    r"|LAMBDA_(RUNTIME_DIR|TASK_ROOT)"
)
# Lambda takes 4 KB in all; the rest is for what Leasehold sets.
_MAX_BYTES = 3 * 1024


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
    schedule: Schedule | None = None
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


def read_environment(values: object) -> dict[str, Any]:
    """Variables of every deployment, and below `[environment.<environment_name>]` those of single ones."""
    if not isinstance(values, dict):
        raise InvalidOptionError(values, *AS_TABLE)
    own = {name: value for name, value in values.items() if isinstance(value, dict)}
    everywhere = {name: value for name, value in values.items() if name not in own}
    problems = list(_unfit_variables(everywhere))
    for name, variables in own.items():
        if not ENVIRONMENT_NAME.fullmatch(name):
            problems.append(
                problem((name,), "an environment's name has 1 to 32 of a-z, 0-9, - and _", "Use a name like prod.")
            )
        problems += _unfit_variables(variables, name)
    if problems:
        raise ValidationError.from_exception_data("environment", problems)
    deployed = [{**everywhere, **each} for each in ({}, *own.values())]
    size = max(sum(len(f"{name}{value}".encode()) for name, value in each.items()) for each in deployed)
    if size > _MAX_BYTES:
        raise InvalidOptionError(
            values, f"{size} bytes are more than the {_MAX_BYTES} there is room for", "Keep it in SSM or S3."
        )
    return values


def _unfit_variables(variables: Mapping[str, object], *below: str) -> Iterator[InitErrorDetails]:
    for name, value in variables.items():
        place = (*below, name)
        if not isinstance(value, str):
            yield problem(place, "a variable is text", "Put quotes around it.")
        if not _NAME.fullmatch(name):
            yield problem(place, "a variable has two or more letters, digits and _", "Use a name like REPORT_BUCKET.")
        elif _OF_LAMBDA.fullmatch(name):
            yield problem(place, "Lambda sets this variable itself", "Use another name.")
        elif name.startswith("LEASEHOLD_"):
            yield problem(place, "Leasehold's own variables start with LEASEHOLD_", "Use another name.")


def is_local(requirement: str) -> bool:
    """A package or wheel of the project itself, relative to the job's folder.

    >>> is_local("../../packages/billing"), is_local("httpx==0.28.1")
    (True, False)
    """
    return requirement.startswith(("./", "../"))


def _job_type(value: object) -> str:
    try:
        return parse_users_job_type(text(value))
    except InvalidJobTypeError as error:
        raise InvalidOptionError(value, error.reason, "Use the name of a job type's folder.") from None


def _requirement(value: object) -> str:
    requirement = text(value)
    if not is_local(requirement) and not _REQUIREMENT.fullmatch(requirement):
        raise InvalidOptionError(
            value,
            "a requirement is pinned and has its hashes, so that every deployment gets the same",
            'Write "name==version --hash=sha256:…", also for what it needs itself, '
            'as uv pip compile --generate-hashes does. A package of your project is a path: "../../billing".',
        )
    return requirement


def _log_retention(value: object) -> int:
    """A number from a list that AWS keeps: a refusal names the next one up."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidOptionError(value, "this is a whole number", "Write it without quotes, e.g. 1.")
    if value not in LOG_RETENTION_DAYS:
        fitting = next((each for each in LOG_RETENTION_DAYS if each > value), LOG_RETENTION_DAYS[-1])
        listed = ", ".join(map(str, LOG_RETENTION_DAYS))
        raise InvalidOptionError(value, f"CloudWatch keeps logs for one of {listed}", f"Use {fitting}.")
    return value


type _Timeout = Annotated[timedelta, duration("a Lambda function runs", timedelta(seconds=1), timedelta(seconds=900))]
type _EventAge = Annotated[timedelta, duration("Lambda keeps an event for", timedelta(seconds=60), timedelta(hours=6))]
type _Lease = Annotated[timedelta | None, duration("a lease is", 3 * CLOCK_TOLERANCE, timedelta(days=1))]
type _JobTypes = Listed[Annotated[str, PlainValidator(_job_type)]]


class JobTypeKeys(Limits):
    """What a JobType is made of."""

    timeout: _Timeout = _DEFAULT.timeout
    heartbeat: bool = False
    lease: _Lease = None
    max_event_age: _EventAge = _DEFAULT.max_event_age
    max_attempts: Annotated[int, whole_number("a job has", " attempt", 1)] = _DEFAULT.max_attempts
    priority: Annotated[Priority, choice(Priority, lambda each: each.name.lower())] = Priority.NORMAL
    retry: Retry = _DEFAULT.retry
    retention: Kept = _DEFAULT.retention
    batch: Batched = None
    breaker: Breaker = Field(None, alias="circuit_breaker")
    webhook: Told = None
    audit_creation: bool = True
    check_payload: bool = True
    reported_fields: Listed[Text] = ()
    code: Annotated[int, whole_number("the code of a type is", "", NOT_ISOLATED + 1, SYSTEM_CODE - 1)] = 0


class JobToml(JobTypeKeys):
    """The file: its job type, and what its function needs besides."""

    called: ClassVar = "job.toml"

    memory_mb: Annotated[int, whole_number("a Lambda function has", " MB", 128, 10240)] = Field(
        DEFAULT_MEMORY_MB, alias="memory"
    )
    environment: Annotated[dict[str, Any], PlainValidator(read_environment)] = Field(default_factory=dict)
    permissions: Listed[Permission] = ()
    enqueues: _JobTypes = ()
    deduplicates: _JobTypes = ()
    requirements: Listed[Annotated[str, PlainValidator(_requirement)]] = ()
    schedule: ScheduleTable | None = None
    log_retention_days: Annotated[int | None, PlainValidator(_log_retention)] = None
    reserved_concurrency: Annotated[int | None, whole_number("a reserve is", "", 1)] = None


_OF_THE_FUNCTION = JobToml.model_fields.keys() - JobTypeKeys.model_fields.keys() - {"environment", "schedule"}


def read_job_toml(name: str, path: str, values: Mapping[str, object], *, file: str) -> JobFolder:
    """What job.toml says; everything that is wrong with it is raised together."""
    try:
        read = JobToml.model_validate(values)
    except ValidationError as error:
        raise InvalidJobFolderError(list(problems_of(error, file, values))) from None
    if conflicts := [FolderProblem(file, key, values[key], reason, fix) for key, reason, fix in _conflicts(read)]:
        raise InvalidJobFolderError(conflicts)
    variables = read.environment
    return JobFolder(
        job_type=JobType(name=name, **{key: getattr(read, key) for key in JobTypeKeys.model_fields}),
        path=path,
        environment={key: value for key, value in variables.items() if isinstance(value, str)},
        environments={key: value for key, value in variables.items() if isinstance(value, dict)},
        schedule=read.schedule.definition(name) if read.schedule else None,
        **{key: getattr(read, key) for key in _OF_THE_FUNCTION},
    )


def _conflicts(read: JobToml) -> Iterator[tuple[str, str, str]]:
    """Values that do not fit each other: the key of one of them, why, and what to do."""
    run = JobType(name="run", timeout=read.timeout, max_event_age=read.max_event_age, batch=read.batch)
    if read.lease is not None and read.lease < run.full_lease and not read.heartbeat:
        needed = int(run.full_lease.total_seconds())
        yield (
            "lease",
            f"a lease shorter than timeout + max_event_age + 5 s ({needed} seconds) needs a heartbeat",
            "Add heartbeat = true, or leave the lease out.",
        )
    seats, reserve = read.concurrency, read.reserved_concurrency
    if reserve is not None and seats is not None and reserve < seats:
        yield "reserved_concurrency", f"concurrency = {seats} lets more jobs run than that", f"Use {seats} or more."
    for other in (each for each in read.deduplicates if each not in read.enqueues):
        yield "deduplicates", f"{other} is not in enqueues, and one cannot be without the other", "Add it there."
