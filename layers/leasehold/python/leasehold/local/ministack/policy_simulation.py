"""`iam:SimulateCustomPolicy` decides with the context that it is given, about every resource, as on AWS.

ministack's own answer looks at the first resource and at no context, so that no condition on a key is ever met.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from xml.sax.saxutils import escape


def install() -> None:
    iam: Any = import_module("ministack.services.iam")
    evaluator: Any = import_module("ministack.core.iam_evaluator")
    responses: Any = import_module("ministack.core.responses")

    def simulate(parameters: Any) -> Any:
        policies = [evaluator.parse_policy_document(each) for each in _members(iam, parameters, "PolicyInputList")]
        context = _context(iam, parameters)
        decided = "".join(
            _decision(evaluator, responses.get_account_id(), (action, resource), policies, context)
            for action in _members(iam, parameters, "ActionNames")
            for resource in _members(iam, parameters, "ResourceArns") or ["*"]
        )
        result = f"<EvaluationResults>{decided}</EvaluationResults><IsTruncated>false</IsTruncated>"
        wrapped = f"<SimulateCustomPolicyResult>{result}</SimulateCustomPolicyResult>"
        return iam._xml(200, "SimulateCustomPolicyResponse", wrapped, ns="iam")

    for name, own in list(vars(iam).items()):
        if isinstance(own, dict) and own.get("SimulateCustomPolicy") is iam._simulate_custom_policy:
            vars(iam)[name]["SimulateCustomPolicy"] = simulate
    iam._simulate_custom_policy = simulate


def _members(iam: Any, parameters: Any, name: str) -> list[str]:
    found: list[str] = []
    while value := iam._p(parameters, f"{name}.member.{len(found) + 1}"):
        found.append(value)
    return found


def _context(iam: Any, parameters: Any) -> dict[str, list[str]]:
    entries: dict[str, list[str]] = {}
    number = 1
    while key := iam._p(parameters, f"ContextEntries.member.{number}.ContextKeyName"):
        # The evaluator knows keys in lower case only.
        entries[key.lower()] = _members(iam, parameters, f"ContextEntries.member.{number}.ContextKeyValues")
        number += 1
    return entries


def _decision(evaluator: Any, account: str, asked_for: tuple[str, str], policies: Any, context: Any) -> str:
    action, resource = asked_for
    asked = evaluator.EvalContext(
        principal_arn=f"arn:aws:iam::{account}:root",
        principal_type="User",
        principal_account=account,
        action=action,
        resource_arn=resource,
        region="us-east-1",
        source_ip="127.0.0.1",
        secure_transport=True,
        service_context=context,
    )
    raw = evaluator.evaluate(asked, policies).decision
    decision = {"Allow": "allowed", "Deny": "explicitDeny"}.get(raw, "implicitDeny")
    return (
        f"<member><EvalActionName>{escape(action)}</EvalActionName>"
        f"<EvalResourceName>{escape(resource)}</EvalResourceName><EvalDecision>{decision}</EvalDecision>"
        "<MatchedStatements></MatchedStatements><MissingContextValues></MissingContextValues></member>"
    )
