"""Operations: what the API does. Each is a function: its signature says what it takes, its docstring what it is."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints

from leasehold.api.answers import Answer
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from pydantic import BaseModel

    from leasehold.admin.others import Auditor
    from leasehold.admin.reading import Reader
    from leasehold.api.idempotency import Asked
    from leasehold.aws.api_access import Role
    from leasehold.documents import Document
    from leasehold.kernel.services import Services
    from leasehold.queue import Queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, authenticated and checked. The queue and its services act in the name of its caller."""

    queue: Queue
    read: Reader
    audit: Auditor
    # Has a direct run done elsewhere, without waiting for it; DispatchError if that fails.
    start_run: Callable[[str], None]
    # How long a direct run is waited for before the caller is told to come back.
    patience: timedelta
    asked: Asked | None = None

    @property
    def services(self) -> Services:
        return self.queue.services


@dataclass(frozen=True)
class Operation:
    """role: the least that may do it. answers: per status, the name of a schema in documents.py.

    takes_key: it makes something, and with an Idempotency-Key it makes it once.
    """

    route: str
    method: str
    path: str
    role: Role
    answers: Mapping[int, str]
    takes_key: bool
    act: Callable[..., Answer | Document] = field(repr=False)

    @property
    def name(self) -> str:
        """Its operationId."""
        return self.act.__name__

    @property
    def summary(self) -> str:
        return (self.act.__doc__ or "").partition("\n")[0].removesuffix(".")

    @property
    def query(self) -> type[BaseModel] | None:
        return self._taken.get("query")

    @property
    def body(self) -> type[BaseModel] | None:
        return self._taken.get("body")

    @property
    def needs_body(self) -> bool:
        """Whether it is refused without one; else an empty body is one that says nothing."""
        return not getattr(self.body, "may_be_left_out", False)

    @cached_property
    def _taken(self) -> dict[str, Any]:
        return get_type_hints(self.act)

    def perform(self, call: Call, path: Mapping[str, str], query: BaseModel | None, body: BaseModel | None) -> Answer:
        given = {name: value for name, value in (("query", query), ("body", body)) if value is not None}
        answer = self.act(call, **path, **given)
        return answer if isinstance(answer, Answer) else Answer(document=answer)


def route(
    route: str, role: Role, answer: str, *, statuses: tuple[int, ...] = (200,), takes_key: bool = False
) -> Callable[[Callable[..., Answer | Document]], Operation]:
    """The function becomes an operation: it gets the call, what the path names, and its `query` or `body`."""
    (method, path), answers = route.split(" "), dict.fromkeys(statuses, answer)
    return lambda act: Operation(route, method, path, role, answers, takes_key, act)
