"""Wakes the poller by an asynchronous invoke: a freed seat need not wait for the stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.domain.wakes import FREED_SOURCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.aws.dispatcher import LambdaDispatcher


class LambdaWaker:
    """Connects with the first wake: most ends free nothing that anybody waits for."""

    is_on = True

    def __init__(self, function: str, dispatcher: LambdaDispatcher | None = None) -> None:
        self._function = function
        self._dispatcher = dispatcher

    def wake(self, scopes: Sequence[str]) -> None:
        if self._dispatcher is None:
            from leasehold.aws.dispatcher import LambdaDispatcher, connect_lambda

            self._dispatcher = LambdaDispatcher(connect_lambda())
        event = {"source": FREED_SOURCE, "scopes": list(scopes)}
        self._dispatcher.invoke(self._function, json.dumps(event).encode())
