"""The handler of deliveries: sign a message, post it, and know when to stop."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.type_options import DELIVERY
from leasehold.lean import dataclass
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.signals import GiveUp
from leasehold.webhooks.address import Address
from leasehold.webhooks.model import TRIES, is_genuine
from leasehold.webhooks.outbound import Outbound, WebhookFailedError
from leasehold.webhooks.standard import signed_headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.runtime.handler import JobContext
    from leasehold.webhooks.standard import SigningKeys

_GONE = 410
_HEADERS = {"content-type": "application/json", "user-agent": "Leasehold-Webhooks/1"}


class Message(BaseModel):
    """`id` names what is told: whoever is told twice knows it by that."""

    id: str
    url: str
    body: str


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """keys: what to sign with; None as long as nothing is stored."""

    keys: Callable[[], SigningKeys | None]
    outbound: Outbound = field(default_factory=Outbound)


def webhook_sender(equip: Callable[[], Equipment]) -> type[BaseJobHandler]:
    """A handler of deliveries; `equip` is called when the first of them comes, not before."""

    class WebhookSender(BaseJobHandler):
        job_type = DELIVERY

        @classmethod
        def payload_model(cls) -> type[Message]:
            return Message

        def handle(self, message: Message, context: JobContext) -> dict[str, int]:
            try:
                return {"status": _send(message, context, equip())}
            except WebhookFailedError as error:
                if error.is_final or context.attempt >= TRIES:
                    raise GiveUp(error) from None
                raise

    return WebhookSender


def _send(message: Message, context: JobContext, equipment: Equipment) -> int:
    if not is_genuine(message.id, message.body):
        # Whoever could store it has no key; what is signed is believed.
        raise WebhookFailedError("not_ours", "this is no message of the system's, and is not signed", is_final=True)
    body = message.body.encode()
    signed = signed_headers(_keys(message, equipment), message.id, context.started_at, body)
    status = equipment.outbound.post(message.url, body, {**_HEADERS, **signed})
    if 200 <= status < 300:
        return status
    raise WebhookFailedError(
        f"http_{status}", f"{message.url} answered with {status}, not with 2xx", is_final=status == _GONE
    )


def _keys(message: Message, equipment: Equipment) -> tuple[bytes, ...]:
    """Nothing is sent unsigned: a receiver could not tell it from what anybody else sends."""
    try:
        keys = equipment.keys()
        host = Address.of(message.url).host
    except InvalidOptionError as error:
        raise WebhookFailedError("not_signed", str(error)) from None
    found = keys.of(host) if keys else ()
    if not found:
        raise WebhookFailedError("not_signed", f"no key is stored to sign what {host} is told")
    return found
