"""The arithmetic behind docs/cost.md: quantity times price, line by line, and nothing hidden."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest
from aws_cdk.assertions import Template

from docs.costing import measured_page, page, prices
from docs.costing.bill import MINUTES, SECONDS, Line, System
from docs.costing.extras import extras
from docs.costing.figures import ASSUMED, Assumptions, Measured
from docs.costing.prices import Price
from infra.environments import Environment
from leasehold import telemetry
from leasehold.operate.measure import measure
from leasehold.testing.queue import LeaseholdTest
from tests.infra.synthesised import stacks_of

PRICES = prices.load()
RATES = (0, 1, 100, 1_000)


def results(**changed: Any) -> dict[str, Any]:
    """Figures that are easy to reckon with: 9 write units a job, 1 KB kept, 1 KB logged."""
    phase = {"read_units": 1, "requests": 2, "cpu_ms": 1, "write_units": 3}
    job = {
        "write_units": 9,
        "read_units": 2,
        "requests": 6,
        "cpu_ms": 3,
        "phases": dict.fromkeys(("enqueue", "poll", "handle"), phase),
        "stored_bytes": 1000,
    }
    payloads = [f"{size} {shape}" for size in page._PAYLOADS for shape in ("typical", "incompressible")]
    lives = {"jobs": 20, "plain": dict.fromkeys(payloads, job), "plain, one at a time": {"0.2 KB typical": job}}
    polls = {"tables": {"0": {"idle": {"read_units": 3, "requests": 5, "milliseconds": 10}}}}
    logs = {"bytes_per_job": 1000}
    benchmarks = {"lives": lives, "polls": polls, "lateness": {"logs": logs}} | changed
    return {"benchmarks": benchmarks}


SYSTEMS = {system.name: system for system in page.systems(results(), PRICES)}
LEASEHOLD = SYSTEMS["Leasehold, jobs due now"]


def line(system: System, what: str, rate: float) -> Line:
    (found,) = [each for each in system.lines(rate) if each.what == what]
    return found


def test_a_line_is_its_quantity_times_its_price() -> None:
    price = Price("x", 0.625, 1_000_000, "write unit", "write units", "a page", True)

    assert Line("write units", "9 a job", 9_000_000, price).dollars == pytest.approx(5.625)


def test_a_months_write_units_are_nine_for_each_job() -> None:
    written = line(LEASEHOLD, "write units", 100)

    assert written.quantity == 9 * 100 * SECONDS
    assert written.dollars == pytest.approx(9 * 100 * 2_592_000 * 0.625 / 1_000_000)


def test_what_is_kept_is_a_week_of_jobs() -> None:
    kept = line(LEASEHOLD, "storage", 1_000)

    assert kept.quantity == pytest.approx(1_000 * 7 * 86_400 * 1000 / 1e9)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_the_same_lines_at_every_rate_and_its_bill_is_their_sum(name: str) -> None:
    system = SYSTEMS[name]

    assert len({tuple(each.what for each in system.lines(rate)) for rate in RATES}) == 1
    for rate in RATES:
        assert system.dollars(rate) == pytest.approx(sum(each.dollars for each in system.lines(rate)))


@pytest.mark.parametrize("name", SYSTEMS)
def test_more_jobs_never_cost_less(name: str) -> None:
    bills = [SYSTEMS[name].dollars(rate) for rate in RATES]

    assert bills == sorted(bills)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_runs_the_same_handler(name: str) -> None:
    assert line(SYSTEMS[name], "handlers at work", 1).quantity == pytest.approx(0.0125 * SECONDS)


def test_a_million_jobs_cost_what_they_add_to_an_idle_month() -> None:
    extra = LEASEHOLD.dollars(100) - LEASEHOLD.dollars(0)

    assert LEASEHOLD.dollars_a_million() == pytest.approx(extra / (100 * SECONDS) * 1e6)


def test_an_idle_month_has_a_tick_a_minute_and_no_handler() -> None:
    assert line(LEASEHOLD, "ticks", 0).quantity == MINUTES
    assert line(LEASEHOLD, "invocations of handlers", 0).quantity == 0


def test_a_resident_is_paid_for_only_while_jobs_for_later_exist() -> None:
    later = SYSTEMS["Leasehold, jobs for later"]

    assert line(later, "the poller at work", 0) == line(LEASEHOLD, "the poller at work", 0)
    assert line(later, "the poller at work", 1).quantity > SECONDS * Assumptions().poller_gb


def test_what_the_page_says_of_the_others_is_so_with_the_kept_figures() -> None:
    """The page's words under its table: if one of them is no longer true, change the words."""
    now, later, batched, sqs, scheduler, standard, express, durable, indexed, scanned = page.systems(
        page_results(), PRICES
    )

    for rate in (1, 100, 1_000):
        assert sqs.dollars(rate) * 3 < now.dollars(rate)
        assert scheduler.dollars(rate) * 2 < later.dollars(rate)
        assert standard.dollars(rate) > 2 * now.dollars(rate)
        assert express.dollars(rate) < now.dollars(rate) < durable.dollars(rate)
    assert later.dollars(1) > now.dollars(1)
    assert batched.dollars(1) == now.dollars(1)
    assert all(batched.dollars(rate) < now.dollars(rate) for rate in (100, 1_000))
    watched = sum(line(now, what, 0).dollars for what in ("metrics", "alarms"))
    assert watched > 0.9 * now.dollars(0)
    largest = sorted(now.lines(1_000), key=lambda each: -each.dollars)
    assert [each.what for each in largest[:2]] == ["write units", "logs taken in"]
    assert line(now, "write units", 1).quantity / line(indexed, "write units", 1).quantity == pytest.approx(9 / 8)
    assert line(scanned, "read units", 100).dollars > scanned.dollars(100) / 2


def page_results() -> dict[str, Any]:
    from tests.benchmarks.results import load

    return load()


def test_results_without_a_figure_make_no_page() -> None:
    with pytest.raises(ValueError, match="no figures of lateness: run `make bench`"):
        page.services(results(lateness={"error": "no engine"}), PRICES)


def test_figures_come_from_the_benchmarks() -> None:
    measured = Measured.of(results())

    assert (measured.alone.write_units, measured.batch, measured.log_bytes) == (9, 20, 1000)


def test_the_alarms_and_dashboards_that_are_assumed_are_those_of_the_stacks() -> None:
    found = [
        each["Type"]
        for stack in stacks_of(Environment(name="priced"))
        for each in Template.from_stack(stack).to_json()["Resources"].values()
    ]

    assumed = Assumptions()
    assert found.count("AWS::CloudWatch::Alarm") == assumed.alarms
    assert found.count("AWS::CloudWatch::Dashboard") == 0


def test_an_idle_month_with_the_default_settings_costs_at_most_3_dollars_and_30_cents_for_each_further_type() -> None:
    now, *_ = page.systems(page_results(), PRICES)

    assert now.dollars(0) <= 3
    assert PRICES["alarm"].of(Assumptions().alarms_a_type) <= 0.30


def test_the_metrics_that_are_assumed_are_those_of_a_job_type_that_has_seen_all_but_a_breaker() -> None:
    sent = [each for each in telemetry.METRICS if not each.is_detail]

    # One outcome: jobs complete, and no lease is lost. CIRCUIT_OPEN is only for types with a breaker.
    # Nor was anything found that disagrees with its key.
    assert len(sent) - 3 == Assumptions().metrics


def test_the_metrics_of_an_idle_month_are_those_that_a_tick_sends() -> None:
    test = LeaseholdTest({})
    test.drain()
    measure(test.services)

    sent = {metric.name for metric, _, _ in test.telemetry.metrics if not metric.is_detail}
    assert len(sent) == Assumptions().idle_metrics


def test_every_assumption_that_a_bill_uses_is_said_on_the_page() -> None:
    said = set(re.findall(r"\{(\w+)", " ".join(ASSUMED.values())))

    assert said == {each.name for each in fields(Assumptions)}


def test_a_resident_looks_at_every_lane_all_month_and_a_little_longer() -> None:
    later = SYSTEMS["Leasehold, jobs for later"]
    looks = line(later, "read units", 1).quantity - line(LEASEHOLD, "read units", 1).quantity

    assert looks == pytest.approx(SECONDS * 65 / 60 * 2 * 4 * 0.5)


def test_a_price_has_the_article_of_what_it_is_for() -> None:
    assert PRICES["alarm"].written() == "$0.10 an alarm"
    assert PRICES["metric"].written() == "$0.30 a metric"


def test_every_price_says_where_it_was_read() -> None:
    assert PRICES.date
    assert [each.name for each in PRICES.prices.values() if not each.seen or each.dollars <= 0] == []


def test_a_price_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="no price 'gold'"):
        PRICES["gold"]


def test_every_price_is_on_some_bill() -> None:
    used = {each.price.name for system in SYSTEMS.values() for each in system.lines(1)}
    used |= {line.price.name for each in extras(Assumptions(), PRICES) for line in each.lines}

    assert used == set(PRICES.prices)


def test_every_improvement_stands_beside_what_it_was_before() -> None:
    made = measured_page.services(page_results())["improved"]
    rows = [line.strip("| ").split(" | ") for line in made.splitlines()[2:]]

    assert [(what, before) for what, before, _ in rows] == [(what, old) for what, old, _, _ in measured_page.IMPROVED]
    for _, before, now in rows:
        assert float(now.split()[0]) < float(before.split()[0])


def test_how_long_the_run_took_is_said_if_it_is_known() -> None:
    known = page_results() | {"seconds": 492.3}

    assert "All of it took 8.2 minutes." in measured_page.services(known)["circumstances"]


def test_a_benchmark_that_failed_is_said_to_have_failed() -> None:
    kept = page_results()
    failed = {name: {"error": "no engine"} for name in ("cpu", "lateness", "celery", "imports")}

    made = measured_page.services(kept | {"benchmarks": kept["benchmarks"] | failed})

    assert "no engine" in made["ratio"]
    assert "no engine" in made["deployed"]
    assert "no engine" in made["celery"]
    assert "| 1.68 x | not measured |" in made["improved"]
