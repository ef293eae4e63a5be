"""The HTTP API: a gateway that knows its callers, in front of one function that decides what they may do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Duration
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.api_rights import api_statements, direct_runner_statements, take_seats
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.direct_runs.model import BEGINS_WITHIN
from leasehold.kernel.partitions import scope_partition
from leasehold.kernel.type_options import type_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.cdk.context import ApiOptions, QueueContext
    from leasehold.cdk.handlers import JobHandler

# The gateway gives up after 30 s whatever is set.
TIMEOUT = Duration.seconds(29)
# Who called what, and how it ended. No query and no body: these hold keys, payloads and cursors.
ACCESS_LOG = {
    "request_id": "$context.requestId",
    "at": "$context.requestTime",
    "ip": "$context.identity.sourceIp",
    "arn": "$context.identity.userArn",
    "subject": "$context.authorizer.claims.sub",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "error": "$context.error.message",
    "milliseconds": "$context.responseLatency",
}


# What stops everything must get through however many others call: these routes have a throttle of their own.
_SWITCHES = ("/api/control/halt", "/api/control/resume")
_SWITCH_RATE, _SWITCH_BURST = 5, 10


class Api(Construct):
    """It does not report to Sentry: what goes wrong stands in the log, and callers get an answer."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        options: ApiOptions,
        handlers: Sequence[JobHandler],
    ) -> None:
        super().__init__(scope, construct_id)
        runner = DirectRunner(self, "DirectRunner", queue=queue, handlers=handlers)
        may_start = iam.PolicyStatement(
            sid="StartDirectRuns", actions=["lambda:InvokeFunction"], resources=[runner.function.function_arn]
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="api",
                description="Answers the HTTP API",
                timeout=TIMEOUT,
                memory_size=512,
                environment={
                    **queue.system_environment,
                    variables.API_ACCESS: options.access.to_text(),
                    variables.DIRECT_RUNNER: runner.function.function_name,
                },
                statements=[
                    *api_statements(queue.jobs, queue.dead_letters, ended_index=queue.ended_index),
                    may_start,
                    *queue.key_statements,
                ],
                # It is called and waited for; nothing sends it events.
                max_event_age=Duration.seconds(60),
            ),
        )
        self.function = self.lambda_.function
        self._open_gateway(queue, options)

    def _open_gateway(self, queue: QueueContext, options: ApiOptions) -> None:
        self.api = gateway.HttpApi(
            self,
            "Gateway",
            api_name=queue.queue_name,
            description=f"Leasehold {queue.queue_name}: jobs, dead letters, schedules, control",
            create_default_stage=False,
        )
        authorizer = _authorizer(options)
        integration = integrations.HttpLambdaIntegration("Function", self.function, timeout=TIMEOUT)
        self.api.add_routes(
            path="/api/{proxy+}", methods=[gateway.HttpMethod.ANY], authorizer=authorizer, integration=integration
        )
        switches = [
            route
            for path in _SWITCHES
            for route in self.api.add_routes(
                path=path, methods=[gateway.HttpMethod.POST], authorizer=authorizer, integration=integration
            )
        ]
        access_log = logs.LogGroup(
            self,
            "AccessLog",
            retention=queue.log_retention,
            encryption_key=queue.key,
            removal_policy=queue.removal_policy,
        )
        deployed = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=options.rate_limit, burst_limit=options.burst_limit),
        )
        made = deployed.node.default_child
        assert isinstance(made, gateway.CfnStage)
        made.access_log_settings = gateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=access_log.log_group_arn, format=json.dumps(ACCESS_LOG)
        )
        throttle = {"ThrottlingRateLimit": _SWITCH_RATE, "ThrottlingBurstLimit": _SWITCH_BURST}
        made.route_settings = {f"POST {path}": throttle for path in _SWITCHES}
        deployed.node.add_dependency(*switches)
        CfnOutput(self, "Endpoint", value=self.api.api_endpoint)


def _authorizer(options: ApiOptions) -> gateway.IHttpRouteAuthorizer:
    jwt = options.access.jwt
    if jwt is None:
        return authorizers.HttpIamAuthorizer()
    return authorizers.HttpJwtAuthorizer("Jwt", jwt.issuer, jwt_audience=list(jwt.audience))


class DirectRunner(Construct):
    """Does the direct runs that the API accepts, which may take longer than a request."""

    def __init__(
        self, scope: Construct, construct_id: str, *, queue: QueueContext, handlers: Sequence[JobHandler]
    ) -> None:
        super().__init__(scope, construct_id)
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name="direct-runner",
                description="Runs handlers for callers of the API, without a job",
                # As long as a function can: it waits for its turn, and for the handler.
                timeout=Duration.minutes(15),
                memory_size=256,
                environment=queue.system_environment,
                statements=[*direct_runner_statements(queue.jobs), *queue.key_statements],
                max_event_age=Duration.seconds(BEGINS_WITHIN.total_seconds()),
            ),
        )
        self.function = self.lambda_.function
        scopes = [scope_partition(type_scope(each.folder.job_type.name)) for each in handlers]
        self.lambda_.allow_for_each("TakeSeats", scopes, lambda some: take_seats(some, queue.jobs))
        self.lambda_.allow_invoking("Call", [each.function.function_arn for each in handlers])
