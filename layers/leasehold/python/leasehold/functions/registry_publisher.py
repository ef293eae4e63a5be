"""Writes the registry of job types, and their schedules, at every deployment, as a custom resource of the stack."""

from __future__ import annotations

import json
import time
import urllib.request
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.aws.caller import ask, connect_to_ask
from leasehold.aws.container import open_container
from leasehold.kernel.errors import StoreError
from leasehold.kernel.registry_records import registry_of
from leasehold.operate.registration import publish
from leasehold.schedules.records import definition_of
from leasehold.schedules.verbs import deploy
from leasehold.schemas.publish import SAMPLE, waiting_jobs, with_schemas
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Mapping


# IAM shows the rights of a role that was just made with a delay of seconds.
_WAITS = (1, 2, 4, 8, 15, 15, 15)
# CloudFormation waits an hour for an answer that does not come.
_ANSWER_SECONDS = 10
_LONGEST_REASON = 1000


def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Tells CloudFormation that it succeeded, or why it did not."""
    try:
        # A deleted stack leaves the registry: jobs that wait keep their settings until it is deployed again.
        if event["RequestType"] != "Delete":
            _publish_once_allowed(event["ResourceProperties"])
    except Exception as error:
        _answer(event, "FAILED", f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
        raise
    _answer(event, "SUCCESS", "")


def _publish_once_allowed(properties: Mapping[str, Any]) -> None:
    for wait in _WAITS:
        try:
            _publish(properties)
            return
        except StoreError as error:
            if "AccessDenied" not in str(error):
                raise
            time.sleep(wait)
    _publish(properties)


def _publish(properties: Mapping[str, Any]) -> None:
    """Whatever of it was done before is the same when it is done again."""
    registry = registry_of(json.loads(properties["Registry"]))
    schedules = json.loads(properties["Schedules"])
    services = open_container("registry_publisher").services
    codes = json.loads(properties.get("Codes", "{}"))
    if codes:
        registry = with_schemas(registry, codes, partial(ask, connect_to_ask()), services)
    before = services.store.control.registry()
    publish(registry, services)
    for name in sorted({*before.types} - {*registry.types}) if before else ():
        services.telemetry.event(
            Event.TYPE_NOT_DEPLOYED, job_type=name, waiting=len(waiting_jobs(name, services)), counted_up_to=SAMPLE
        )
    deploy([definition_of(name, record) for name, record in schedules.items()], services)


def _answer(event: Mapping[str, Any], status: str, reason: str) -> None:
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId", "leasehold-registry"),
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
        "Data": {},
    }
    request = urllib.request.Request(
        event["ResponseURL"], data=json.dumps(body).encode(), method="PUT", headers={"Content-Type": ""}
    )
    urllib.request.urlopen(request, timeout=_ANSWER_SECONDS).close()
