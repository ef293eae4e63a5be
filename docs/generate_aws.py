"""Write the parts of docs/aws.md that follow from the cases in tests/expectations.

    .venv/bin/python docs/generate_aws.py        # `make docs` runs this and the others

A test compares the page with what this makes, and the cases themselves are asked of every engine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.filling import filled
from tests.expectations.cases import CASES
from tests.expectations.engines import DEVIATIONS
from tests.infra.quotas import QUOTAS
from tests.infra.settings_table import SETTINGS
from tests.simulation.dynamodb.agreement.differences import DYNOXIDE, MINISTACK

PAGE = Path(__file__).parent / "aws.md"


def services() -> dict[str, str]:
    return {
        "proven": proven(PAGE.parent / "real-aws"),
        "quotas": _quotas(),
        "changes": _changes(),
        "expectations": _expectations(),
        "deviations": _deviations(),
    }


def proven(folder: Path) -> str:
    """What the newest report from an account says; those of the local AWS prove nothing."""
    reports = [json.loads(each.read_text()) for each in folder.glob("*.json")]
    real = sorted((each for each in reports if each["engine"] == "AWS"), key=lambda each: each["at"])
    if not real:
        return "**Never proven on AWS**: nobody has run `leasehold verify` on an account yet."
    complete = [each for each in real if each["proven"]]
    last = (complete or real)[-1]
    if complete:
        return f"**Last proven on AWS on {last['at'][:10]}**, by {len(last['checks'])} checks of `leasehold verify`."
    wrong = ", ".join(each["name"] for each in last["checks"] if each["outcome"] != "proven")
    return f"**Never proven on AWS**: the run of {last['at'][:10]} did not show {wrong}."


def _quotas() -> str:
    rows = [f"| {each.name} | {each.limit:,} | {_source(each.source)} | {each.kept} |" for each in QUOTAS]
    return "\n".join(["| quota | at most | who says so | what keeps below |", "| --- | --- | --- | --- |", *rows])


def _changes() -> str:
    rows = [f"| `{name}` | {each.change} |" for name, each in SETTINGS.items()]
    return "\n".join(["| setting | what a deployment that changes it does |", "| --- | --- |", *rows])


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
    return filled(PAGE.read_text(), services(), "docs/aws.md")


if __name__ == "__main__":
    PAGE.write_text(page())
