"""Writes the registry of job types, and their schedules, at every deployment, as a custom resource of the stack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leasehold.aws.container import open_container
from leasehold.aws.custom_resource import answered
from leasehold.aws.describing import asking, connect_to_ask
from leasehold.kernel.registry_records import registry_of
from leasehold.operate.control import publish
from leasehold.schedules.records import definition_of
from leasehold.schedules.verbs import deploy
from leasehold.schemas.publish import with_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping


def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    with answered(event, physical_id="leasehold-registry"):
        # A deleted stack leaves the registry: jobs that wait keep their settings until it is deployed again.
        if event["RequestType"] != "Delete":
            registry = registry_of(json.loads(event["ResourceProperties"]["Registry"]))
            schedules = json.loads(event["ResourceProperties"]["Schedules"])
            services = open_container("registry_publisher").services
            codes = json.loads(event["ResourceProperties"].get("Codes", "{}"))
            if codes:
                registry = with_schemas(registry, codes, asking(connect_to_ask()), services)
            publish(registry, services)
            deploy([definition_of(name, record) for name, record in schedules.items()], services)
