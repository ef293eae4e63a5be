"""What one Lambda container keeps between its invocations."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Protocol

from aws_lambda_powertools import Logger

from leasehold.aws.clients import open_client, warm
from leasehold.aws.event_schedules import mirror_of
from leasehold.aws.settings import Settings
from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.features import Store
from leasehold.kernel.dynamodb.connection import table_config
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.services import Services
from leasehold.lean import dataclass
from leasehold.pool import threads_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from functools import _lru_cache_wrapper

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.job_type import JobType
    from leasehold.operate.failure_report import ErrorReporter

_HANDLERS_LOGGER = "leasehold.jobs"


class LambdaContext(Protocol):
    """The part of Lambda's context that Leasehold uses."""

    @property
    def aws_request_id(self) -> str: ...

    @property
    def function_name(self) -> str: ...

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Container:
    services: Services
    telemetry: PowertoolsTelemetry
    settings: Settings

    @contextmanager
    def serving(self) -> Iterator[Services]:
        """The services, for one event; what is measured meanwhile is written at its end."""
        try:
            yield self.services
        finally:
            self.telemetry.flush()


def container_of(service: str) -> _lru_cache_wrapper[Container]:
    """The container of an entry: opened once, in Lambda before its first event."""
    opened = cache(partial(open_container, service))
    warm(opened)
    return opened


def open_container(service: str) -> Container:
    """Connect to the tables that the environment names; `service` names this function in its logs."""
    settings = Settings.from_environment()
    names = TableNames(jobs=settings.jobs_table, dead_letters=settings.dead_letters_table)
    telemetry = PowertoolsTelemetry(service, namespace=settings.metrics_namespace, per_type=settings.metrics_per_type)
    _log_as_json(service)
    store = Store(DynamoTable(open_client("dynamodb", table_config()), names))
    services = Services(
        store=store,
        telemetry=telemetry,
        reporter=reporter_of(settings),
        mirror=mirror_of(settings),
        caller=_Caller(),
        waker=_waker_of(settings),
        pool=threads_for(settings.memory_mb),
    )
    return Container(services, telemetry, settings)


def reporter_of(settings: Settings) -> ErrorReporter | None:
    """A reporter to Sentry, or none where no place of a DSN is set. Nothing is read or imported for it yet."""
    if not settings.sentry_dsn_secret and not settings.sentry_dsn_parameter:
        return None
    from leasehold.aws.sentry import SentryReporter, stored_dsn

    dsn = stored_dsn(secret=settings.sentry_dsn_secret, parameter=settings.sentry_dsn_parameter)
    return SentryReporter(dsn, environment=settings.environment_name)


def _waker_of(settings: Settings) -> Callable[[Sequence[str]], None] | None:
    if settings.poller_function is None:
        return None
    from leasehold.aws.dispatcher import LambdaDispatcher, wake_poller

    return partial(wake_poller, LambdaDispatcher(), settings.poller_function)


class _Caller:
    """Calls handlers directly, which most containers are never asked for."""

    @cached_property
    def call(self) -> Callable[[DirectRun, JobType], DirectAnswer]:
        from leasehold.aws.caller import LambdaCaller

        return LambdaCaller().call


def worker_id(context: LambdaContext) -> str:
    """Enough of the request id to find it in the logs: it is stored with every claim and every run, and billed."""
    return context.aws_request_id[:8]


def remaining(context: LambdaContext) -> timedelta:
    return timedelta(milliseconds=context.get_remaining_time_in_millis())


def _log_as_json(service: str) -> None:
    """Let what handlers log look like our own lines: JSON, with the job that `context.logger` adds."""
    ours, theirs = Logger(service=service), logging.getLogger(_HANDLERS_LOGGER)
    theirs.handlers = list(ours.handlers)
    theirs.setLevel(ours.log_level)
    theirs.propagate = False
