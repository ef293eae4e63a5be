"""What CloudFormation would make of a value: names and ARNs in place of references, so that people can read them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables

if TYPE_CHECKING:
    from tests.infra.synthesised import Synthesised

ACCOUNT, REGION = "111122223333", "eu-central-1"
_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
# How the ARN of each type is made, and which property is its name.
_ARNS = {
    "AWS::CloudWatch::Alarm": ("cloudwatch", "alarm:", "AlarmName"),
    "AWS::DynamoDB::Table": ("dynamodb", "table/", "TableName"),
    "AWS::KMS::Key": ("kms", "key/", None),
    "AWS::Lambda::Function": ("lambda", "function:", "FunctionName"),
    "AWS::Logs::LogGroup": ("logs", "log-group:", "LogGroupName"),
    "AWS::S3::Bucket": ("s3", "", "BucketName"),
    "AWS::SNS::Topic": ("sns", "", "TopicName"),
    "AWS::SQS::Queue": ("sqs", "", "QueueName"),
    "AWS::Scheduler::ScheduleGroup": ("scheduler", "schedule-group/", "Name"),
    "AWS::IAM::Role": ("iam", "role/", "RoleName"),
}


# What CloudFormation would name a resource is not known before it does: here people's words stand for it, by the path
# of the construct.
_WORDS = {
    "AWS::DynamoDB::Table": ("TableName", {"/Jobs/Table/": "jobs", "/DeadLetters/Table/": "dead-letters"}),
    "AWS::SQS::Queue": (
        "QueueName",
        {
            "/Poller/Wake/": "undelivered-wakes",
            "/Reporter/Follow/": "undelivered-reports",
            "/LifecycleEvents/Follow/": "undelivered-events",
        },
    ),
    "AWS::SNS::Topic": ("TopicName", {"/Alerts/": "alerts"}),
    "AWS::Scheduler::ScheduleGroup": ("Name", {"/Schedules/": "schedules"}),
    "AWS::Lambda::LayerVersion": ("LayerName", {"/Code/": "code", "/Dependencies/": "dependencies"}),
    "AWS::Scheduler::Schedule": (
        "Name",
        {"/Tick/": "tick", "/Sweep/": "dead-letter-sweep", "/Daily/": "daily-audit-root"},
    ),
}


def with_names(template: dict[str, Any], environment: str) -> dict[str, Any]:
    """The template as if every resource that tests speak of were named `leasehold-<environment>-<what it is>`."""
    named = copy.deepcopy(template)
    for resource in named["Resources"].values():
        path, properties = resource.get("Metadata", {}).get("aws:cdk:path", ""), resource.setdefault("Properties", {})
        kind = resource["Type"]
        if kind == "AWS::Lambda::Function" and variables.FUNCTION in properties.get("Environment", {})["Variables"]:
            told = properties["Environment"]["Variables"]
            properties["FunctionName"] = f"leasehold-{environment}-{told[variables.FUNCTION]}"
        elif kind == "AWS::CloudWatch::Alarm":
            properties["AlarmName"] = f"leasehold-{environment}-{path.split('/Alarms/')[1].split('/')[0]}"
        elif kind in _WORDS:
            name, words = _WORDS[kind]
            found = [word for part, word in words.items() if part in path]
            if found:
                properties[name] = f"leasehold-{environment}-{found[0]}"
    return named


class Resolver:
    def __init__(self, stage: Synthesised) -> None:
        self._resources = stage.resources
        outputs = [*stage.data.get("Outputs", {}).values(), *stage.queue.get("Outputs", {}).values()]
        self._exports = {each["Export"]["Name"]: each["Value"] for each in outputs if "Export" in each}

    def resolve(self, value: Any) -> Any:
        """The value with all of its references filled in; raises KeyError on one that this does not know."""
        match value:
            case {"Ref": name}:
                return _PSEUDO[name] if name in _PSEUDO else self._reference(name)
            case {"Fn::GetAtt": [name, attribute]}:
                return self._attribute(name, attribute)
            case {"Fn::ImportValue": name}:
                return self.resolve(self._exports[name])
            case {"Fn::Join": [separator, services]}:
                return separator.join(self.resolve(part) for part in services)
            case dict():
                return {name: self.resolve(each) for name, each in value.items()}
            case list():
                return [self.resolve(each) for each in value]
            case _:
                return value

    def _reference(self, name: str) -> str:
        resource = self._resources[name]
        return self._arn(name) if resource["Type"] == "AWS::SNS::Topic" else self._physical_name(name)

    def _attribute(self, name: str, attribute: str) -> str:
        match attribute:
            case "Arn":
                return self._arn(name)
            case "StreamArn":
                return f"{self._arn(name)}/stream/2026-01-01T00:00:00.000"
            case "QueueName":
                return self._physical_name(name)
            case _:
                raise KeyError(f"{name}.{attribute}")

    def _arn(self, name: str) -> str:
        service, prefix, _ = _ARNS[self._resources[name]["Type"]]
        if service == "s3":
            return f"arn:aws:s3:::{self._physical_name(name)}"
        region = "" if service == "iam" else REGION
        return f"arn:aws:{service}:{region}:{ACCOUNT}:{prefix}{self._physical_name(name)}"

    def _physical_name(self, name: str) -> str:
        resource = self._resources[name]
        _, _, property_name = _ARNS[resource["Type"]]
        given = resource.get("Properties", {}).get(property_name) if property_name else None
        # CloudFormation makes a name from the logical one.
        return str(self.resolve(given)) if given else name
