"""The generated parts of docs/benchmarks.md: where it was measured, what was promised, and what came out."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from docs.costing.written import table
from tests.benchmarks.charts import charts
from tests.benchmarks.sizes import WHOLE

# As JSON has it, where a tuple is a list.
_WHOLE = json.loads(json.dumps(asdict(WHOLE)))
SMALLER = "These figures are of a small run, made to try the command out: its bounds are not judged by them."
# What was measured before it was worked on, and where in the results it stands now.
IMPROVED = (
    ("import of the poller, to botocore", "1.68 x", ("imports", "poller"), " x"),
    ("import of the slowest handler, to botocore", "2.09 x", ("imports", "slowest_handler"), " x"),
    ("CPU of a job, to the floor", "1.44 x", ("cpu", "cpu_ratio"), " x"),
    ("requests of a job in a burst of 1,000", "4.19", ("burst", "requests_per_job"), ""),
    (
        "write units with 16 KB of typical JSON",
        "73",
        ("lives", "plain, one at a time", "16 KB typical", "write_units"),
        "",
    ),
    (
        "write units with 16 KB that do not compress",
        "73",
        ("lives", "plain, one at a time", "16 KB incompressible", "write_units"),
        "",
    ),
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def services(results: dict[str, Any]) -> dict[str, str]:
    return {
        "circumstances": _circumstances(results),
        "bounds": _bounds(results),
        "improved": _improved(results["benchmarks"]),
        "ratio": _ratio(results["benchmarks"]["cpu"]),
        "deployed": _deployed(results["benchmarks"]["lateness"]),
        "charts": "\n\n".join(
            f"![{chart.title}](../tests/benchmarks/results/{name}.svg)"
            for name, chart in charts(results["benchmarks"]).items()
        ),
        "celery": "\n".join(_celery(results["benchmarks"]["celery"])),
    }


def _circumstances(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    where = f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}"
    what = ", ".join(f"{name} {version}" for name, version in versions.items())
    on = "" if not results["has_uncommitted_changes"] else ", with changes that were not committed yet"
    # A size that is younger than the run says nothing of it.
    whole = all(results["sizes"].get(name, value) == value for name, value in _WHOLE.items())
    small = "" if whole else f"**{SMALLER}**\n\n"
    took = f" All of it took {results['seconds'] / 60:.1f} minutes." if "seconds" in results else ""
    anew = "".join(
        f" `{name}` was measured anew at {each['measured_at']}."
        for name, each in results.get("measured_anew", {}).items()
    )
    return (
        f"{small}Measured at {results['measured_at']}, commit `{results['commit'][:12]}`{on}: "
        f"{where}; {what}.{took}{anew}"
    )


def _bounds(results: dict[str, Any]) -> str:
    rows = [
        [
            each["what"],
            "not measured" if each["value"] is None else f"{each['value']:.4g} {each['unit']}",
            _limit(each),
            "yes" if each["met"] else "**no**",
        ]
        for each in results["bounds"]
    ]
    return table(["figure", "measured", "at most", "met"], rows)


def _limit(bound: dict[str, Any]) -> str:
    limit = bound.get("at_most", bound.get("at_least"))
    return f"{'at least ' if 'at_least' in bound else ''}{limit:g} {bound['unit']}"


def _improved(benchmarks: dict[str, Any]) -> str:
    rows = [[what, before, _now(benchmarks, path, unit)] for what, before, path, unit in IMPROVED]
    return table(["figure", "before", "now"], rows)


def _now(benchmarks: dict[str, Any], path: tuple[str, ...], unit: str) -> str:
    found: Any = benchmarks
    for key in path:
        found = found.get(key, {})
    return "not measured" if found == {} else f"{found:.4g}{unit}"


def _ratio(cpu: dict[str, Any]) -> str:
    if "error" in cpu:
        return f"CPU could not be measured: {cpu['error']}"
    rounds = f" of {cpu['rounds']} rounds" if "rounds" in cpu else ""
    spread = (
        f" (half of the rounds lie between {cpu['cpu_ratio_lower_quartile']:g} and {cpu['cpu_ratio_upper_quartile']:g})"
        if "cpu_ratio_lower_quartile" in cpu
        else ""
    )
    return (
        f"The ratio of CPU, {cpu['cpu_ratio']:g}, is the median of the rounds' own ratios{spread}: what else the "
        f"machine\ndoes slows both sides of a round. The chart's bars are the medians{rounds}, whose ratio is "
        f"{cpu['cpu_ms'] / cpu['floor_cpu_ms']:.4g}."
    )


def _deployed(late: dict[str, Any]) -> str:
    if "error" in late:
        return f"It could not be measured: {late['error']}"
    burst = late["burst"]
    *first, last = late.get("warm_up_bursts", [5, 10, 20, 50, 100])
    rows = [
        [f"a burst of {burst['jobs']} jobs, from its first enqueue to its last end", f"{burst['seconds']:.3g} s"],
        *(
            [f"start minus due of {late['jobs']} jobs, {late['jobs_a_second']} a second: {name}", f"{late[key]:g} s"]
            for name, key in (
                ("median", "p50_seconds"),
                ("99th percentile", "p99_seconds"),
                ("highest", "highest_seconds"),
            )
        ),
    ]
    return (
        f"All of it after bursts of {', '.join(map(str, first))} and {last} jobs had warmed the functions up: "
        f"no cold start is in it.\n\n{table(['the deployed stacks, warm', ''], rows)}"
    )


def _celery(figures: dict[str, Any]) -> Iterator[str]:
    if "error" in figures:
        yield f"It could not be measured: {figures['error']}"
        return
    yield table(
        [
            f"{figures['tasks']} tasks, {figures['threads']} threads, {figures['senders']} senders",
            "tasks a second",
            "requests per task",
            "requests",
            "a second while idle",
        ],
        [
            [
                name,
                _rate(figures[side], figures["tasks"]),
                f"{figures[side]['requests_per_task']:g}",
                ", ".join(f"{count} {operation}" for operation, count in figures[side]["requests"].items()),
                f"{figures[side]['idle_requests_per_second']:g}",
            ]
            for name, side in (
                ("Leasehold on DynamoDB", "leasehold"),
                ("Leasehold, batches of 10", "leasehold_batches"),
                ("Celery on SQS", "celery"),
                ("Leasehold, `enqueue_many`, batches of 10", "leasehold_enqueue_many"),
            )
            if side in figures
        ],
    )
    yield ""
    celerys = figures["celery"]["tasks_per_second"]
    for us, side in (
        ("Leasehold", "leasehold"),
        ("Leasehold with batches", "leasehold_batches"),
        ("Leasehold with `enqueue_many` and batches", "leasehold_enqueue_many"),
    ):
        if side in figures:
            rounds = figures.get("to_celery", {}).get(side)
            spread = f" (our rounds: {rounds['lowest']:g} to {rounds['highest']:g} times Celery's)" if rounds else ""
            yield f"{_faster(us, figures[side]['tasks_per_second'], celerys)}{spread}."
    yield ""
    yield "What differs:"
    yield ""
    yield from (f"- {each}" for each in figures["differences"])


def _faster(us: str, ours: float, celerys: float) -> str:
    if ours > celerys:
        return f"{us} did {ours / celerys:.1f} times as many tasks a second as Celery"
    return f"Celery did {celerys / ours:.1f} times as many tasks a second as {us}"


def _rate(side: dict[str, Any], tasks: int) -> str:
    """The median round's, and those of all rounds if there were more than one."""
    rounds = [f"{tasks / seconds:.1f}" for seconds in side.get("seconds_of_rounds", [])]
    return f"{side['tasks_per_second']:g}" + (f" (median of {', '.join(rounds)})" if rounds else "")
