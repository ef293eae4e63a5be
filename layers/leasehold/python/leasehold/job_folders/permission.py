"""What a handler's role may do beyond its own job: `[[permissions]]`, one IAM statement each."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from leasehold.job_folders.toml import Unfit, meant, text
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.job_folders.toml import Section

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

type Conditions = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """One statement that allows. Resources may hold `${environment_name}`, `${AWS::Partition}`, `${AWS::Region}` and
    `${AWS::AccountId}`.

    reason: why a resource has a wildcard; required where one has.
    """

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: Conditions = field(default_factory=dict)
    reason: str | None = None

    def with_filled_in(self, placeholder: str, value: str) -> Permission:
        return replace(
            self,
            resources=tuple(each.replace(placeholder, value) for each in self.resources),
            conditions={
                operator: {
                    key: tuple(each.replace(placeholder, value) for each in given) for key, given in keys.items()
                }
                for operator, keys in self.conditions.items()
            },
        )


def read_permission(statement: Section) -> Permission:
    reason = statement.read("reason", text, None)
    is_explained = statement.has("reason")
    permission = Permission(
        actions=statement.read_each("actions", _action, required="a permission names its actions"),
        resources=statement.read_each(
            "resources",
            lambda value: _resource(value, is_explained=is_explained),
            required="a permission names its resources",
        ),
        conditions=_read_conditions(statement.section("conditions")),
        reason=reason,
    )
    statement.close("[[permissions]]")
    return permission


def _action(value: object) -> str:
    action = text(value)
    if "*" in action or "?" in action:
        raise Unfit("an action has no wildcard", "List each action that the handler calls.")
    if not _ACTION.fullmatch(action):
        raise Unfit("an action is written service:Action", "Use a name like s3:PutObject.")
    return action


def _resource(value: object, *, is_explained: bool) -> str:
    resource = text(value)
    for name in _PLACEHOLDER.findall(resource):
        if name not in _PLACEHOLDERS:
            raise Unfit(f"nothing fills in ${{{name}}}", meant(name, _PLACEHOLDERS, "What is filled in:"))
    if resource != "*" and not _ARN.fullmatch(_PLACEHOLDER.sub("x", resource)):
        raise Unfit(
            "a resource is an ARN", "Write it in full, e.g. arn:${AWS::Partition}:s3:::my-bucket/reports/today.json."
        )
    if not is_explained and ("*" in resource or "?" in resource):
        raise Unfit(
            "a wildcard resource needs a reason", 'Name the resource, or add reason = "…" for whoever reviews the role.'
        )
    return resource


def _read_conditions(conditions: Section) -> Conditions:
    return {name: _read_operator(conditions, name) for name in conditions.names()}


def _read_operator(conditions: Section, name: str) -> dict[str, tuple[str, ...]]:
    plain = _QUALIFIER.sub("", _QUALIFIER.sub("", name))
    if plain not in _OPERATORS:
        conditions.note(name, "IAM has no such condition operator", meant(plain, _OPERATORS, "IAM's operators:"))
    operator = conditions.section(name)
    return {key: operator.read(key, _condition_values, ()) for key in operator.names()}


def _condition_values(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str) for each in values):
        raise Unfit("a condition compares with text", 'Use "…" or ["…", "…"]; for Bool and Null "true" or "false".')
    return tuple(values)
