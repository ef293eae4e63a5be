"""Watch: each metric that an alarm of this deployment reads is one that its functions write."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.telemetry import CIRCUIT_OPEN, DEAD_LETTER_DEPTH, HEARTBEAT, METRICS, OLDEST_DUE_AGE
from leasehold.verify.report import StandIn, Wrong

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.verify.report import Report
    from leasehold.verify.site import Site

PHASE = "watch"
# Written with every tick; the others only when there is something to count.
_ALWAYS = {HEARTBEAT.name, DEAD_LETTER_DEPTH.name, OLDEST_DUE_AGE.name}
_PATIENCE_SECONDS = 180
type Series = tuple[str, tuple[tuple[str, str], ...]]


def watch(site: Site, report: Report) -> None:
    read: list[tuple[str, Series]] = []
    namespace, per_type = "", False
    with report.check(PHASE, "alarms of this deployment") as told:
        namespace = site.poller.environment.get(variables.METRICS_NAMESPACE, "")
        per_type = site.poller.environment.get(variables.METRICS_PER_TYPE) == "true"
        read = list(_read_by_alarms(site, namespace))
        told.append(f"{len(read)} read metrics in {namespace}")
        if not read:
            raise Wrong(f"no alarm reads a metric in {namespace}: nobody would be woken")
    for alarm, series in read:
        name, dimensions = series
        report.names[alarm] = f"<alarm on {name}>"
        with report.check(PHASE, f"metric of {alarm}") as told:
            told.append(_text(series))
            keys = {key for key, _ in dimensions}
            if not any(each.name == name and set(each.sent_dimensions(per_type=per_type)) == keys for each in METRICS):
                raise Wrong(f"no function writes {_text(series)}: this alarm is deaf. Deploy alarms and code together.")
    expected = {series for _, series in read if series[0] in _ALWAYS and _is_known(site, series)}
    with report.check(PHASE, "metrics appear") as told:
        _wait_for(site, namespace, expected, told, since=report.at)


def _is_known(site: Site, series: Series) -> bool:
    """What has no figure yet: a type that is not deployed any more, a circuit that never opened."""
    types = site.queue.services.deployment.registry().types
    return series[0] != CIRCUIT_OPEN.name and all(value in types for _, value in series[1])


def _read_by_alarms(site: Site, namespace: str) -> Iterator[tuple[str, Series]]:
    for alarm in site.all("cloudwatch", "describe_alarms", "MetricAlarms", AlarmTypes=["MetricAlarm"]):
        metrics = [alarm, *(each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each)]
        for each in metrics:
            if each.get("Namespace") == namespace:
                yield alarm["AlarmName"], _of(each)


def _wait_for(site: Site, namespace: str, expected: set[Series], told: list[str], *, since: datetime) -> None:
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    shown: set[Series] = set()
    while not expected <= shown and time.monotonic() < give_up_at:
        recent = {"Namespace": namespace, "RecentlyActive": "PT3H"}
        listed = map(_of, site.all("cloudwatch", "list_metrics", "Metrics", **recent))
        shown = set(_logged(site, namespace, since) if site.is_local else listed)
        if not expected <= shown:
            time.sleep(5)
    told.append(f"{len(expected & shown)} of {len(expected)}")
    missing = sorted(expected - shown)
    if missing:
        raise Wrong(f"not seen within {_PATIENCE_SECONDS} s: {', '.join(map(_text, missing))}")
    if site.is_local:
        raise StandIn("read off the functions' log lines: the local AWS makes no metrics of them")


def _of(metric: dict[str, Any]) -> Series:
    return metric["MetricName"], tuple(sorted((one["Name"], one["Value"]) for one in metric.get("Dimensions", [])))


def _logged(site: Site, namespace: str, since: datetime) -> Iterator[Series]:
    for function in site.functions:
        for text in site.log_events(function, since):
            if text.strip().startswith("{") and '"_aws"' in text:
                yield from _series(json.loads(text), namespace)


def _series(line: dict[str, Any], namespace: str) -> Iterator[Series]:
    for group in line["_aws"].get("CloudWatchMetrics", []):
        if group["Namespace"] == namespace:
            for names in group["Dimensions"]:
                dimensions = tuple(sorted((name, str(line[name])) for name in names))
                yield from ((metric["Name"], dimensions) for metric in group["Metrics"])


def _text(series: Series) -> str:
    name, dimensions = series
    return name + "".join(f" {key}={value}" for key, value in dimensions)
