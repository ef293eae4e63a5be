"""What CloudFormation would make of a value: names and ARNs in place of references, so that people can read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    "AWS::IAM::Role": ("iam", "role/", "RoleName"),
}


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
            case {"Fn::Join": [separator, parts]}:
                return separator.join(self.resolve(part) for part in parts)
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
