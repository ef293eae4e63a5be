"""The registry of job types: written into the job table by every deployment, read by SDK, poller and handlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import CustomResource, Duration, Stack
from constructs import Construct

from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.rights import deployed_schedule_statements, registry_statements
from leasehold.kernel.registry_records import registry_record
from leasehold.schedules.records import definition_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constructs import IDependable

    from leasehold.cdk.context import QueueContext
    from leasehold.cdk.handlers import JobHandler
    from leasehold.kernel.registry import Registry
    from leasehold.schedules.model import Schedule


class PublishedRegistry(Construct):
    """Published after `needs`: a type is announced only once the function that handles it exists."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        registry: Registry,
        schedules: Sequence[Schedule],
        handlers: Sequence[JobHandler] = (),
        needs: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, construct_id)
        self.publisher = LeaseholdFunction(
            self,
            "Publisher",
            queue=queue,
            props=FunctionProps(
                name="registry-publisher",
                description="Writes the registry of job types at every deployment",
                # It asks each handler, of which there may be hundreds.
                timeout=Duration.minutes(4),
                memory_size=256,
                # Never tried again: a second try could come after the rollback, and undo it.
                max_event_age=Duration.minutes(2),
                environment={**queue.system_environment, **queue.sentry_environment},
                statements=[
                    *registry_statements(queue.jobs),
                    *deployed_schedule_statements(queue.jobs),
                    *queue.key_statements,
                ],
            ),
        )
        if handlers:
            # It asks each handler what its payloads look like, and whether it can start.
            self.publisher.allow_invoking("DescribeHandlers", [each.function.function_arn for each in handlers])
        resource = CustomResource(
            self,
            "Registry",
            resource_type="Custom::LeaseholdRegistry",
            service_token=self.publisher.function.function_arn,
            # A publisher that dies without an answer fails the deployment soon, not after the default of an hour.
            service_timeout=Duration.minutes(5),
            properties={
                # Whatever makes a handler another one: then it is asked anew.
                "Codes": Stack.of(self).to_json_string({each.folder.name: each.code_name for each in handlers}),
                "Registry": json.dumps(registry_record(registry), sort_keys=True),
                "Schedules": json.dumps({each.name: definition_record(each) for each in schedules}, sort_keys=True),
            },
        )
        # All of the publisher: rights to ask many handlers are in policies apart.
        resource.node.add_dependency(self.publisher, *needs)
