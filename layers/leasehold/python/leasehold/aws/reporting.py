"""The reporter that a function's settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.ports import NoReporter

if TYPE_CHECKING:
    from leasehold.aws.settings import Settings
    from leasehold.kernel.ports import ErrorReporter


def reporter_of(settings: Settings) -> ErrorReporter:
    """A reporter to Sentry, or none where no place of a DSN is set. Nothing is read or imported for it yet."""
    if not settings.sentry_dsn_secret and not settings.sentry_dsn_parameter:
        return NoReporter()
    from leasehold.aws.dsn import StoredDsn
    from leasehold.aws.sentry import SentryReporter

    dsn = StoredDsn(secret=settings.sentry_dsn_secret, parameter=settings.sentry_dsn_parameter)
    return SentryReporter(dsn, environment=settings.environment_name)
