"""The stacks deployed on a local AWS, as the end-to-end tests see them."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.local.aws.connection import open_queue, queue_address
from leasehold.local.aws.inspection import client, deployed_function, log_lines
from leasehold.local.aws.instance import LocalAws
from leasehold.operate.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.aws.discovery import QueueAddress
    from leasehold.kernel.job import Job
    from leasehold.local.aws.instance import Running
    from leasehold.queue import Queue
    from tests.local_project import LocalProject
    from tests.sentry_server import SentryServer

# One worker runs all that need it, in order: there is one local AWS, and some tests switch parts of it off.
LOCAL_AWS = [
    pytest.mark.xdist_group("local-aws"),
    pytest.mark.slow,
    pytest.mark.ministack,
    pytest.mark.timeout(400),
]
DSN_PARAMETER = "/leasehold/local/sentry-dsn"
# A wait that is over as soon as what is waited for has happened: long, for busy machines.
PATIENCE = timedelta(seconds=90)


@dataclass(frozen=True)
class LocalStack:
    project: LocalProject
    sentry: SentryServer

    @cached_property
    def running(self) -> Running:
        running = LocalAws(self.project.root).running()
        assert running is not None
        return running

    @cached_property
    def queue(self) -> Queue:
        return open_queue(self.running)

    @property
    def tables(self) -> QueueAddress:
        return queue_address(self.running)

    @property
    def operator(self) -> Operator:
        return Operator(self.queue.services)

    def client(self, service: str) -> Any:
        return client(self.running, service)

    def real_name(self, function: str) -> str:
        """What CloudFormation named a function that people know by another name."""
        return deployed_function(self.running, function).real_name

    def deploy(self) -> str:
        """Deploy the project as it is now, with the real command."""
        answer = self.project.leasehold("local", "deploy")
        assert answer.returncode == 0, answer.stdout + answer.stderr
        self.queue.services.deployment.forget()
        return answer.stdout

    def wait(self, job_id: str) -> Job:
        return self.queue.wait(job_id, timeout=PATIENCE)

    def events(self, function: str, event: str) -> list[dict[str, Any]]:
        """The structured log lines of one kind that a function has written."""
        return [line for line in self.log(function) if line.get("event") == event]

    def log(self, function: str) -> list[dict[str, Any]]:
        texts = (line.text for line in log_lines(self.running, function))
        return [json.loads(text) for text in texts if text.startswith("{")]

    @contextmanager
    def without_stream(self) -> Iterator[None]:
        """Nothing wakes the poller but its tick."""
        functions = self.client("lambda")
        mappings = functions.list_event_source_mappings(FunctionName=self.real_name("poller"))["EventSourceMappings"]
        (wake,) = [each["UUID"] for each in mappings]
        functions.update_event_source_mapping(UUID=wake, Enabled=False)
        try:
            yield
        finally:
            functions.update_event_source_mapping(UUID=wake, Enabled=True)

    @contextmanager
    def without_tick(self) -> Iterator[None]:
        """Nothing wakes the poller but the stream."""
        self._switch_tick("DISABLED")
        try:
            yield
        finally:
            self._switch_tick("ENABLED")

    def _switch_tick(self, state: str) -> None:
        scheduler = self.client("scheduler")
        listed = scheduler.list_schedules(GroupName="default")["Schedules"]
        (name,) = [each["Name"] for each in listed if "Tick" in each["Name"]]
        schedule = scheduler.get_schedule(Name=name)
        kept = ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
        scheduler.update_schedule(State=state, **{name: schedule[name] for name in kept})

    def kill_function(self, name: str) -> int:
        """SIGKILL every process that runs this function, as a machine that fails would; how many there were."""
        killed, real_name = 0, self.real_name(name)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_text()
            except OSError:
                continue
            if f"{self.project.root}/" in command and f"ministack-lambda-{real_name}-" in command:
                os.kill(int(process.name), signal.SIGKILL)
                killed += 1
        return killed


def eventually[T](look: Callable[[], T], *, within: timedelta = PATIENCE, every: float = 0.2) -> T:
    """Look until there is something to see; what is seen last, if nothing comes of it."""
    give_up_at = time.monotonic() + within.total_seconds()
    while True:
        seen = look()
        if seen or time.monotonic() > give_up_at:
            return seen
        time.sleep(every)
