"""`iam:SimulateCustomPolicy` decides with the context that it is given, as on AWS.

ministack's own answer looks at no context, so that no condition on a key is ever met.
"""

from __future__ import annotations

from contextvars import ContextVar
from importlib import import_module
from typing import Any

# The context of a request, from where its parameters are read to where it is decided.
_given: ContextVar[dict[str, list[str]]] = ContextVar("given", default={})  # noqa: B039  nobody writes into it


def install() -> None:
    iam: Any = import_module("ministack.services.iam")
    evaluator: Any = import_module("ministack.core.iam_evaluator")
    simulate, evaluate = iam._simulate_custom_policy, evaluator.evaluate

    def simulating(parameters: Any) -> Any:
        token = _given.set(_context(iam, parameters))
        try:
            return simulate(parameters)
        finally:
            _given.reset(token)

    def evaluating(asked: Any, *policies: Any, **options: Any) -> Any:
        asked.service_context |= _given.get()
        return evaluate(asked, *policies, **options)

    iam._IAM_HANDLERS["SimulateCustomPolicy"], evaluator.evaluate = simulating, evaluating


def _context(iam: Any, parameters: Any) -> dict[str, list[str]]:
    """By key in lower case: the evaluator knows no others."""
    names = [each for each in parameters if each.startswith("ContextEntries.") and each.endswith(".ContextKeyName")]
    return {
        iam._p(parameters, name).lower(): [
            iam._p(parameters, each) for each in parameters if each.startswith(f"{name.removesuffix('Name')}Values.")
        ]
        for name in names
    }
