"""The registry of job types: written into the job table by every deployment, read by SDK, poller and handlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import CustomResource, Duration, Stack
from constructs import Construct

from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import deployed_schedule_statements, describe_statement, registry_statements
from leasehold.store.registries import registry_record
from leasehold.store.schedule_records import definition_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_
    from constructs import IDependable

    from infra.job_function import JobFunction
    from infra.stages import Stage
    from leasehold.domain.control import Registry
    from leasehold.domain.schedule import Schedule


class PublishedRegistry(Construct):
    """Published after `needs`: a type is announced only once the function that handles it exists."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        registry: Registry,
        schedules: Sequence[Schedule],
        handlers: Sequence[JobFunction] = (),
        needs: Sequence[IDependable],
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.publisher = LeaseholdFunction(
            self,
            "Publisher",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="registry-publisher",
                description="Writes the registry of job types at every deployment",
                folder=FUNCTIONS / "registry_publisher",
                timeout=Duration.seconds(60),
                memory_size=256,
                # Never tried again: a second try could come after the rollback, and undo it.
                max_event_age=Duration.minutes(2),
                key=key,
                environment=environment,
                statements=[
                    *registry_statements(jobs),
                    *([describe_statement([each.function for each in handlers])] if handlers else []),
                    *deployed_schedule_statements(jobs),
                    *key_statements,
                ],
            ),
        )
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
        resource.node.add_dependency(self.publisher.policy, self.publisher.events, *needs)
