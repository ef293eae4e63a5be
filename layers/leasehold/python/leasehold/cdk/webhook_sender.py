"""The webhook sender: a function of its own that can reach the internet, its own jobs, its keys, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.context import place_of, reading_statements
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.rights import sender_statements
from leasehold.webhooks.model import delivery_type

if TYPE_CHECKING:
    from leasehold.cdk.context import QueueContext, WebhookOptions


class WebhookSender(Construct):
    """It does not report to Sentry: what a receiver does wrong stands in the log of deliveries."""

    def __init__(self, scope: Construct, construct_id: str, *, queue: QueueContext, options: WebhookOptions) -> None:
        super().__init__(scope, construct_id)
        settings = delivery_type()
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="webhook-sender",
                description="Notifies receivers of webhooks how runs ended",
                timeout=Duration.seconds(settings.timeout.total_seconds()),
                memory_size=256,
                environment={**queue.system_environment, **_environment(options)},
                statements=[
                    *sender_statements(queue, queue.jobs, queue.dead_letters),
                    *reading_statements("ReadWebhookKeys", options.keys),
                    *queue.key_statements,
                ],
                max_event_age=Duration.seconds(settings.max_event_age.total_seconds()),
                reserved_concurrent_executions=options.concurrency,
            ),
        )
        self.function = self.lambda_.function


def _environment(options: WebhookOptions) -> dict[str, str]:
    environment = place_of(options.keys, variables.WEBHOOK_KEYS_SECRET, variables.WEBHOOK_KEYS_PARAMETER)
    if options.ports != (443,):
        environment[variables.WEBHOOK_PORTS] = ",".join(map(str, options.ports))
    return environment
