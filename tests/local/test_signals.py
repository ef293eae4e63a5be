"""Told to stop in the very moment in which it starts a process, a command still takes that process with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Never

import pytest

from leasehold.local.aws.deployment import run_cdk
from leasehold.local.aws.instance import LocalAws, Running
from leasehold.local.aws.process import free_port, held_signals
from tests.servers import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class ToldToStopError(Exception):
    """What the handler raises, as the demo's raises SystemExit."""


@pytest.fixture(autouse=True)
def stop_is_heard() -> Iterator[None]:
    def stop(*_: object) -> Never:
        raise ToldToStopError

    before = signal.signal(signal.SIGTERM, stop)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[Any]]]:
    """The processes that were started; with each, before its starter knows of it, comes the request to stop."""
    processes: list[subprocess.Popen[Any]] = []

    class Popen(subprocess.Popen[Any]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            processes.append(self)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    yield processes
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def aws(tmp_path: Path) -> LocalAws:
    (tmp_path / "cdk.json").write_text("{}")
    ministack = tmp_path / ".venv-ministack" / "bin"
    for program in (tmp_path / "node_modules/.bin/cdk", ministack / "ministack", ministack / "python"):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\nsleep 300\n")
        program.chmod(0o755)
    (tmp_path / ".leasehold" / "local").mkdir(parents=True)
    return LocalAws(tmp_path)


def start_the_cdk(aws: LocalAws) -> None:
    run_cdk(
        aws,
        Running(pid=1, port=4799, access_key="key", secret_key="secret"),
        "deploy",
        folder=aws.root,
        hear=lambda _: None,
    )


def start_the_local_aws(aws: LocalAws) -> None:
    aws.up(free_port())


def start_a_server(aws: LocalAws) -> None:
    Server("slow", ["sleep", "300"], port=free_port()).start()


@pytest.mark.parametrize("start", [start_the_cdk, start_the_local_aws, start_a_server])
def test_what_was_being_started_is_taken_along(
    aws: LocalAws, started: list[subprocess.Popen[Any]], start: Callable[[LocalAws], None]
) -> None:
    with pytest.raises(ToldToStopError):
        start(aws)

    (process,) = started
    process.wait(timeout=10)


def test_a_request_waits_for_the_end_of_the_block_and_comes_once() -> None:
    done: list[str] = []

    def work() -> None:
        with held_signals():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            done.append("all of it")

    with pytest.raises(ToldToStopError):
        work()
    assert done == ["all of it"]


def test_what_is_ignored_stays_ignored_for_the_new_process_too() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with held_signals():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_in_another_thread_there_is_nothing_to_hold() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with held_signals():
                pass
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert not failed
