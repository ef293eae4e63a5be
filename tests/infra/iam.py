"""Roles and their statements, and whether they allow a call: the part of IAM that Leasehold's policies use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.infra.cloudformation import Resolver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.infra.synthesised import Synthesised

CONDITIONS = {
    "ForAllValues:StringLike": [{"dynamodb:LeadingKeys"}],
    "Null": [{"dynamodb:LeadingKeys"}, {"dynamodb:LeadingKeys", "dynamodb:Attributes"}],
    "ForAllValues:StringNotEquals": [{"dynamodb:Attributes"}],
    "StringEquals": [{"dynamodb:EnclosingOperation"}],
}


@dataclass(frozen=True)
class Statement:
    sid: str
    effect: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Statement:
        """Raises KeyError where it says NotAction or NotResource, which no policy of ours may."""
        return cls(
            sid=document.get("Sid", ""),
            effect=document["Effect"],
            actions=tuple(sorted(_listed(document["Action"]))),
            resources=tuple(sorted(_listed(document["Resource"]))),
            conditions=document.get("Condition", {}),
        )

    def as_document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": self.effect,
            "Action": list(self.actions),
            "Resource": list(self.resources),
        }
        return {**document, "Condition": self.conditions} if self.conditions else document


@dataclass(frozen=True)
class Call:
    """One thing that IAM decides about. A call of DynamoDB may be several of them."""

    action: str
    resource: str
    leading_keys: tuple[str, ...] = ()
    # Those that an update names: its key, unless a test says more.
    attributes: tuple[str, ...] = ("PK", "SK")
    enclosed_by: str = ""


@dataclass(frozen=True)
class Role:
    """`name` is the function's, or the path of the construct for what is no function."""

    name: str
    trust: Mapping[str, Any]
    statements: tuple[Statement, ...]
    managed_policies: tuple[Any, ...]
    boundary: Any = None

    def allowing(self, call: Call) -> list[Statement]:
        return [each for each in self.statements if allows(each, call)]


def allows(statement: Statement, call: Call) -> bool:
    if statement.effect != "Allow":
        raise NotImplementedError(f"{statement.sid} denies: this evaluator knows policies that only allow")
    return (
        call.action in statement.actions
        and any(_is_like(call.resource, pattern) for pattern in statement.resources)
        and _conditions_hold(statement, call)
    )


def roles_of(stage: Synthesised) -> dict[str, Role]:
    """Every role of a stage by name, with the statements of every policy that is attached to it."""
    resolver = Resolver(stage)
    names = dict(_role_names(stage, resolver))
    return {names[logical]: _role(names[logical], logical, stage, resolver) for logical in names}


def _role(name: str, logical: str, stage: Synthesised, resolver: Resolver) -> Role:
    properties = stage.resources[logical]["Properties"]
    documents = [each["PolicyDocument"] for each in properties.get("Policies", [])]
    attached = [each["Properties"] for each in stage.of_type("AWS::IAM::Policy").values()]
    documents += [each["PolicyDocument"] for each in attached if {"Ref": logical} in each["Roles"]]
    statements = [Statement.of(resolver.resolve(each)) for document in documents for each in document["Statement"]]
    return Role(
        name=name,
        trust=resolver.resolve(properties["AssumeRolePolicyDocument"]),
        statements=tuple(statements),
        managed_policies=tuple(properties.get("ManagedPolicyArns", ())),
        boundary=properties.get("PermissionsBoundary"),
    )


def _role_names(stage: Synthesised, resolver: Resolver) -> Iterator[tuple[str, str]]:
    functions = {
        each["Properties"]["Role"]["Fn::GetAtt"][0]: each["Properties"]["FunctionName"]
        for each in stage.of_type("AWS::Lambda::Function").values()
    }
    # Those of a group share the group's role, which has a name of its own.
    schedules = {
        each["Properties"]["Target"]["RoleArn"]["Fn::GetAtt"][0]: each["Properties"]["Name"]
        for each in stage.of_type("AWS::Scheduler::Schedule").values()
        if "GroupName" not in each["Properties"]
    }
    for logical in stage.of_type("AWS::IAM::Role"):
        yield logical, resolver.resolve({**schedules, **functions}.get(logical, logical))


def _conditions_hold(statement: Statement, call: Call) -> bool:
    for operator, compared in statement.conditions.items():
        if set(compared) not in CONDITIONS.get(operator, []):
            raise NotImplementedError(f"{statement.sid}: this evaluator does not know {operator} of {sorted(compared)}")
        if operator == "Null":
            present = {"dynamodb:LeadingKeys": call.leading_keys, "dynamodb:Attributes": call.attributes}
            if any(bool(present[key]) != (wanted == "false") for key, wanted in compared.items()):
                return False
            continue
        if operator == "StringEquals":
            if call.enclosed_by != compared["dynamodb:EnclosingOperation"]:
                return False
            continue
        if operator == "ForAllValues:StringNotEquals":
            if set(call.attributes) & set(_listed(compared["dynamodb:Attributes"])):
                return False
            continue
        patterns = _listed(compared["dynamodb:LeadingKeys"])
        if not all(any(_is_like(key, pattern) for pattern in patterns) for key in call.leading_keys):
            return False
    return True


def _is_like(text: str, pattern: str) -> bool:
    """IAM's own wildcards: `*` for anything, `?` for one character, and nothing else is special."""
    parts = (".*" if each == "*" else "." if each == "?" else re.escape(each) for each in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
