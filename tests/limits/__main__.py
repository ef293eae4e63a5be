"""Measure what waiting costs: `make limits`, or some cases: `python -m tests.limits type-and-key blocked-keys`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from docs.filling import filled
from tests.limits.cases import CASES, Measure

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
PART = "figures"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make limits", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which of them: {', '.join(CASES)}")
    options = parser.parse_args()
    unknown = sorted(set(options.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    measured = {name: _measure(name) for name in options.cases or CASES}
    if not options.cases:
        PAGE.write_text(filled(PAGE.read_text(), {PART: table(measured)}, PAGE.name))
        print(f"wrote {PAGE.name}")
    broken = [name for name, measures in measured.items() if not all(each.holds for each in measures)]
    print(f"broken bounds: {', '.join(broken)}" if broken else "every bound holds")
    return 1 if broken else 0


def _measure(name: str) -> list[Measure]:
    print(f"{name}: {what(name)}", flush=True)
    began = time.monotonic()
    measures = CASES[name]()
    for each in measures:
        print(f"    {each}")
    print(f"    ({time.monotonic() - began:.0f} s)", flush=True)
    return measures


def table(measured: dict[str, list[Measure]]) -> str:
    lines = ["| case | measured | figure | bound |", "| --- | --- | --- | --- |"]
    for name, measures in measured.items():
        for at, each in enumerate(measures):
            case = what(name) if at == 0 else ""
            lines.append(f"| {case} | {each.what} | {_figure(each.value)} | {_bound(each)} |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"


def _bound(measure: Measure) -> str:
    if not measure.sign:
        return ""
    return f"{measure.told_bound}{'' if measure.holds else ', not kept'}"


def what(name: str) -> str:
    return (CASES[name].__doc__ or name).strip().removesuffix(".")


if __name__ == "__main__":
    sys.exit(main())
