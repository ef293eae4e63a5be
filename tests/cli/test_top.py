"""`leasehold top` at a terminal: whenever Ctrl-C comes, the terminal is given back as it was."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from leasehold.cli.operating.live import watch

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

LEAVES_THE_SCREEN, SHOWS_THE_CURSOR = "\x1b[?1049l", "\x1b[?25h"


class Screen(StringIO):
    """Ctrl-C is pressed while the so-manieth frame is written to it."""

    def __init__(self, frame: int) -> None:
        super().__init__()
        self._left = frame

    def write(self, text: str) -> int:
        written = super().write(text)
        if "the system is up" in text:
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt
        return written


class Clock:
    def sleep(self, _duration: timedelta) -> None:
        return


@pytest.mark.parametrize("frame", [1, 2])
def test_a_ctrl_c_while_a_frame_is_painted_gives_the_terminal_back(shell: Shell, frame: int):
    screen = Screen(frame)
    console = Console(file=screen, force_terminal=True, width=100, height=40, color_system=None)
    session: Any = SimpleNamespace(
        out=SimpleNamespace(console=console, as_json=False),
        admin=shell.admin,
        now=shell.test.clock.now,
        clock=Clock(),
    )

    with pytest.raises(KeyboardInterrupt):
        watch(session, timedelta(seconds=1), once=False)

    assert screen.getvalue().rstrip().endswith(LEAVES_THE_SCREEN)
    assert SHOWS_THE_CURSOR in screen.getvalue()
