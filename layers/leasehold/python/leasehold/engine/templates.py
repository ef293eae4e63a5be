"""Create, change and delete templates. Each change is committed with its audit record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.errors import TemplateExistsError, TemplateInUseError
from leasehold.domain.job_type import parse_users_job_type
from leasehold.domain.template import parse_template_name
from leasehold.engine.deeds import check_deed, deed_of, retried, token_of
from leasehold.engine.look import readable
from leasehold.engine.preset import changed, template_from
from leasehold.engine.schedules import all_schedules
from leasehold.store.template_records import preset_record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from leasehold.domain.template import Template
    from leasehold.engine.parts import Parts
    from leasehold.engine.preset import Preset
    from leasehold.store.audits import Deed


def find(name: str, parts: Parts) -> Template:
    return parts.templates.get(name, fresh=True)


def all_templates(parts: Parts) -> list[Template]:
    return readable(parts.store.templates.all(), parts)


def create(name: str, preset: Preset, parts: Parts, *, by: str, reason: str) -> Template:
    wanted = template_from(name, preset, created_by=by, created_at=parts.clock.now())
    _check_type(wanted, parts)

    def new(old: Template | None) -> Template:
        if old is not None:
            raise TemplateExistsError(name)
        return wanted

    return _change(wanted.name, "create", new, parts, by=by, reason=reason)


def update(name: str, preset: Preset, parts: Parts, *, remove: Collection[str] = (), by: str, reason: str) -> Template:
    """Change what jobs made from now on are given; those that exist keep what they have."""

    def new(old: Template | None) -> Template:
        if old is None:
            raise parts.templates.unknown(name)
        template = changed(old, preset, remove)
        if template.job_type != old.job_type:
            _check_type(template, parts)
            _refuse_if_used(name, "change the job type of", parts)
        return template

    return _change(parse_template_name(name), "update", new, parts, by=by, reason=reason)


def delete(name: str, parts: Parts, *, by: str, reason: str) -> None:
    """Remove a template, unless a schedule needs it; jobs that were made from it are left alone."""
    check_deed("template", by, reason)
    parse_template_name(name)

    def attempt() -> bool | None:
        old = parts.store.templates.get(name)
        if old is None:
            raise parts.templates.unknown(name)
        _refuse_if_used(name, "delete", parts)
        deed = _deed(old, "delete", parts, by=by, reason=reason)
        return parts.store.templates.delete(old, deed, token=token_of(deed)) or None

    _retried(name, attempt, parts)


def _change(
    name: str, action: str, new: Callable[[Template | None], Template], parts: Parts, *, by: str, reason: str
) -> Template:
    check_deed("template", by, reason)

    def attempt() -> Template | None:
        old = parts.store.templates.get(name)
        template = new(old)
        if template == old:
            return old  # a change that changes nothing writes nothing
        deed = _deed(template, action, parts, by=by, reason=reason)
        return parts.store.templates.commit(old, template, deed, token=token_of(deed))

    return _retried(name, attempt, parts)


def _retried[Thing](name: str, attempt: Callable[[], Thing | None], parts: Parts) -> Thing:
    try:
        return retried(f"template {name!r}", attempt, parts)
    finally:
        # Also if it failed: whether the last try was written is then not known.
        parts.templates.forget(name)


def _deed(template: Template, action: str, parts: Parts, *, by: str, reason: str) -> Deed:
    says = {"version": template.version, **preset_record(template)}
    return deed_of(f"template#{template.name}", action, says, parts, by=by, reason=reason)


def _check_type(template: Template, parts: Parts) -> None:
    parts.deployment.registry().job_type(parse_users_job_type(template.job_type))
    if template.webhook is not None:
        parts.deployment.refuse_if_webhooks_are_off(template.webhook)


def _refuse_if_used(name: str, wanted: str, parts: Parts) -> None:
    """Best effort: a schedule that is given the template just now is missed, and says so itself when its slot comes."""
    users = [schedule.name for schedule in all_schedules(parts) if schedule.template == name]
    if users:
        raise TemplateInUseError(name, wanted, users)
