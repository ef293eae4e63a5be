"""`iam:SimulateCustomPolicy` decides with the context that it is given, as on AWS.

ministack's own answer looks at no context, so that no condition on a key is ever met.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The context of a request, from where its parameters are read to where it is decided.
_given: ContextVar[dict[str, list[str]]] = ContextVar("given", default={})  # noqa: B039  nobody writes into it


def install() -> None:
    iam: Any = import_module("ministack.services.iam")
    evaluator: Any = import_module("ministack.core.iam_evaluator")
    for action in ("SimulateCustomPolicy", "SimulatePrincipalPolicy"):
        iam._IAM_HANDLERS[action] = partial(_simulating, iam, iam._IAM_HANDLERS[action])
    evaluator.evaluate = partial(_evaluating, evaluator.evaluate)


def _simulating(iam: Any, simulate: Callable[..., Any], parameters: Any) -> Any:
    token = _given.set(_context(iam, parameters))
    try:
        return simulate(parameters)
    finally:
        _given.reset(token)


def _evaluating(evaluate: Callable[..., Any], asked: Any, *policies: Any, **options: Any) -> Any:
    asked.service_context |= _given.get()
    return evaluate(asked, *policies, **options)


def _context(iam: Any, parameters: Any) -> dict[str, list[str]]:
    """By key in lower case: the evaluator knows no others."""
    names = [each for each in parameters if each.startswith("ContextEntries.") and each.endswith(".ContextKeyName")]
    return {
        iam._p(parameters, name).lower(): [
            iam._p(parameters, each) for each in parameters if each.startswith(f"{name.removesuffix('Name')}Values.")
        ]
        for name in names
    }
