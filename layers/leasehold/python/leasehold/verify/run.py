"""One run of `leasehold verify`: what it will do and cost, and its phases in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.aws import names as variables
from leasehold.kernel.keys import make_stamp
from leasehold.verify.flow import BULK, flow
from leasehold.verify.preflight import preflight
from leasehold.verify.probe import probe
from leasehold.verify.report import PHASES, Report
from leasehold.verify.watch import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.verify.site import Site

CHOSEN = PHASES[:-1]
DOLLARS = 0.05
WHAT_IT_DOES = f"""\
This reads the settings of {{queue}} and asks IAM and Access Analyzer about its policies, which changes nothing. It
writes and removes a few items in its table, sends {BULK + 5} jobs of the type leasehold_probe through it (one crashes;
one becomes a dead letter, which raises the alarm on these and is discarded at the end), makes a schedule and deletes
it, and looks at its alarms. No job of yours is touched.
It takes about five minutes, and costs less than ${DOLLARS:.2f}."""


def verify(site: Site, *, phases: Collection[str] = CHOSEN, say: Callable[[str], None] = lambda _: None) -> Report:
    services = site.queue.services
    report = Report(queue=site.name, at=services.clock.now(), engine="the local AWS" if site.is_local else "AWS")
    run = make_stamp(services.random_source)
    steps: dict[str, tuple[str, Callable[[], None]]] = {
        "preflight": ("quotas, bootstrap, tables, functions, secrets, rights", lambda: preflight(site, report)),
        "probe": ("the statements of the store", lambda: probe(site, report, run)),
        "flow": ("jobs through the deployment", lambda: flow(site, report, run)),
        "watch": ("metrics and alarms", lambda: watch(site, report)),
    }
    for phase, (about, check) in steps.items():
        if phase in phases:
            say(f"{phase}: {about}")
            check()
    report.names |= {site.jobs_table: "<jobs table>", site.dead_letters_table: "<dead letters table>"}
    report.names |= {each.name: f"<{each.kind} {number}>" for number, each in enumerate(site.functions, 1)}
    report.names |= {site.poller.environment.get(variables.METRICS_NAMESPACE, "-"): "<namespace>"}
    report.checks.sort(key=lambda each: PHASES.index(each.phase))
    return report
