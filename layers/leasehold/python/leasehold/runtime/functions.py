"""Plain functions as handlers: `@job` makes the class that handles from a function and its payload's annotation."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, get_type_hints

from leasehold.kernel.errors import InvalidOptionError
from leasehold.runtime.handler import MADE_HANDLER, BaseJobHandler

if TYPE_CHECKING:
    from pydantic import BaseModel

    from leasehold.runtime.handler import JobFunction


def job[F: JobFunction](function: F) -> F:
    """Make a plain function the handler of its folder. It stays the function that it is, for whoever calls it.

    >>> from pydantic import BaseModel
    >>> class Name(BaseModel):
    ...     name: str
    >>> @job
    ... def greet(payload: Name) -> str:
    ...     return f"hello {payload.name}"
    >>> greet(Name(name="Ada"))
    'hello Ada'
    """
    model = _model_of_function(function)
    made = type(
        function.__name__,
        (BaseJobHandler,),
        {
            "__module__": function.__module__,
            "__doc__": function.__doc__,
            "payload_model": staticmethod(lambda: model),
            "handle": staticmethod(function),
        },
    )
    setattr(function, MADE_HANDLER, made)
    return function


def _model_of_function(function: JobFunction) -> type[BaseModel]:
    from pydantic import BaseModel

    name = function.__name__
    parameters = list(inspect.signature(function).parameters)
    if not 1 <= len(parameters) <= 2:
        raise InvalidOptionError(name, "a job takes its payload, and maybe a JobContext", "Remove the other arguments.")
    # Only that of the payload is read: a context's may be imported for type checkers only.
    written = {key: value for key, value in function.__annotations__.items() if key == parameters[0]}
    stand_in = type(name, (), {"__annotations__": written, "__module__": function.__module__})
    try:
        model = get_type_hints(stand_in, globalns=getattr(function, "__globals__", None)).get(parameters[0])
    except NameError as error:
        raise InvalidOptionError(
            name, f"the model of its payload is not there at run time ({error})", "Import it outside of TYPE_CHECKING."
        ) from None
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        raise InvalidOptionError(
            name, f"{parameters[0]!r} is annotated with no pydantic model", "Annotate it, e.g. `payload: SendInvoice`."
        )
    return model
