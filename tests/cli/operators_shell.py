"""A terminal of an operator whose commands reach a queue in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from typer.testing import CliRunner

from leasehold import BaseJobHandler, JobType, NonRetryableError
from leasehold.admin.reading import Admin
from leasehold.cli.commands import app
from leasehold.cli.session import Session
from leasehold.kernel.ports import KnownIdentity
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

    from leasehold.audit.roots import Archive
    from leasehold.cli.session import SharedOptions
    from leasehold.verify.site import Site

ACTOR = "arn:aws:iam::123456789012:user/ada"


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class Works(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Anything]:
        return Anything

    def handle(self, payload: Anything) -> dict[str, str]:
        return {"done": "yes"}


class Breaks(Works):
    def handle(self, payload: Anything) -> dict[str, str]:
        raise NonRetryableError("no \x1b[2Jsuch user")


@dataclass
class Shell:
    """`run` runs one command as its own process would; `answers` are what its user says when asked."""

    test: LeaseholdTest = field(
        default_factory=lambda: LeaseholdTest(
            {"daily_summary": Works, "user_sync": Breaks}, types=[JobType(name="daily_summary", max_attempts=2)]
        )
    )
    answers: list[bool] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    connections: list[SharedOptions] = field(default_factory=list)
    # The roots of the audit, by the bucket that they are kept in.
    archives: dict[str, Archive] = field(default_factory=dict)
    # What CloudWatch and Lambda show of the deployment, for the commands that ask them.
    site: Callable[[], Site] | None = None
    # What opening the queue ends in, where it fails.
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        self.admin = Admin(self.test.services.acting_as(KnownIdentity(ACTOR)))

    def open(self, connection: SharedOptions) -> Admin:
        self.connections.append(connection)
        if self.failure is not None:
            raise self.failure
        # A fresh one each time, as each process has: no figures are kept from the last command.
        return Admin(self.test.services.acting_as(KnownIdentity(ACTOR)))

    def run(self, *arguments: str, stdin: str | None = None) -> Result:
        # No two commands happen at the same moment, so that records are in order.
        self.test.clock.advance(timedelta(seconds=1))
        return CliRunner().invoke(app, list(arguments), obj=self.session, input=stdin)

    def session(self, options: SharedOptions) -> Session:
        session = ShellSession(options)
        session.shell, session.clock = self, self.test.clock
        return session

    def ok(self, *arguments: str, stdin: str | None = None) -> str:
        result = self.run(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str) -> dict[str, Any]:
        answer = json.loads(self.ok(*arguments, "--json"))
        assert isinstance(answer, dict)
        return answer

    def records(self, target: str | None = None) -> list[str]:
        """What the audit trail says was done, the oldest first, each checked to be by this operator."""
        page = self.admin.audit.records(target, limit=100)
        assert {record.audit_entry.by for record in page.items} <= {ACTOR}
        return [record.audit_entry.action for record in reversed(page.items)]

    def enqueue(self, job_type: str = "daily_summary", **options: Any) -> str:
        """A job that a program put there: it leaves no record."""
        return self.test.queue.enqueue(job_type, {"user": "ada"}, **options).job_id

    def dead_job(self) -> str:
        job_id = self.enqueue("user_sync")
        self.test.drain()
        return job_id

    def done_job(self) -> str:
        job_id = self.enqueue()
        self.test.drain()
        return job_id


class ShellSession(Session):
    """A command's session as the shell has it."""

    shell: Shell

    @cached_property
    def admin(self) -> Admin:
        return self.shell.open(self.options)

    def root_archive(self, bucket: str) -> Archive:
        return self.shell.archives[bucket]

    def site(self) -> Site:
        return super().site() if self.shell.site is None else self.shell.site()

    def ask(self, question: str) -> bool:
        self.shell.asked.append(question)
        return self.shell.answers.pop(0)
