"""Write the parts of docs/cdk.md and docs/job-toml.md that follow from the code: props, keys and their defaults.

    .venv/bin/python docs/generate_package.py    # `make docs` runs this and the others

A test compares the pages with what this makes. Defaults are those of the code; what a key means is said here.
"""

from __future__ import annotations

import inspect
import re
import sys
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.filling import filled
from leasehold.cdk import JobQueue, JobQueueStore
from leasehold.job_folders.features import (
    BatchTable,
    CircuitBreakerTable,
    DelaysRetry,
    ExponentialRetry,
    FixedRetry,
    RetentionTable,
    WebhookTable,
)
from leasehold.job_folders.job_toml import JobToml
from leasehold.job_folders.schedule import ScheduleTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.job_folders.toml import Table

CDK, JOB_TOML = (Path(__file__).with_name(name) for name in ("cdk.md", "job-toml.md"))

# Each key of job.toml, in the order of the page.
KEYS = {
    "concurrency": 'how many of its jobs run at once; a number, or "unlimited", written out',
    "concurrency_per_key": "the same for each `concurrency_key`",
    "rate": 'how many start in a while: "100 per minute", "5/s"',
    "rate_per_key": "the same for each `concurrency_key`",
    "resources": "shared resources that a job uses; `resources` of the JobQueue says how many there are",
    "weight": "how many of its jobs have a turn together where types share a limit",
    "weights": "the same for single keys: `[weights]` with a key and its number a line",
    "on_full": 'what becomes of a new job where there is no room: "wait", "skip" or "cancel_new"',
    "timeout": "how long a run may take; the function has ten seconds more",
    "heartbeat": "extend the lease while the handler works: for runs longer than their lease",
    "lease": "how long a worker owns a job; by default as long as a run can take",
    "max_event_age": "how long a hand-over may wait in Lambda's own queue",
    "max_attempts": "how often a job is tried",
    "priority": '"low", "normal", "high" or "critical"',
    "retry.policy": '"exponential", "fixed" or "delays"',
    "retry.base": "exponential: the first pause",
    "retry.cap": "exponential: the longest pause",
    "retry.jitter": "exponential: the share of a pause that is random",
    "retry.delay": "fixed: each pause",
    "retry.delays": "delays: each pause in order; the last one is repeated",
    "retention.completed": "how long a completed job can be read",
    "retention.cancelled": "how long a cancelled one can be",
    "retention.dead_letter": "how long the job of a dead letter can be",
    "batch.size": "hand over up to so many jobs at once; see docs/batches.md",
    "batch.wait": "how long a job waits for others",
    "circuit_breaker.failure_rate": "the share of failed runs that opens the circuit",
    "circuit_breaker.min_runs": "after how many runs the share counts",
    "circuit_breaker.window": "over which time runs are counted",
    "circuit_breaker.probe_after": "how long an open circuit waits before it tries one job",
    "circuit_breaker.longest_pause": "the longest such wait",
    "webhook.url": "the https address that is notified of runs; see docs/webhooks.md",
    "webhook.events": "of which ends it is notified",
    "schedule.rate": '"30 minutes"; either this or cron',
    "schedule.cron": "minute, hour, day of month, month, day of week",
    "schedule.timezone": "of the cron line",
    "schedule.on_dst_gap": "what becomes of a slot that the clocks skip",
    "schedule.on_dst_overlap": "what becomes of a slot that comes twice",
    "schedule.missed": "which slots are made up for after an outage",
    "schedule.missed_window": "how far back",
    "schedule.overlap": "what happens where the job of the slot before has not ended",
    "schedule.payload": "of its jobs, below `[schedule.payload]`",
    "schedule.template": "a template that its jobs are made from",
    "schedule.enabled": "whether it runs at all",
    "enqueues": "job types that the handler may enqueue, with `context.enqueue(...)`",
    "deduplicates": "those of them that it enqueues with a `dedup_key`: it could overwrite jobs of these types",
    "environment": "variables of the function; `[environment.prod]` has those of one deployment, which win",
    "permissions": "`[[permissions]]`: what its role may do besides, as IAM statements; see below",
    "requirements": "packages besides Leasehold's own, pinned with hashes; or paths of the project's own; see below",
    "memory": "of the function, in MB",
    "reserved_concurrency": "a share of the account's concurrency kept for the function",
    "log_retention_days": "of the function's logs; by default as the JobQueue says",
    "audit_creation": "keep an audit entry for jobs that are enqueued in a person's name",
    "check_payload": "check payloads against the handler's model when a job is enqueued",
    "reported_fields": "fields of the payload that error reports may show",
    "code": "the number that names the type's partitions, by default (0) a hash of its name; needed where two collide",
}
_TABLES: dict[str, tuple[type[Table], ...]] = {
    "retry": (ExponentialRetry, FixedRetry, DelaysRetry),
    "retention": (RetentionTable,),
    "batch": (BatchTable,),
    "circuit_breaker": (CircuitBreakerTable,),
    "webhook": (WebhookTable,),
    "schedule": (ScheduleTable,),
}


def found_keys() -> dict[str, Any]:
    """Each key of a job.toml, with its default."""
    found = dict(_defaults("", JobToml))
    for name, tables in _TABLES.items():
        del found[name]
        for table in tables:
            found = {**dict(_defaults(f"{name}.", table)), **found}
    return found


def _defaults(path: str, table: type[Table]) -> Iterator[tuple[str, Any]]:
    for name, field in table.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        # Of all that a list may name, the page says it in words.
        yield f"{path}{field.alias or name}", None if isinstance(default, tuple) else default


def _shown(value: object) -> str:
    match value:
        case None | [] | () | {}:
            return ""
        case bool():
            return "true" if value else "false"
        case timedelta():
            days, rest = divmod(value, timedelta(days=1))
            return f'"{days}d"' if days and not rest else f'"{int(value.total_seconds())}s"'
        case Enum():
            return f'"{value.name.lower()}"'
        case str():
            return f'"{value}"'
        case _:
            return str(value)


def job_toml_page() -> str:
    defaults = found_keys()
    tables = {"": [key for key in KEYS if "." not in key], **{name: [] for name in _TABLES}}
    for key in KEYS:
        if "." in key:
            tables[key.partition(".")[0]].append(key)
    parts = []
    for table, keys in tables.items():
        rows = [f"| `{each.rpartition('.')[2]}` | {_shown(defaults[each])} | {KEYS[each]} |" for each in keys]
        title = f"### `[{table}]`" if table else "### At the top"
        parts.append("\n".join([title, "", "| key | default | what it says |", "| --- | --- | --- |", *rows]))
    return filled(JOB_TOML.read_text(), {"keys": "\n\n".join(parts)}, "docs/job-toml.md")


def _props(construct: Any) -> str:
    """From the docstring, which says of each prop what it is and what its default is."""
    names = list(inspect.signature(construct.__init__).parameters)
    pattern = re.compile(r"((?:[a-z_]+, )*[a-z_]+): ")
    lines = [each.strip() for each in (inspect.getdoc(construct.__init__) or "").split("\n")]
    rows: list[list[str]] = []
    for line in lines:
        start = pattern.match(line)
        if start and all(each in names for each in start[1].split(", ")):
            rows.append([start[1], line[start.end() :]])
        elif line and rows:
            rows[-1][1] += f" {line}"
    made = []
    for prop, said in rows:
        what, _, default = said.partition("Default: ")
        made.append(f"| `{prop.replace(', ', '`, `')}` | {what.strip()} | {default.strip().removesuffix('.')} |")
    return "\n".join(["| prop | what it says | default |", "| --- | --- | --- |", *made])


def cdk_page() -> str:
    return filled(CDK.read_text(), {"props": _props(JobQueue), "store": _props(JobQueueStore)}, "docs/cdk.md")


if __name__ == "__main__":
    JOB_TOML.write_text(job_toml_page())
    CDK.write_text(cdk_page())
