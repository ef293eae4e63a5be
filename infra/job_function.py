"""One handler function per job type, from its folder: adding the folder is all it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration, Fn
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.function import FunctionProps, LeaseholdFunction
from infra.handler_code import handler_code
from infra.paths import ROOT
from infra.rights import handler_statements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb

    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder
    from leasehold.settings.permission import Permission


class JobFunction(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        folder: JobFolder,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.folder = folder
        job_type = folder.job_type
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name=function_name(folder.name),
                description=f"Handles {folder.name} jobs",
                folder=ROOT / folder.path,
                timeout=Duration.seconds(job_type.timeout.total_seconds()),
                memory_size=folder.memory_mb,
                environment={**environment, **folder.environment},
                statements=[
                    *handler_statements(jobs, dead_letters),
                    *(_statement(number, each) for number, each in enumerate(folder.permissions)),
                    *key_statements,
                ],
                reserved_concurrent_executions=folder.reserved_concurrency,
                log_retention_days=folder.log_retention_days,
                code=handler_code(folder, stage),
            ),
        )
        self.function = self.lambda_.function
        # Leasehold retries by itself; an event that is older than the lease allows would only be refused.
        lambda_.EventInvokeConfig(
            self,
            "Async",
            function=self.function,
            retry_attempts=0,
            max_event_age=Duration.seconds(job_type.max_event_age.total_seconds()),
        )


def function_name(job_type: str) -> str:
    return f"job-{job_type}"


def _statement(number: int, permission: Permission) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=f"Own{number}",
        actions=list(permission.actions),
        # Account and region are filled in by CloudFormation: they are not known where a job.toml is written.
        resources=[Fn.sub(each) if "${" in each else each for each in permission.resources],
        conditions=dict(permission.conditions) or None,
    )
