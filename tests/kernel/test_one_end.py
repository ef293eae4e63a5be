"""Only one file of the library writes an end state and a dead letter: whatever must hold of an end is held there."""

from __future__ import annotations

import ast
from pathlib import Path

import leasehold
from leasehold.kernel.transitions import TRANSITIONS

ROOT = Path(leasehold.__file__).parent
GO_ON = {each.name.upper() for each in TRANSITIONS if each.target is None or not each.target.has_ended}


def test_no_other_file_makes_a_write_of_an_end_state() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {call.lineno}"
        for path in ROOT.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Write"
        for value in (each.value for each in call.keywords if each.arg == "transition")
        for step in ((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))
        if not isinstance(step, ast.Name) or step.id not in GO_ON
    ]

    # `leasehold verify` makes the same writes on items of its own, which are no jobs, to learn what a table says.
    assert {each.partition(":")[0] for each in found} == {"kernel/end.py", "verify/probe.py"}


def test_no_other_file_writes_a_dead_letter() -> None:
    writers = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if "letter_insertion(" in path.read_text()}

    assert writers == {"kernel/dead_letter.py", "kernel/end.py"}
