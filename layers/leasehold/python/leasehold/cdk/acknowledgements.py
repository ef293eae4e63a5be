"""Findings of cdk-nag that stand, each with its reason; whatever is not listed here fails the gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Acknowledgment, Stack, Validations

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_logs as logs
    from constructs import IConstruct


@dataclass(frozen=True, slots=True)
class Finding:
    """id: as cdk-nag prints it after "Acknowledge with"."""

    id: str
    reason: str


_RUNTIME = (
    "Python 3.13 is the newest runtime that the library is tested with: it can be run on the machines that test it, "
    "3.14 cannot. 3.13 is supported by Lambda."
)
OLDER_RUNTIME = (
    Finding("AwsSolutions::AwsSolutions-L1", _RUNTIME),
    Finding("Serverless::Serverless-LambdaLatestVersion", _RUNTIME),
)
_NO_EVENT_IS_KEPT = (
    "An event that is lost or failed is made up for by the table: a job's lease expires and it is handed over again, "
    "the next tick polls, the next sweep reports, CloudFormation is answered or times out. A kept event is one whose "
    "lease is gone: whoever ran it later would be refused."
)
NO_EVENT_QUEUE = (Finding("Serverless::Serverless-LambdaDLQ", _NO_EVENT_IS_KEPT),)
NO_EVENT_DESTINATION = (Finding("Serverless::Serverless-LambdaAsyncFailureDestination", _NO_EVENT_IS_KEPT),)
NO_XRAY = (
    Finding(
        "Serverless::Serverless-LambdaTracing",
        "A job's life spans days and several functions, which an X-Ray trace does not: the trace context travels with "
        "the job into every log line instead. X-Ray would also need a right on `*`.",
    ),
)
_LAST_QUEUE = (
    "This queue is itself where stream records go that could not be handled. Nothing consumes it, so nothing can fail "
    "to; an operator reads it."
)
LAST_QUEUE = (
    Finding("AwsSolutions::AwsSolutions-SQS3", _LAST_QUEUE),
    Finding("Serverless::Serverless-SQSRedrivePolicy", _LAST_QUEUE),
)
ROOTS_BUCKET = (
    Finding(
        "AwsSolutions::AwsSolutions-S1",
        "An object a day, put by one function and read by auditors: CloudTrail's data events tell who read it, and "
        "versions and the object lock that nobody changed it.",
    ),
)
NETWORK_INTERFACES = (
    Finding(
        "AwsSolutions::AwsSolutions-IAM5[Resource::*]",
        "Lambda makes and removes network interfaces with the function's own role, in a VPC that you name; AWS takes "
        "`*` only for describing them, and an interface has no ARN before it is made.",
    ),
)
STREAM_LISTING = (
    Finding(
        "AwsSolutions::AwsSolutions-IAM5[Resource::*]",
        "dynamodb:ListStreams, which Lambda's event source mapping needs, names no resource: AWS takes `*` only.",
    ),
)


def acknowledge(construct: IConstruct, *findings: Finding) -> None:
    Validations.of(construct).acknowledge(*(Acknowledgment(id=each.id, reason=each.reason) for each in findings))


def acknowledge_log_streams(policy: iam.Policy, log_group: logs.LogGroup) -> None:
    """Log streams are named by Lambda at run time: all streams of the function's own group is as narrow as it gets."""
    resource = log_group.node.default_child
    name = Stack.of(policy).get_logical_id(resource)  # type: ignore[arg-type]
    acknowledge(
        policy,
        Finding(
            f"AwsSolutions::AwsSolutions-IAM5[Resource::<{name}.Arn>:*]",
            "Log streams are named by Lambda at run time; these are those of the function's own group, and no others.",
        ),
    )


def acknowledge_wildcard(policy: iam.Policy, resource: str, reason: str) -> None:
    """A wildcard that a job.toml asks for, with the reason that stands there."""
    shown = resource.replace("${", "<").replace("}", ">")
    acknowledge(policy, Finding(f"AwsSolutions::AwsSolutions-IAM5[Resource::{shown}]", reason))
