"""Find and import the handler of a job folder, under the name that it has in its project."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from leasehold.aws.names import BESIDE
from leasehold.kernel.errors import LeaseholdError
from leasehold.runtime.handler import BaseJobHandler, handler_of

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from leasehold.runtime.handler import Handler


class HandlerStartError(LeaseholdError, code="handler_cannot_start"):
    """A deployment repairs it: the job is tried again until then, as often as it may be."""


def load_handler(name: str, folder: Path) -> type[BaseJobHandler]:
    """Import the module `name`, e.g. functions.jobs.backup.handler, whose package's files lie in `folder`.

    In a deployed function the folder is all there is of the project. Under its full name a module imports its
    neighbours as tests and web applications do: `from functions.jobs.backup.payload import Backup`.
    """
    package, _, _ = name.rpartition(".")
    if package:
        _place(package, folder)
    return find_handler(import_module(name))


def find_handler(module: ModuleType) -> type[BaseJobHandler]:
    """The only handler of a module: what it defines goes before what it imports."""
    found = [each for each in vars(module).values() if _is_handler(each)]
    own = [each for each in found if each.__module__ == module.__name__] or found
    handlers = {handler_of(each) for each in own}
    last = [each for each in handlers if not any(other is not each and issubclass(other, each) for other in handlers)]
    if len(last) != 1:
        found_names = ", ".join(sorted(each.__name__ for each in last)) or "none"
        raise HandlerStartError(
            f"a job folder has one handler; {module.__name__} has {found_names}. "
            "Derive a class from BaseJobHandler, or write @job above a function."
        )
    return last[0]


def describe(handler: Handler) -> dict[str, Any]:
    """What a deployment asks of each handler: its name, and what its payloads look like."""
    kind = handler_of(handler)
    model = kind.payload_model()
    from leasehold.schemas.shape import shape_of  # a deployment asks, a run does not

    return {
        "handler": f"{kind.__module__}.{kind.__qualname__}",
        "shape": shape_of(model),
        "schema": _json_schema(model),
    }


def _json_schema(model: type[BaseModel]) -> dict[str, Any] | None:
    """For people, who can do without where a model has none."""
    from pydantic.errors import PydanticInvalidForJsonSchema

    try:
        return model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return None


def _is_handler(value: object) -> bool:
    if value is BaseJobHandler or not callable(value):
        return False
    try:
        handler_of(value)
    except ValueError:
        return False
    return True


def _place(package: str, folder: Path) -> None:
    """Let the package be found in the folder, and its parents be found at all."""
    parents = package.split(".")
    # A type's own files are the folder; what it shares with the types beside it is in BESIDE.
    near = {len(parents): folder, len(parents) - 1: folder / BESIDE}
    for depth in range(1, len(parents) + 1):
        name = ".".join(parents[:depth])
        if name not in sys.modules:
            module = ModuleType(name)
            module.__path__ = [str(near.get(depth) or folder.joinpath(*parents[:depth]))]
            sys.modules[name] = module
