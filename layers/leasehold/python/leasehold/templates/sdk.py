"""Named presets for jobs: `queue.templates`. Each change is committed with its audit record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from leasehold import features
from leasehold.audit.records import audit_entry_of, check_audit_entry, fits, retried
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job_type import parse_users_job_type
from leasehold.kernel.payload import encode_value, resolve
from leasehold.kernel.retry import parse_retry
from leasehold.kernel.type_options import parse_attempts, parse_priority
from leasehold.kernel.unreadable import readable
from leasehold.schedules.verbs import all_schedules
from leasehold.templates.model import (
    FILLED,
    MAX_DESCRIPTION_BYTES,
    NO_DEFAULTS,
    Template,
    TemplateExistsError,
    TemplateInUseError,
    parse_defaults,
    parse_template_name,
    templates_of,
)
from leasehold.templates.records import preset_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.kernel.keys import Priority, PriorityName
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload

    # Named out here: within the class, `list` is a method.
    type _Templates = list[Template]


class TemplateOptions(TypedDict, total=False):
    """The options of a template; see `Templates.create`."""

    priority: Priority | PriorityName | int | None
    max_attempts: int | None
    retry: RetryPolicy | None
    webhook: str | None
    description: str | None


class Preset(TemplateOptions, total=False):
    """What a caller says; None for what is left to the job type, or to what the template says now."""

    job_type: str | None
    payload_text: str | None


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
        said = _said(Preset(job_type=job_type or "", payload_text=payload_text, **options))
        by, now = self._services.identity.actor(), self._services.clock.now()
        wanted = Template(name=parse_template_name(name), created_by=by, created_at=now, **said)
        _check_type(wanted, self._services)

        def new(old: Template | None) -> Template:
            if old is not None:
                raise TemplateExistsError(name)
            return wanted

        return self._change(wanted.name, "create", new, reason)

    def list(self) -> _Templates:
        """All templates by name."""
        return readable(self._services.store.templates.all(), self._services)

    def get(self, name: str) -> Template:
        """UnknownTemplateError if there is none."""
        return templates_of(self._services).get(name, fresh=True)

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

        def new(found: Template | None) -> Template:
            old = self._existing(name, found)
            template = replace(old, **_removed(remove, preset), **_said(preset))
            if template.job_type != old.job_type:
                _check_type(template, self._services)
                _refuse_if_used(name, "change the job type of", self._services)
            return template

        return self._change(parse_template_name(name), "update", new, reason)

    def delete(self, name: str, *, reason: str = "") -> None:
        """Remove a template; TemplateInUseError if a schedule needs it. Its jobs stay as they are."""

        def new(old: Template | None) -> None:
            self._existing(name, old)
            _refuse_if_used(name, "delete", self._services)

        self._change(parse_template_name(name), "delete", new, reason)

    def _existing(self, name: str, found: Template | None) -> Template:
        if found is None:
            raise templates_of(self._services).unknown(name)
        return found

    def _change(
        self, name: str, action: str, new: Callable[[Template | None], Template | None], reason: str
    ) -> Template:
        services, by = self._services, self._services.identity.actor()
        reason = check_audit_entry("template", by, reason, services)

        def attempt() -> Template | None:
            old = services.store.templates.get(name)
            template = new(old)
            if old is not None and template == old:
                return old  # a change that changes nothing writes nothing
            if template is not None:
                template = replace(template, version=old.version + 1 if old else 1)
            says = preset_record(cast("Template", template or old))
            entry = audit_entry_of(f"template#{name}", action, says, services, by=by, reason=reason)
            return services.store.templates.commit(old, template, entry)

        try:
            return retried(f"template {name!r}", attempt, services)
        finally:
            # Also if it failed: whether the last try was written is then not known.
            templates_of(services).forget(name)


def _check_type(template: Template, services: Services) -> None:
    services.deployment.registry().job_type(parse_users_job_type(template.job_type))
    if template.webhook is not None:
        features.checked_webhook(template.webhook, services.deployment)


def _refuse_if_used(name: str, wanted: str, services: Services) -> None:
    """Best effort: a schedule that is given the template just now is missed, and says so itself when its slot comes."""
    users = [schedule.name for schedule in all_schedules(services) if schedule.template == name]
    if users:
        raise TemplateInUseError(name, wanted, users)


# What a template need not say, by the names that callers use, and what it is then.
_UNSET: dict[str, tuple[str, Any]] = {
    "payload": ("payload_text", NO_DEFAULTS),
    **{name: (name, None) for name in (*FILLED, "description")},
}


def _said(preset: Preset) -> dict[str, Any]:
    """What the preset says, each value as it will be stored."""
    if unknown := preset.keys() - Preset.__optional_keys__:
        raise TypeError(f"a template has no option {min(unknown)!r}")
    parse: dict[str, Callable[..., object]] = {
        "payload_text": parse_defaults,
        "priority": parse_priority,
        "max_attempts": parse_attempts,
        "retry": parse_retry,
        "webhook": features.parse_webhook,
        "description": _parse_description,
    }
    said = {name: value for name, value in preset.items() if value is not None}
    return {name: parse[name](value) if name in parse else value for name, value in said.items()}


def _removed(remove: Collection[str], preset: Preset) -> dict[str, Any]:
    for name in remove:
        if name not in _UNSET:
            raise InvalidOptionError(name, "a template has no such option", f"Remove one of {', '.join(_UNSET)}.")
        if preset.get(_UNSET[name][0]) is not None:
            raise InvalidOptionError(name, "an option is either set or removed", "Leave it out of one of the two.")
    return dict(_UNSET[name] for name in remove)


def _parse_description(value: object) -> object:
    if not fits(value, MAX_DESCRIPTION_BYTES):
        raise InvalidOptionError(
            value, f"a description is text of 1 to {MAX_DESCRIPTION_BYTES} bytes", "Shorten it, or leave it out."
        )
    return value
