"""The HTTP API: a gateway that knows its callers, in front of one function that decides what they may do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Duration, RemovalPolicy
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.api_rights import api_statements
from infra.direct_runner import DirectRunner
from infra.function import FunctionProps, LeaseholdFunction
from infra.paths import FUNCTIONS
from infra.retention import retention_of
from leasehold.settings import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.api_settings import ApiSettings
    from infra.job_function import JobFunction
    from infra.stages import Stage

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
    """`environment` is without Sentry's: what goes wrong stands in the log, and callers are told."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        settings: ApiSettings,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        handlers: Sequence[JobFunction],
        key: kms.IKey | None,
        key_statements: Sequence[iam.PolicyStatement] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        runner = DirectRunner(
            self,
            "DirectRunner",
            stage=stage,
            layers=layers,
            environment=environment,
            jobs=jobs,
            handlers=handlers,
            key=key,
            key_statements=key_statements,
        )
        may_start = iam.PolicyStatement(
            sid="StartDirectRuns", actions=["lambda:InvokeFunction"], resources=[runner.function.function_arn]
        )
        self.lambda_ = LeaseholdFunction(
            self,
            "Lambda",
            stage=stage,
            layers=layers,
            props=FunctionProps(
                name="api",
                description="Answers the HTTP API",
                folder=FUNCTIONS / "api",
                timeout=TIMEOUT,
                memory_size=512,
                environment={
                    **environment,
                    variables.API_ACCESS: settings.access.to_text(),
                    variables.DIRECT_RUNNER: runner.function.function_name,
                },
                statements=[
                    *api_statements(jobs, dead_letters, ended_index=stage.ended_index),
                    may_start,
                    *key_statements,
                ],
                # It is called and waited for; nothing sends it events.
                max_event_age=Duration.seconds(60),
                key=key,
            ),
        )
        self.function = self.lambda_.function
        self._open_gateway(stage, settings, key)

    def _open_gateway(self, stage: Stage, settings: ApiSettings, key: kms.IKey | None) -> None:
        self.api = gateway.HttpApi(
            self,
            "Gateway",
            api_name=stage.named("api"),
            description=f"Leasehold {stage.name}: jobs, dead letters, schedules, control",
            create_default_stage=False,
        )
        authorizer = _authorizer(settings)
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
            log_group_name=None if stage.keeps_data else f"/leasehold/{stage.name}/api-access",
            retention=retention_of(stage.log_retention_days),
            encryption_key=key,
            removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
        )
        deployed = gateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=gateway.ThrottleSettings(rate_limit=settings.rate_limit, burst_limit=settings.burst_limit),
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


def _authorizer(settings: ApiSettings) -> gateway.IHttpRouteAuthorizer:
    jwt = settings.access.jwt
    if jwt is None:
        return authorizers.HttpIamAuthorizer()
    return authorizers.HttpJwtAuthorizer("Jwt", jwt.issuer, jwt_audience=list(jwt.audience))
