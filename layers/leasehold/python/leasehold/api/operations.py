"""An operation: one method of one path, what it takes, what it does and what it answers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from pydantic import BaseModel

    from leasehold.admin.acting import Actions
    from leasehold.admin.auditing import Auditor
    from leasehold.admin.reading import Reader
    from leasehold.api.answers import Answer
    from leasehold.engine.direct_requests import Starter
    from leasehold.engine.once import Asked
    from leasehold.engine.parts import Parts


@dataclass(frozen=True, kw_only=True)
class Operation:
    """name: its operationId. answers: per status, the name of a schema in documents.py.

    takes_key: it makes something, and with an Idempotency-Key it makes it once.
    needs_body: whether it is refused without one; else an empty body is one that says nothing.
    """

    method: str
    path: str
    name: str
    summary: str
    act: Callable[[Call], Answer]
    answers: Mapping[int, str]
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    takes_key: bool = False
    needs_body: bool = True

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def noun(self) -> str:
        return self.path.split("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, authenticated and checked. `parts` act in the name of its caller."""

    parts: Parts
    read: Reader
    act: Actions
    audit: Auditor
    starter: Starter
    # How long a direct run is waited for before the caller is told to come back.
    patience: timedelta
    path: Mapping[str, str] = field(default_factory=dict)
    query: BaseModel | None = None
    body: BaseModel | None = None
    asked: Asked | None = None


def asked_for[Model: BaseModel](kind: type[Model], value: BaseModel | None) -> Model:
    """The query or body as what the operation says that it takes."""
    assert isinstance(value, kind)
    return value
