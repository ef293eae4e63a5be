"""A program at a terminal of its own, whose keys a test presses and whose screen it reads."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Terminal:
    """100 columns wide."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        ours, theirs = pty.openpty()
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        known = {**inherited, "TERM": "xterm", "COLUMNS": "100", "LINES": "40", **environment}
        # A session of its own, so that Ctrl-C at its terminal reaches it alone.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=known,
        )
        os.close(theirs)
        self._ours = ours
        self.seen = ""

    def read_until(self, words: str) -> None:
        give_up_at = time.monotonic() + 40
        while words not in self.seen:
            assert time.monotonic() < give_up_at, self.seen
            assert self._read(), self.seen

    def everything(self) -> str:
        self.end()
        return self.seen

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Read what is left, and return its exit code."""
        while self._read():
            pass
        os.close(self._ours)
        return self._process.wait(timeout=20)

    def _read(self) -> bool:
        """False once the program has closed its end."""
        if not select.select([self._ours], [], [], 1)[0]:
            return True
        try:
            read = os.read(self._ours, 65536)
        except OSError:
            return False
        self.seen += read.decode(errors="replace")
        return bool(read)
