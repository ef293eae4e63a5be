"""Named presets for jobs: `queue.templates`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from leasehold.kernel.payload import encode_value, resolve
from leasehold.templates import verbs as templates
from leasehold.templates.verbs import Preset

if TYPE_CHECKING:
    from collections.abc import Collection

    from leasehold.kernel.keys import Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services
    from leasehold.payloads.models import PayloadModel, TypedPayload
    from leasehold.templates.model import Template

    # Named out here: within the class, `list` is a method.
    type _Templates = list[Template]


class TemplateOptions(TypedDict, total=False):
    """The options of a template; see `Templates.create`."""

    priority: Priority | PriorityName | int | None
    max_attempts: int | None
    retry: RetryPolicy | None
    webhook: str | None
    description: str | None


class Templates:
    """Each change is recorded with its reason and with who made it, as AWS knows them.

    A change takes effect at once here, and within five seconds in other programs. Jobs that exist keep what they have.

    >>> queue.templates.create("nightly", "daily_summary", {"style": "short"}, priority=0)     # doctest: +SKIP
    >>> queue.enqueue(template="nightly", payload={"user_id": "ada"})                             # doctest: +SKIP
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def create(
        self,
        name: str,
        job: str | TypedPayload,
        payload: Json | PayloadModel = None,
        *,
        reason: str = "",
        **options: Unpack[TemplateOptions],
    ) -> Template:
        """Keep what jobs of a type are often given. What is left out here is left to the job type.

        payload: an object of defaults; a job's own payload replaces single keys of it, at the top level.
        priority, max_attempts: instead of the type's.
        retry: a policy instead of the type's.
        webhook: an https address that is told of each run's end, instead of its type's.
        description: what it is for, for people.
        """
        job_type, payload_text = resolve(job, payload)
        preset = Preset(job_type=job_type, payload_text=payload_text, **options)
        return templates.create(name, preset, self._services, by=self._services.identity.actor(), reason=reason)

    def list(self) -> _Templates:
        """All templates by name."""
        return templates.all_templates(self._services)

    def get(self, name: str) -> Template:
        """UnknownTemplateError if there is none."""
        return templates.find(name, self._services)

    def update(
        self,
        name: str,
        *,
        job: str | None = None,
        payload: Json | PayloadModel = None,
        remove: Collection[str] = (),
        reason: str = "",
        **options: Unpack[TemplateOptions],
    ) -> Template:
        """Change what is passed, by the options of `create`; `payload` replaces all defaults.

        remove: options to leave to the job type again, e.g. `remove=["priority", "webhook"]`.
        """
        text = None if payload is None else encode_value(payload)
        preset = Preset(job_type=job, payload_text=text, **options)
        return templates.update(
            name, preset, self._services, remove=remove, by=self._services.identity.actor(), reason=reason
        )

    def delete(self, name: str, *, reason: str = "") -> None:
        """Remove a template; TemplateInUseError if a schedule needs it. Its jobs stay as they are."""
        templates.delete(name, self._services, by=self._services.identity.actor(), reason=reason)
