"""The `[webhook]` table: whom to tell of the runs of a type's jobs, and of which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidInputError
from leasehold.domain.webhook import RunEvent, Webhook, parse_webhook
from leasehold.settings.section import Unfit
from leasehold.settings.values import choice

if TYPE_CHECKING:
    from leasehold.settings.section import Section

_event = choice({str(each): each for each in RunEvent})


def read_webhook(table: Section) -> Webhook:
    """Without an address it says which events are told of jobs that bring one; without events, all are."""
    url = table.read("url", _url, None)
    events = table.read_each("events", _event, required="a webhook tells of something" if table.has("events") else "")
    table.close("[webhook]")
    return Webhook(url=url, events=events or tuple(RunEvent))


def _url(value: object) -> str:
    try:
        return parse_webhook(value)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
