"""What a handler's role may do beyond its own job: `[[permissions]]`, one IAM statement each."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo

from leasehold.job_folders.toml import Listed, Table, Text, meant, text
from leasehold.kernel.errors import InvalidOptionError

_ACTION = re.compile(r"[a-z0-9-]+:[A-Za-z0-9]+")
_ARN = re.compile(r"arn:[^:\s]+:[a-z0-9-]+:[^:\s]*:[^:\s]*:\S+")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
# CloudFormation fills these in: an account or region is not known where a job.toml is written.
_PLACEHOLDERS = ["AWS::AccountId", "AWS::Partition", "AWS::Region", "environment_name"]
_OPERATORS = [
    *(f"String{how}" for how in ("Equals", "NotEquals", "EqualsIgnoreCase", "NotEqualsIgnoreCase", "Like", "NotLike")),
    *(f"Arn{how}" for how in ("Equals", "NotEquals", "Like", "NotLike")),
    *(
        f"{kind}{how}"
        for kind in ("Numeric", "Date")
        for how in ("Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals")
    ),
    *("Bool", "BinaryEquals", "IpAddress", "NotIpAddress", "Null"),
]
_QUALIFIER = re.compile(r"^(ForAllValues:|ForAnyValue:)|IfExists$")


def _action(value: object) -> str:
    action = text(value)
    if "*" in action or "?" in action:
        raise InvalidOptionError(value, "an action has no wildcard", "List each action that the handler calls.")
    if not _ACTION.fullmatch(action):
        raise InvalidOptionError(value, "an action is written service:Action", "Use a name like s3:PutObject.")
    return action


def _resource(value: object, info: ValidationInfo) -> str:
    resource = text(value)
    for name in _PLACEHOLDER.findall(resource):
        if name not in _PLACEHOLDERS:
            raise InvalidOptionError(
                value, f"nothing fills in ${{{name}}}", meant(name, _PLACEHOLDERS, "What is filled in:")
            )
    if resource != "*" and not _ARN.fullmatch(_PLACEHOLDER.sub("x", resource)):
        raise InvalidOptionError(
            value,
            "a resource is an ARN",
            "Write it in full, e.g. arn:${AWS::Partition}:s3:::my-bucket/reports/today.json.",
        )
    # A reason that does not fit is told by itself.
    if ("*" in resource or "?" in resource) and info.data.get("reason", "") is None:
        raise InvalidOptionError(
            value,
            "a wildcard resource needs a reason",
            'Name the resource, or add reason = "…" for whoever reviews the role.',
        )
    return resource


def _operator(name: str) -> str:
    plain = _QUALIFIER.sub("", _QUALIFIER.sub("", name))
    if plain not in _OPERATORS:
        raise InvalidOptionError(
            name, "IAM has no such condition operator", meant(plain, _OPERATORS, "IAM's operators:")
        )
    return name


def _condition_values(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(each, str) for each in values):
        raise InvalidOptionError(
            value, "a condition compares with text", 'Use "…" or ["…", "…"]; for Bool and Null "true" or "false".'
        )
    return tuple(values)


type _Values = Annotated[tuple[str, ...], PlainValidator(_condition_values)]


class Permission(Table):
    """One statement that allows. Resources may hold `${environment_name}`, `${AWS::Partition}`, `${AWS::Region}` and
    `${AWS::AccountId}`.

    reason: why a resource has a wildcard; required where one has.
    """

    called: ClassVar = "[[permissions]]"

    reason: Text | None = None
    actions: Listed[Annotated[str, PlainValidator(_action)]] = Field(
        min_length=1, description="a permission names its actions", examples=['["…"]']
    )
    resources: Listed[Annotated[str, PlainValidator(_resource)]] = Field(
        min_length=1, description="a permission names its resources", examples=['["…"]']
    )
    conditions: dict[Annotated[str, AfterValidator(_operator)], dict[str, _Values]] = Field(default_factory=dict)

    def with_filled_in(self, placeholder: str, value: str) -> Permission:
        def filled(given: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(each.replace(placeholder, value) for each in given)

        conditions = {
            operator: {key: filled(given) for key, given in keys.items()} for operator, keys in self.conditions.items()
        }
        return self.model_copy(update={"resources": filled(self.resources), "conditions": conditions})
