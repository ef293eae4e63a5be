"""The floor: the very calls that a workload made, made again by a bare botocore client with nothing around them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from botocore import xform_name

from tests.benchmarks.workload import PHASES, Workload, run_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

type Call = tuple[str, dict[str, Any]]


class Recorder:
    """Writes down every call of one client from now on."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._calls: list[Call] = []
        client.meta.events.register("before-parameter-build.dynamodb", self._note)

    def take(self) -> list[Call]:
        calls, self._calls = self._calls, []
        return calls

    def _note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self._calls.append((xform_name(model.name), copy.deepcopy(params)))


class Recording:
    """What a workload called: once to set up, and then per phase and task."""

    def __init__(self, client: DynamoDBClient, name: str, jobs: int) -> None:
        self.jobs = jobs
        recorder = Recorder(client)
        workload = Workload(client, name, jobs)
        self.setup = recorder.take()
        self.phases: dict[str, list[list[Call]]] = {}
        for phase in PHASES:
            self.phases[phase] = tasks = []
            for task in workload.tasks(phase):
                task()
                tasks.append(recorder.take())

    @property
    def requests(self) -> int:
        return sum(len(calls) for tasks in self.phases.values() for calls in tasks)


class Floor:
    """A recording, ready to be played on an engine that has seen nothing of it."""

    def __init__(self, client: DynamoDBClient, recording: Recording) -> None:
        methods: Mapping[str, Callable[..., object]] = _Methods(client)
        self._tasks = {phase: [_played(calls, methods) for calls in tasks] for phase, tasks in recording.phases.items()}
        _played([call for call in recording.setup if call[0] != "get_waiter"], methods)()

    def run(self, phase: str, *, threads: int = 1) -> None:
        run_all(self._tasks[phase], threads=threads)


class _Methods(dict[str, "Callable[..., object]"]):
    def __init__(self, client: DynamoDBClient) -> None:
        super().__init__()
        self._client = client

    def __missing__(self, name: str) -> Callable[..., object]:
        method: Callable[..., object] = getattr(self._client, name)
        self[name] = method
        return method


def _played(calls: list[Call], methods: Mapping[str, Callable[..., object]]) -> Callable[[], None]:
    bound = [(methods[name], params) for name, params in calls]

    def play() -> None:
        for method, params in bound:
            method(**params)

    return play
