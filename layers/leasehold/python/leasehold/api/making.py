"""Making something once: how a request with an idempotency key finds what it made before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.answers import Answer
from leasehold.domain.errors import StoreUnavailableError
from leasehold.domain.ids import JobId
from leasehold.engine.enqueue import Enqueued
from leasehold.engine.once import once

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.operations import Call


def made_once(call: Call, propose: Callable[[], str], make: Callable[[str | None, bool], Answer]) -> Answer:
    """`make` gets the id to make it under (None without a key: any), and whether somebody has tried before."""
    if call.asked is None:
        return make(None, False)
    text = once(call.asked, propose, lambda made_id, again: make(made_id, again).to_text(), call.parts)
    return Answer.from_text(text)


def job_made_once(call: Call, propose: Callable[[], JobId], make: Callable[[JobId | None], Enqueued]) -> Answer:
    """A job that is there under its id was made by a try before, or by one at the same time."""

    def attempt(made_id: str | None, again: bool) -> Answer:
        if made_id is None:
            return _told(make(None))
        job_id = JobId(made_id)
        made = Enqueued(job_id=job_id, created=True)
        if again and call.parts.store.jobs.get(job_id) is not None:
            return _told(made)
        try:
            return _told(make(job_id))
        except StoreUnavailableError:
            if call.parts.store.jobs.get(job_id) is None:
                raise
            return _told(made)

    return made_once(call, propose, attempt)


def _told(enqueued: Enqueued) -> Answer:
    document: dict[str, object] = {"job_id": enqueued.job_id, "created": enqueued.created}
    if enqueued.replaced is not None:
        document["replaced"] = enqueued.replaced
    return Answer(status=201 if enqueued.created else 200, document=document)
