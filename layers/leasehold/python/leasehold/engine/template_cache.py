"""Templates as enqueues read them: through a short cache, like the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.errors import UnknownTemplateError
from leasehold.engine.deployment import is_fresh

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.template import Template
    from leasehold.engine.ports import Clock
    from leasehold.store.store import Store


class TemplateCache:
    """A change takes effect at once in the process that makes it, and everywhere within five seconds."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[datetime, Template]] = {}

    def get(self, name: str, *, fresh: bool = False) -> Template:
        from leasehold.domain.template import parse_template_name

        parse_template_name(name)
        now = self._clock.now()
        if fresh or name not in self._known or not is_fresh(self._known[name][0], now):
            template = self._store.templates.get(name)
            # Old ones go too: a process that meets many templates keeps those of its last seconds.
            self._known = {each: known for each, known in self._known.items() if is_fresh(known[0], now)}
            self.forget(name)
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
