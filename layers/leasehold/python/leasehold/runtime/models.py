"""The payload model of a handler: which one its class names, and what is said of a payload that does not fit it."""

from __future__ import annotations

from types import get_original_bases
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel

from leasehold.runtime.handler import BaseJobHandler

if TYPE_CHECKING:
    from pydantic import ValidationError


def model_in_brackets(handler: type) -> type[Any]:
    for kind in handler.__mro__:
        for base in get_original_bases(kind):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, BaseJobHandler):
                for argument in get_args(base):
                    if isinstance(argument, type) and issubclass(argument, BaseModel):
                        return argument
    raise NotImplementedError(
        f"{handler.__name__} names no payload model: write `class {handler.__name__}(BaseJobHandler[YourModel])`, "
        "or return the model from payload_model()"
    )


def misfit(model: type[BaseModel], error: ValidationError) -> str:
    """What is wrong with a payload; its values stay out, since this is logged and reported."""
    problems = "; ".join(
        f"{'.'.join(str(part) for part in each['loc']) or 'payload'}: {each['msg']}"
        for each in error.errors(include_input=False, include_url=False)
    )
    return f"payload does not fit {model.__name__}: {problems}"
