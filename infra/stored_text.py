"""The right to read one text that is kept outside of the stacks: a secret, or a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

if TYPE_CHECKING:
    from constructs import Construct


def reading_statements(
    scope: Construct, sid: str, *, secret: str | None, parameter: str | None
) -> list[iam.PolicyStatement]:
    stack = Stack.of(scope)
    statements = []
    if secret is not None:
        # Secrets Manager appends six characters of its own to every secret's name.
        arn = stack.format_arn(
            service="secretsmanager",
            resource="secret",
            resource_name=f"{secret}-??????",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        statements.append(iam.PolicyStatement(sid=sid, actions=["secretsmanager:GetSecretValue"], resources=[arn]))
    if parameter is not None:
        arn = stack.format_arn(service="ssm", resource="parameter", resource_name=parameter.removeprefix("/"))
        statements.append(iam.PolicyStatement(sid=f"{sid}Parameter", actions=["ssm:GetParameter"], resources=[arn]))
    return statements
