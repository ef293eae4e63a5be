"""One side of a comparison: a worker and a sender, each a program, warm before anything is timed."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PATIENCE_SECONDS = 90


@dataclass(frozen=True)
class Side:
    """`sender` reads how many tasks to send, a line each time, and prints when it began; `done` gets a line per task.

    One sender sends all of a round: its connections are as old as the worker's, whatever they took to be made.
    """

    worker: Sequence[str]
    sender: Sequence[str]
    environment: dict[str, str]
    folder: Path
    done: Path

    @contextmanager
    def running(self) -> Iterator[Running]:
        self.done.write_text("")
        with self._started(self.worker, "worker") as worker, self._started(self.sender, "sender") as sender:
            yield Running(self, worker, sender)

    def log(self, program: str) -> Path:
        return self.done.with_suffix(f".{program}.log")

    @contextmanager
    def _started(self, command: Sequence[str], program: str) -> Iterator[subprocess.Popen[str]]:
        with self.log(program).open("w") as errors:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if program == "sender" else errors,
                stderr=errors,
                text=True,
            )
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.communicate(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()


@dataclass
class Running:
    side: Side
    worker: subprocess.Popen[str]
    sender: subprocess.Popen[str]
    finished: int = 0

    def seconds_of(self, tasks: int) -> float:
        """From the first send to the end of the last task."""
        assert self.sender.stdin is not None
        assert self.sender.stdout is not None
        self.sender.stdin.write(f"{tasks}\n")
        self.sender.stdin.flush()
        ends = self._wait_for(self.finished + tasks)[self.finished :]
        self.finished += tasks
        return max(ends) - float(self.sender.stdout.readline())

    def _wait_for(self, count: int) -> list[float]:
        """When each of so many tasks was done."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(lines := self.side.done.read_text().splitlines()) < count:
            has_died = any(process.poll() is not None for process in (self.worker, self.sender))
            if has_died or time.monotonic() > deadline:
                said = "\n".join(self.side.log(program).read_text()[-2000:] for program in ("sender", "worker"))
                raise RuntimeError(f"{len(lines)} of {count} tasks were done within {_PATIENCE_SECONDS} s:\n{said}")
            time.sleep(0.02)
        return [float(line) for line in lines]
