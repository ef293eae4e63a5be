"""Write the parts of docs/aws.md that follow from the cases in tests/expectations.

    .venv/bin/python docs/generate_aws.py        # `make docs` runs this and the others

A test compares the page with what this makes, and the cases themselves are asked of every engine.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.filling import filled
from tests.expectations.cases import CASES
from tests.expectations.engines import DEVIATIONS
from tests.simulation.dynamodb.agreement.differences import DYNOXIDE, MINISTACK

PAGE = Path(__file__).parent / "aws.md"


def parts() -> dict[str, str]:
    return {"expectations": _expectations(), "deviations": _deviations()}


def _expectations() -> str:
    rows = [f"| {case.name} | {_source(case.source)} |" for case in CASES]
    return "\n".join(["| what is relied on | who says so |", "| --- | --- |", *rows])


def _deviations() -> str:
    answers = {case.name: case.answer for case in CASES}
    relied_on = [
        f"| {each.engine} | {each.case}: `{each.answer}` instead of `{answers[each.case]}` | {each.meaning} |"
        for each in DEVIATIONS
    ]
    others = [
        f"| {engine} | {each.name} | {each.reason} |"
        for engine, differences in (("dynoxide", DYNOXIDE), ("ministack", MINISTACK))
        for each in differences
    ]
    return "\n".join(["| engine | where | how it differs |", "| --- | --- | --- |", *relied_on, *others])


def _source(source: str) -> str:
    first, *more = source.split(", and ")
    page = first.rpartition("/")[2]
    shown = f"[{page}]({first})" if first.startswith("https://") else first
    return ", and ".join([shown, *more])


def page() -> str:
    return filled(PAGE.read_text(), parts(), "docs/aws.md")


if __name__ == "__main__":
    PAGE.write_text(page())
