"""The demo's job types and what they do: small stand-ins for real work, some of which goes wrong on purpose."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold.domain.job_type import JobType
from leasehold.domain.retry import Delays
from leasehold.domain.signals import Skip, Snooze
from leasehold.runtime.handler import BaseJobHandler

if TYPE_CHECKING:
    from leasehold.runtime.context import JobContext


class WorkerDied(BaseException):
    """Stands for a process that was killed: no handler code runs after it, and nobody reports an end."""


class DailySummary(BaseModel):
    user: str


class DailySummaryHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[DailySummary]:
        return DailySummary

    def handle(self, payload: DailySummary) -> dict[str, str]:
        time.sleep(0.05)
        return {"sent_to": payload.user}


class UserSync(BaseModel):
    user: str


class UserSyncHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[UserSync]:
        return UserSync

    def handle(self, payload: UserSync) -> dict[str, str]:
        return {"synced": payload.user}


class Cleanup(BaseModel):
    folder: str


class CleanupHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Cleanup]:
        return Cleanup

    def handle(self, payload: Cleanup) -> None:
        time.sleep(0.4)


class Backup(BaseModel):
    volume: str
    worker_dies_once: bool = False


class BackupHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Backup]:
        return Backup

    def handle(self, payload: Backup, context: JobContext) -> dict[str, str]:
        if payload.worker_dies_once and context.attempt == 1:
            raise WorkerDied
        context.add_artifact(f"s3://backups/{payload.volume}/{context.idempotency_key}")
        return {"saved": payload.volume}


class ReferralTimeout(BaseModel):
    petition: str
    extended_to: datetime | None = None


class ReferralTimeoutHandler(BaseJobHandler):
    """A deadline that was extended meanwhile is not over yet: look again then."""

    @classmethod
    def payload_model(cls) -> type[ReferralTimeout]:
        return ReferralTimeout

    def handle(self, payload: ReferralTimeout) -> dict[str, str]:
        now = datetime.now(UTC)
        if payload.extended_to is not None and now < payload.extended_to:
            raise Snooze(payload.extended_to - now + timedelta(milliseconds=1))
        return {"closed": payload.petition}


class DeliberationTimeout(BaseModel):
    petition: str


class DeliberationTimeoutHandler(BaseJobHandler):
    """Its court never answers."""

    @classmethod
    def payload_model(cls) -> type[DeliberationTimeout]:
        return DeliberationTimeout

    def handle(self, payload: DeliberationTimeout) -> None:
        raise ConnectionError(f"the court did not answer for petition {payload.petition}")


class EscalationCheck(BaseModel):
    petition: str
    co_signers: int = 0
    outages: int = 0


class EscalationCheckHandler(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[EscalationCheck]:
        return EscalationCheck

    def handle(self, payload: EscalationCheck, context: JobContext) -> dict[str, int]:
        if context.attempt <= payload.outages:
            raise ConnectionError("the register of co-signers is being restarted")
        if payload.co_signers == 0:
            raise Skip("no co-signers since the last check")
        return {"co_signers": payload.co_signers}


HANDLERS: dict[str, type[BaseJobHandler]] = {
    "daily_summary": DailySummaryHandler,
    "user_sync": UserSyncHandler,
    "cleanup": CleanupHandler,
    "backup": BackupHandler,
    "referral_timeout": ReferralTimeoutHandler,
    "deliberation_timeout": DeliberationTimeoutHandler,
    "escalation_check": EscalationCheckHandler,
}

_SOON = Delays((timedelta(seconds=1), timedelta(seconds=2)))

JOB_TYPES = (
    JobType(name="daily_summary"),
    JobType(name="user_sync"),
    JobType(name="cleanup", concurrency=2),
    # The shortest lease there is: its heartbeat shows within 15 s that a worker has died.
    JobType(name="backup", lease=timedelta(seconds=15), heartbeat=True, retry=_SOON),
    JobType(name="referral_timeout"),
    JobType(name="deliberation_timeout", retry=_SOON, max_attempts=3),
    JobType(name="escalation_check", retry=_SOON),
)
