"""The direct runner: does the direct runs that the API accepts, which may take longer than a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from infra.api_rights import direct_runner_statements
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from leasehold.domain.direct_request import BEGINS_WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.job_function import JobFunction
    from infra.stages import Stage


class DirectRunner(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        handlers: Sequence[JobFunction],
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        types = [handler.folder.job_type for handler in handlers]
        functions = [handler.function for handler in handlers]
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="direct-runner",
                description="Runs handlers for callers of the API, without a job",
                folder=FUNCTIONS / "direct_runner",
                # As long as a function can: it waits for its turn, and for the handler.
                timeout=Duration.minutes(15),
                memory_size=256,
                environment=environment,
                statements=[*direct_runner_statements(types, jobs, functions), *key_statements],
                max_event_age=Duration.seconds(BEGINS_WITHIN.total_seconds()),
                key=key,
            ),
        )
        self.function = self.lambda_.function
