"""A template: a named preset for jobs. A job keeps a copy of what it was given, so later changes do not touch it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from leasehold.kernel import payload as codec
from leasehold.kernel.errors import InvalidInputError, InvalidOptionError, InvalidPayloadError, RefusedError
from leasehold.kernel.job_type import parse_job_type
from leasehold.kernel.registry import is_fresh
from leasehold.kernel.type_options import parse_name
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.features import Store
    from leasehold.kernel.enqueue import JobRequest
    from leasehold.kernel.keys import Priority
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Clock
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services


NO_DEFAULTS = "{}"
MAX_DESCRIPTION_BYTES = 1024
FILLED = ("priority", "max_attempts", "retry", "webhook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What a job gets where its caller says nothing; what is None here is left to the job type."""

    name: str
    job_type: str
    payload_text: str = NO_DEFAULTS
    priority: Priority | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    webhook: str | None = None
    description: str | None = None
    # What follows is not what it says, but where it comes from.
    created_by: str
    created_at: datetime
    version: int = 1
    audit_head: str | None = field(default=None, compare=False)

    @property
    def payload(self) -> Json:
        """The defaults that a job's own payload is laid over."""
        return codec.decode(self.payload_text)


def parse_template_name(name: object) -> str:
    return parse_name(name, "template", "nightly-report")


def merged(defaults: str, overrides: str) -> str:
    """A payload from a template's defaults and a job's own: each key that the job names replaces the default's value.

    >>> merged('{"to":"ada","style":{"size":9}}', '{"style":{"bold":true}}')
    '{"to":"ada","style":{"bold":true}}'
    """
    if overrides == NO_DEFAULTS:
        return defaults
    if defaults == NO_DEFAULTS:
        return overrides
    given = codec.decode(overrides)
    return codec.encode_payload({**_as_object(codec.decode(defaults)), **_as_object(given)})


def parse_defaults(payload_text: str) -> str:
    """The payload of a template: an object, since a job's own payload is laid over it key by key."""
    _as_object(codec.decode(payload_text))
    return payload_text


def _as_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InvalidPayloadError(
            "payload", value, "is no object, and cannot be merged with others", "Use a dict with string keys."
        )
    return value


def job_type_from(template: Template, given: str | None) -> str:
    """A template's jobs are of its type; who names one as well must mean the same."""
    if given is not None and parse_job_type(given) != template.job_type:
        raise InvalidOptionError(
            given,
            f"template {template.name!r} makes {template.job_type} jobs, not these",
            "Leave the job type out, or use another template.",
        )
    return template.job_type


def filled(request: JobRequest, services: Services) -> JobRequest:
    """What a request says, over what its template does."""
    wanted = request.wanted
    if wanted.template is None:
        return request
    template = templates_of(services).get(wanted.template)
    unsaid = [name for name in FILLED if getattr(wanted, name) is None]
    return replace(
        request,
        wanted=replace(wanted, template=None, **{name: getattr(template, name) for name in unsaid}),
        job_type=job_type_from(template, request.job_type),
        payload_text=merged(template.payload_text, request.payload_text),
        made_from=template.name,
    )


def templates_of(services: Services) -> TemplateCache:
    """Those that this process knows."""
    deployment = services.deployment
    deployment.templates = deployment.templates or TemplateCache(services.store, services.clock)
    return deployment.templates


class TemplateCache:
    """A change takes effect at once in the process that makes it, and everywhere within five seconds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[datetime, Template]] = {}

    def get(self, name: str, *, fresh: bool = False) -> Template:
        parse_template_name(name)
        now = self._clock.now()
        if fresh or name not in self._known or not is_fresh(self._known[name][0], now):
            template = self._store.templates.get(name)
            # Old ones go too: a process that meets many templates keeps those of its last seconds.
            self._known = {each: kept for each, kept in self._known.items() if each != name and is_fresh(kept[0], now)}
            if template is None:
                raise self.unknown(name)
            self._known[name] = (now, template)
        return self._known[name][1]

    def forget(self, name: str) -> None:
        """Read it anew next time."""
        self._known.pop(name, None)

    def unknown(self, name: str) -> UnknownTemplateError:
        from difflib import get_close_matches

        known = [template.name for template in self._store.templates.all().items]
        return UnknownTemplateError(name, get_close_matches(name, known))


class UnknownTemplateError(InvalidInputError, code="unknown_template"):
    def __init__(self, name: str, close: Sequence[str]) -> None:
        fix = f"Did you mean {' or '.join(close)}?" if close else "Look at the names with queue.templates.list()."
        super().__init__(name, "there is no such template", fix)


class TemplateExistsError(RefusedError, code="template_exists"):
    def __init__(self, name: str) -> None:
        super().__init__(f"there is a template {name!r} already. Update it, or choose another name.")
        self.name = name


class TemplateInUseError(RefusedError, code="template_in_use"):
    def __init__(self, name: str, wanted: str, schedules: Sequence[str]) -> None:
        super().__init__(
            f"cannot {wanted} template {name!r}: it is used by the schedules {', '.join(schedules)}. "
            "Give them another template, or delete them, first."
        )
        self.name = name
        self.schedules = tuple(schedules)
