"""One handler function per job type, from its folder: adding the folder is all it takes."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, cast

from aws_cdk import ArnFormat, Aws, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import acknowledge_wildcard
from infra.function import FunctionProps, LeaseholdFunction
from infra.handler_code import handler_code
from infra.rights import handler_statements
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage
    from leasehold.domain.job_type import JobType
    from leasehold.settings.job_toml import JobFolder
    from leasehold.settings.permission import Permission


class JobFunction(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        root: Path,
        folder: JobFolder,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.folder = folder
        job_type = folder.job_type
        wakes = wakes_poller(job_type, stage)
        poller = {variables.POLLER_FUNCTION: stage.named("poller")} if wakes else {}
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name=function_name(folder.name),
                description=f"Handles {folder.name} jobs",
                folder=root / folder.path,
                timeout=Duration.seconds(job_type.function_timeout.total_seconds()),
                memory_size=folder.memory_mb,
                # The entry is ours, and imports the handler: one that cannot be imported is seen on its jobs.
                handler="leasehold.runtime.entry.lambda_handler",
                environment={
                    **environment,
                    **poller,
                    **folder.environment,
                    variables.HANDLER: f"{folder.path.replace('/', '.')}.handler",
                },
                statements=[
                    *handler_statements(job_type, stage, jobs, dead_letters),
                    *([_may_wake(self, stage)] if wakes else []),
                    *(_statement(number, each) for number, each in enumerate(folder.permissions)),
                    *key_statements,
                ],
                # Leasehold retries by itself; an event that is older than this is outside of its lease.
                max_event_age=Duration.seconds(job_type.max_event_age.total_seconds()),
                reserved_concurrent_executions=folder.reserved_concurrency,
                log_retention_days=folder.log_retention_days,
                code=handler_code(root, folder, stage),
                key=key,
            ),
        )
        self.function = self.lambda_.function
        self.code_name = _code_name(self.function, layers, folder)
        for permission in folder.permissions:
            for resource in (each for each in permission.resources if "*" in each or "?" in each):
                acknowledge_wildcard(self.lambda_.policy, resource, str(permission.reason))


def _code_name(function: lambda_.Function, layers: Sequence[lambda_.ILayerVersion], folder: JobFolder) -> str:
    """Names all that decides whether a handler can start: its code, the layers, its own variables."""
    resource = cast("lambda_.CfnFunction", function.node.default_child)
    code = cast("lambda_.CfnFunction.CodeProperty", resource.code)
    own = hashlib.sha256(json.dumps(dict(folder.environment), sort_keys=True).encode()).hexdigest()[:16]
    return " ".join([str(code.s3_key), own, *(each.layer_version_arn for each in layers)])


def wakes_poller(job_type: JobType, stage: Stage) -> bool:
    """Whether an end may free a seat that somebody waits for: then it starts a poller, faster than the stream does."""
    return job_type.is_limited or stage.concurrency is not None or stage.concurrency_policy is not None


def _may_wake(scope: Construct, stage: Stage) -> iam.PolicyStatement:
    poller = Stack.of(scope).format_arn(
        service="lambda",
        resource="function",
        resource_name=stage.named("poller"),
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return iam.PolicyStatement(sid="WakePoller", actions=["lambda:InvokeFunction"], resources=[poller])


def function_name(job_type: str) -> str:
    return f"job-{job_type}"


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
