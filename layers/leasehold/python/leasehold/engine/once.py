"""Once: a request that comes with an idempotency key makes what it makes once, however often it comes.

The key's record is written first, with the id of what is to be made. Making it is conditional on that id, so whoever
comes again after a crash goes on with the same id and makes nothing twice; the answer is kept last.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import RequestKeyReusedError
from leasehold.domain.lean import dataclass
from leasehold.store.requests import RequestRecord
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.engine.parts import Parts

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request with its key. The same key of somebody else, or of another route, is another key."""

    actor: str
    route: str
    key: str
    fingerprint: str

    @property
    def name(self) -> str:
        return request_token("request", self.actor, self.route, self.key)


def once(
    asked: Asked,
    propose: Callable[[], str],
    make: Callable[[str, bool], str],
    parts: Parts,
) -> str:
    """The answer to a request with a key, which is kept for a day.

    propose: an id for what is to be made. Whatever can be refused is refused there: nothing has been written yet.
    make: make it under this id and say what is answered; its second argument tells whether somebody tried before.
    """
    now = parts.clock.now()
    found = parts.store.requests.get(asked.name, now)
    is_repeat = found is not None
    if found is None:
        wanted = RequestRecord(name=asked.name, fingerprint=asked.fingerprint, made_id=propose(), until=now + KEPT_FOR)
        found = parts.store.requests.take(wanted, now)
        is_repeat = found.made_id != wanted.made_id
    if found.fingerprint != asked.fingerprint:
        raise RequestKeyReusedError(asked.key)
    if found.answer is not None:
        return found.answer
    answer = make(found.made_id, is_repeat)
    parts.store.requests.answer(found, answer)
    return answer
