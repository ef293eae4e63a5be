"""What is wrong in a job type's folder, told the way its author wrote it."""

from __future__ import annotations

import json
from datetime import date, time
from typing import NamedTuple

_SHOWN = 120


class FolderProblem(NamedTuple):
    """One problem of one file; `key` is empty where the whole file is meant.

    >>> print(FolderProblem("job.toml", "memory", 64, "a Lambda function has at least 128 MB", "Use 128 or more."))
    job.toml: memory = 64: a Lambda function has at least 128 MB. Use 128 or more.
    """

    file: str
    key: str
    value: object
    reason: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.key} = {_shown(self.value)}" if self.key else self.file
        return f"{place}: {self.reason}. {self.fix}"


def toml_text(value: object) -> str:
    """A value as it stands in a TOML file, so that a reader can search for it.

    >>> toml_text({"rate": "30 minutes", "enabled": True})
    '{ rate = "30 minutes", enabled = true }'
    """
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bool():
            return "true" if value else "false"
        case dict():
            return f"{{ {', '.join(f'{key} = {toml_text(item)}' for key, item in value.items())} }}" if value else "{}"
        case list():
            return f"[{', '.join(toml_text(item) for item in value)}]"
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case _:
            return str(value)


def _shown(value: object) -> str:
    text = toml_text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
