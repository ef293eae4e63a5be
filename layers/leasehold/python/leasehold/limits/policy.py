"""A policy of the user's own, by the name that the deployment gives it: `module:function`.

The function is asked which limits jobs of a type and a key count against. Its own scopes begin with `own:`, so that a
role can be narrowed to them; the limits of the settings may be among the answers, as they are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidKeyError, InvalidOptionError
from leasehold.kernel.type_options import DELIVERY, parse_key
from leasehold.lean import dataclass
from leasehold.limits.model import OWN_SCOPE, DeployedLimits, Limit
from leasehold.limits.settings import check_seats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry

_FIX = 'Set concurrency_policy = "module:function" to a function of the deployed policy folder.'


def load_policy(name: str) -> FunctionPolicy:
    """The policy that `module:function` names; it must be importable here."""
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise InvalidOptionError(name, "a concurrency policy is named module:function", _FIX)
    try:
        function = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise InvalidOptionError(name, f"this concurrency policy cannot be loaded: {error}", _FIX) from error
    if not callable(function):
        raise InvalidOptionError(name, f"this concurrency policy is a {type(function).__name__}, not a function", _FIX)
    return FunctionPolicy(function, name)


@dataclass(frozen=True, slots=True)
class FunctionPolicy:
    """A ConcurrencyPolicy whose answers are checked: a limit that cannot be kept is refused before it holds a job."""

    function: Callable[[JobType, str | None, Registry], Iterable[Limit]]
    name: str

    def limits_of(self, job_type: JobType, concurrency_key: str | None, registry: Registry) -> tuple[Limit, ...]:
        deployed = DeployedLimits().limits_of(job_type, concurrency_key, registry)
        if job_type.name == DELIVERY:
            return deployed  # the system's own jobs are not the user's to hold back
        limits = tuple(self.function(job_type, concurrency_key, registry))
        for limit in limits:
            if limit not in deployed:
                self._check(limit)
        return limits

    def _check(self, limit: object) -> None:
        if not isinstance(limit, Limit):
            problem = f"{self.name} answered with a {type(limit).__name__}"
            raise InvalidOptionError(limit, problem, "Return leasehold.Limit objects.")
        if not limit.scope.startswith(OWN_SCOPE):
            problem = f"{self.name} answered with a scope that is neither its own nor in the settings"
            fix = f'Let its scopes begin with "{OWN_SCOPE}", or return limits of leasehold.DeployedLimits as they are.'
            raise InvalidOptionError(limit.scope, problem, fix)
        try:
            parse_key(limit.scope, "scope")
        except InvalidKeyError as error:
            raise InvalidOptionError(limit.scope, f"{self.name}: {error}", "Leave out '#', and shorten it.") from None
        check_seats(limit.seats, f"{self.name}: the number of seats of {limit.scope}")
