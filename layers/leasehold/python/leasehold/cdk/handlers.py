"""Handlers: one function per job type, from its folder. Adding the folder is all it takes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.acknowledgements import acknowledge_wildcard
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.layers import handler_code
from leasehold.cdk.rights import handler_statements

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_

    from leasehold.cdk.context import QueueContext
    from leasehold.job_folders.job_toml import JobFolder
    from leasehold.job_folders.permission import Permission
    from leasehold.kernel.job_type import JobType


class JobHandler(Construct):
    """`poller` is started when an end may free a seat that somebody waits for."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        folder: JobFolder,
        poller: lambda_.IFunction,
    ) -> None:
        super().__init__(scope, construct_id)
        self.folder = folder
        job_type = folder.job_type
        wakes = wakes_poller(job_type, queue)
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name=f"job-{folder.name}",
                description=f"Handles {folder.name} jobs",
                timeout=Duration.seconds(job_type.function_timeout.total_seconds()),
                memory_size=folder.memory_mb,
                environment={
                    **queue.environment,
                    **folder.environment,
                    **queue.system_environment,
                    **queue.sentry_environment,
                    **({variables.POLLER_FUNCTION: poller.function_name} if wakes else {}),
                    variables.HANDLER: f"{folder.path.replace('/', '.')}.handler",
                },
                statements=[
                    *handler_statements(job_type, queue, queue.jobs, queue.dead_letters),
                    *([_may_wake(poller)] if wakes else []),
                    *(_statement(number, each) for number, each in enumerate(folder.permissions)),
                    *queue.sentry_statements,
                    *queue.key_statements,
                ],
                # The entry is ours, and imports the handler: one that cannot be imported is seen on its jobs.
                handler="leasehold.runtime.entry.lambda_handler",
                # Leasehold retries by itself; an event that is older than this is outside of its lease.
                max_event_age=Duration.seconds(job_type.max_event_age.total_seconds()),
                is_in_a_circle=True,
                reserved_concurrent_executions=folder.reserved_concurrency,
                log_retention_days=folder.log_retention_days,
                code=handler_code(
                    self,
                    Path(folder.root, folder.path),
                    folder.requirements,
                    runtime=queue.runtime,
                    architecture=queue.architecture,
                ),
                layers=queue.layers,
            ),
        )
        self.function = self.lambda_.function
        self.code_name = _code_name(self.function, queue, folder)
        for permission in folder.permissions:
            for resource in (each for each in permission.resources if "*" in each or "?" in each):
                acknowledge_wildcard(self.lambda_.policy, resource, str(permission.reason))


def _code_name(function: lambda_.Function, queue: QueueContext, folder: JobFolder) -> str:
    """Names all that decides whether a handler can start: its code, the layers, its own variables."""
    resource = cast("lambda_.CfnFunction", function.node.default_child)
    code = cast("lambda_.CfnFunction.CodeProperty", resource.code)
    variables_of_its_own = {**queue.environment, **folder.environment}
    own = hashlib.sha256(json.dumps(variables_of_its_own, sort_keys=True).encode()).hexdigest()[:16]
    layers = (each.layer_version_arn for each in (*queue.system_layers, *queue.layers))
    return " ".join([str(code.s3_key), own, *layers])


def wakes_poller(job_type: JobType, queue: QueueContext) -> bool:
    """Whether an end may free a seat that somebody waits for: then it starts a poller, faster than the stream does."""
    return job_type.is_limited or queue.concurrency is not None or queue.concurrency_policy is not None


def _may_wake(poller: lambda_.IFunction) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid="WakePoller", actions=["lambda:InvokeFunction"], resources=[poller.function_arn])


def _statement(number: int, permission: Permission) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=f"Own{number}",
        actions=list(permission.actions),
        resources=[_filled_in(each) for each in permission.resources],
        conditions=dict(permission.conditions) or None,
    )


def _filled_in(resource: str) -> str:
    """Account and region are filled in by CloudFormation: they are not known where a job.toml is written."""
    known = {"${AWS::Partition}": Aws.PARTITION, "${AWS::Region}": Aws.REGION, "${AWS::AccountId}": Aws.ACCOUNT_ID}
    for placeholder, value in known.items():
        resource = resource.replace(placeholder, value)
    return resource
