"""The webhook sender: a function of its own that can reach the internet, its own jobs, its keys, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.rights import sender_statements
from infra.stored_text import reading_statements
from leasehold.domain.webhook_delivery import delivery_type
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.stages import Stage


class WebhookSender(Construct):
    """`environment` is without Sentry's: what a receiver does wrong is told by the log of deliveries."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        settings = delivery_type()
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="webhook-sender",
                description="Tells receivers of webhooks how runs ended",
                folder=FUNCTIONS / "webhook_sender",
                timeout=Duration.seconds(settings.timeout.total_seconds()),
                memory_size=256,
                environment={**environment, **_environment(stage)},
                statements=[
                    *sender_statements(stage, jobs, dead_letters),
                    *reading_statements(
                        self,
                        "ReadWebhookKeys",
                        secret=stage.webhook_keys_secret,
                        parameter=stage.webhook_keys_parameter,
                    ),
                    *key_statements,
                ],
                max_event_age=Duration.seconds(settings.max_event_age.total_seconds()),
                reserved_concurrent_executions=stage.webhook_concurrency,
                key=key,
            ),
        )
        self.function = self.lambda_.function


def _environment(stage: Stage) -> dict[str, str]:
    environment = {}
    if stage.webhook_keys_secret is not None:
        environment[variables.WEBHOOK_KEYS_SECRET] = stage.webhook_keys_secret
    if stage.webhook_keys_parameter is not None:
        environment[variables.WEBHOOK_KEYS_PARAMETER] = stage.webhook_keys_parameter
    if stage.webhook_ports != (443,):
        environment[variables.WEBHOOK_PORTS] = ",".join(map(str, stage.webhook_ports))
    return environment
