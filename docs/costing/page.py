"""The generated parts of docs/cost.md, each under its name."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from docs.costing.extras import extras, twenty_types
from docs.costing.figures import ASSUMED, Assumptions, Measured
from docs.costing.leasehold import Leasehold
from docs.costing.others import Others
from docs.costing.written import dollars, quantity, table
from tests.benchmarks.charts import kinds_by_cost

if TYPE_CHECKING:
    from docs.costing.bill import System
    from docs.costing.prices import Prices

RATES = (1, 100, 1_000)
_PAYLOADS = ("0.2 KB", "1 KB", "4 KB", "16 KB")
_NEEDED = ("lives", "polls", "lateness")


def services(results: dict[str, Any], prices: Prices) -> dict[str, str]:
    """Of results that lack a figure none is made: a page with holes would look like one without."""
    failed = [name for name in _NEEDED if "error" in results["benchmarks"].get(name, {"error": "not run"})]
    if failed:
        raise ValueError(f"the last run has no figures of {', '.join(failed)}: run `make bench` again")
    found = systems(results, prices)
    return {
        "price": _price(results, prices),
        "payloads": _payloads(results),
        "summary": _summary(found),
        "extras": _extras(found[0], found[2], prices),
        "bills": "\n\n".join(map(_bill, found)),
        "assumptions": _assumptions(results),
        "prices": _prices(prices),
    }


def systems(results: dict[str, Any], prices: Prices) -> list[System]:
    measured, assumed = Measured.of(results), Assumptions()
    ours = [Leasehold(measured, assumed, prices, is_scheduled).system() for is_scheduled in (False, True)]
    ours.append(Leasehold(measured, assumed, prices, is_scheduled=False, is_batched=True).system())
    return [*ours, *Others(assumed, prices).systems()]


def _price(results: dict[str, Any], prices: Prices) -> str:
    units = results["benchmarks"]["lives"]["plain, one at a time"]["0.2 KB typical"]["write_units"]
    price = prices["dynamodb_write"]
    return (
        f"At {price.written()} write units ({prices.region}, on demand, {prices.date}) a plain job costs "
        f"{dollars(price.of(units * 1_000_000))} a million in write\nunits. What else it costs, and what other ways "
        "would, stands [below](#in-dollars)."
    )


def _payloads(results: dict[str, Any]) -> str:
    lives = results["benchmarks"]["lives"]
    rows = [[name, *(_pair(lives[name], size) for size in _PAYLOADS)] for name in kinds_by_cost(lives)]
    return table(["the job is", *_PAYLOADS], rows)


def _pair(costs: dict[str, Any], size: str) -> str:
    typical, other = (costs[f"{size} {shape}"]["write_units"] for shape in ("typical", "incompressible"))
    return f"{typical:.3g}" if typical == other else f"{typical:.3g} / {other:.3g}"


def _summary(found: list[System]) -> str:
    head = ["", "an idle month", "a million jobs", *(f"a month at {rate:,}/s" for rate in RATES)]
    rows = [
        [
            each.name,
            dollars(each.dollars(0)),
            dollars(each.dollars_a_million()),
            *(dollars(each.dollars(rate)) for rate in RATES),
        ]
        for each in found
    ]
    return table(head, rows)


def _extras(ours: System, batched: System, prices: Prices) -> str:
    assumed = Assumptions()
    rows = [
        [
            each.what,
            ", ".join(f"{quantity(line.quantity)} {line.what}" for line in each.lines),
            f"{dollars(each.dollars)} more",
        ]
        for each in extras(assumed, prices)
    ]
    rows += [[what, when, dollars(sum_)] for what, when, sum_ in twenty_types(ours, batched, assumed, prices)]
    return table(["a month of", "", ""], rows)


def _bill(system: System) -> str:
    by_rate = [system.lines(rate) for rate in RATES]
    head = ["", "how much", "price", *(f"{rate:,}/s" for rate in RATES)]
    rows = [
        [
            lines[0].what,
            lines[0].how if lines[0].how == lines[-1].how else f"{lines[0].how}; from 100/s {lines[-1].how}",
            lines[0].price.written(),
            *(f"{quantity(line.quantity)}: {dollars(line.dollars)}" for line in lines),
        ]
        for lines in zip(*by_rate, strict=True)
    ]
    total = ["**a month**", "", "", *(f"**{dollars(system.dollars(rate))}**" for rate in RATES)]
    return f"#### {system.name}\n\n{system.note}\n\n{table(head, [*rows, total])}"


def _assumptions(results: dict[str, Any]) -> str:
    measured, assumed = Measured.of(results), asdict(Assumptions())
    rows = [[what, how.format(**assumed)] for what, how in ASSUMED.items()]
    together = f"at 1 job a second one, from 100 on {measured.batch}"
    return table(["assumed", ""], [*rows, ["jobs that a poll finds", together]])


def _prices(prices: Prices) -> str:
    rows = [
        [each.unit, each.written(), each.seen if each.checked else f"**not checked**: {each.seen}"]
        for each in prices.prices.values()
    ]
    return table([f"{prices.region}, {prices.date}", "price", "read in"], rows)
