"""Preflight, which only reads: quotas, bootstrap, tables, functions, secrets and rights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.aws import names as variables
from leasehold.verify.report import NotShown, Wrong
from leasehold.verify.rights import check_rights

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.verify.report import Report
    from leasehold.verify.site import Site

PHASE = "preflight"
_RUNTIME = "python3.13"
_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
_OLDEST_BOOTSTRAP = 6
# What a reserved concurrency must leave to all others, by Lambda.
_UNRESERVED = 100
_SECRETS = (variables.SENTRY_DSN_SECRET, variables.WEBHOOK_KEYS_SECRET)
_STORED = (*_SECRETS, variables.SENTRY_DSN_PARAMETER, variables.WEBHOOK_KEYS_PARAMETER)


def preflight(site: Site, report: Report) -> None:
    checks: dict[str, Callable[[Site, list[str]], None]] = {
        "quota of concurrent executions": _check_quota,
        "bootstrap of the CDK": _check_bootstrap,
        f"table {site.jobs_table}": partial(_check_table, site.jobs_table),
        f"table {site.dead_letters_table}": partial(_check_table, site.dead_letters_table),
        "functions and their runtime": _check_functions,
        "event sources": _check_event_sources,
        "secrets and parameters": _check_secrets,
    }
    for name, check in checks.items():
        with report.check(PHASE, name) as told:
            check(site, told)
    check_rights(site, report)


def _check_quota(site: Site, told: list[str]) -> None:
    limits = site.client("lambda").get_account_settings()["AccountLimit"]
    total, free = limits["ConcurrentExecutions"], limits["UnreservedConcurrentExecutions"]
    told.append(f"{total:,} in all, {free:,} not reserved")
    if free < min(_UNRESERVED, total):
        raise Wrong(f"fewer than {_UNRESERVED} are left to functions without a reserve. Ask AWS for more.")


def _check_bootstrap(site: Site, told: list[str]) -> None:
    ssm = site.client("ssm")
    try:
        version = int(ssm.get_parameter(Name=_BOOTSTRAP)["Parameter"]["Value"])
    except ssm.exceptions.ParameterNotFound:
        raise NotShown(f"there is no {_BOOTSTRAP}: it was bootstrapped with a qualifier of your own") from None
    told.append(f"version {version}")
    if version < _OLDEST_BOOTSTRAP:
        raise Wrong(f"it is older than {_OLDEST_BOOTSTRAP}: run cdk bootstrap again")


def _check_table(name: str, site: Site, told: list[str]) -> None:
    table = site.table(name)
    indexes = {each["IndexName"]: each.get("IndexStatus", "ACTIVE") for each in table.get("GlobalSecondaryIndexes", [])}
    told.append(f"{table['TableStatus']}, indexes {', '.join(sorted(indexes))}")
    inactive = [index for index, status in indexes.items() if status != "ACTIVE"]
    if table["TableStatus"] != "ACTIVE" or inactive:
        raise Wrong(f"it is {table['TableStatus']}, and not active are: {', '.join(inactive) or 'no indexes'}")
    if site.is_local:
        raise NotShown("the local AWS does not keep a table's TTL")
    ttl = site.client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if ttl.get("TimeToLiveStatus") not in {"ENABLED", "ENABLING"} or ttl.get("AttributeName") != "expires_at":
        raise Wrong(f"its TTL is {ttl}: nothing is ever tidied up. Deploy again.")


def _check_functions(site: Site, told: list[str]) -> None:
    kinds = sorted(each.kind for each in site.functions)
    told.append(f"{len(kinds)} functions, {kinds.count('handler')} of them handlers; poller {site.poller.name}")
    problems = []
    for function in site.functions:
        state = function.configuration
        if state["Runtime"] != _RUNTIME:
            problems.append(f"{function.name} runs on {state['Runtime']} instead of {_RUNTIME}")
        if state.get("State", "Active") not in {"Active", "Inactive"}:
            problems.append(f"{function.name} is {state['State']}")
        if state.get("LastUpdateStatus", "Successful") != "Successful":
            problems.append(f"the last update of {function.name} is {state['LastUpdateStatus']}")
    deployed = {each.name for each in site.functions}
    for name, each in site.queue.services.deployment.registry().types.items():
        if each.function and each.function not in deployed:
            problems.append(f"{each.function}, which handles {name}, is not there")
    if problems:
        raise Wrong("; ".join(problems))


def _check_event_sources(site: Site, told: list[str]) -> None:
    mappings = [
        mapping
        for each in site.functions
        for mapping in site.all("lambda", "list_event_source_mappings", "EventSourceMappings", FunctionName=each.name)
    ]
    off = [each for each in mappings if each["State"] not in {"Enabled", "Enabling", "Updating"}]
    told.append(f"{len(mappings)} mappings")
    if off:
        names = ", ".join(each["FunctionArn"].rpartition(":")[2] for each in off)
        raise Wrong(f"the streams of {names} are switched off: jobs wait for the tick. Enable them.")


def _check_secrets(site: Site, told: list[str]) -> None:
    """That they are there; their values are not read."""
    manager, ssm = site.client("secretsmanager"), site.client("ssm")
    asked = [(name, each.environment[name]) for each in site.functions for name in _STORED if name in each.environment]
    missing = []
    for variable, name in sorted(set(asked)):
        if variable in _SECRETS:
            try:
                manager.describe_secret(SecretId=name)
            except manager.exceptions.ResourceNotFoundException:
                missing.append(name)
        elif not ssm.describe_parameters(ParameterFilters=[{"Key": "Name", "Values": [name]}])["Parameters"]:
            missing.append(name)
    count = len(set(asked))
    told.append(f"{count - len(missing)} of {count} are there")
    if missing and not site.is_local:
        raise Wrong(f"not there: {', '.join(missing)}. Store them, or take the setting away.")
    if missing:
        raise NotShown(f"not stored on this local AWS: {', '.join(missing)}")
