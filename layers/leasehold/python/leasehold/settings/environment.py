"""The `[environment]` table: variables of the handler's function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leasehold.settings.section import Unfit

if TYPE_CHECKING:
    from leasehold.settings.section import Section

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
# Lambda sets these itself and refuses a function that does.
_OF_LAMBDA = frozenset(
    [
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_DEFAULT_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "LAMBDA_RUNTIME_DIR",
        "LAMBDA_TASK_ROOT",
    ]
)
# Lambda takes 4 KB in all; the rest is for what Leasehold sets.
_MAX_BYTES = 3 * 1024


def read_environment(environment: Section) -> dict[str, str]:
    found = {name: environment.read(name, _value, "") for name in environment.names()}
    for name in found:
        if not _NAME.fullmatch(name):
            environment.note(name, "a variable has two or more letters, digits and _", "Use a name like REPORT_BUCKET.")
        elif name in _OF_LAMBDA or name.startswith("AWS_LAMBDA_"):
            environment.note(name, "Lambda sets this variable itself", "Use another name.")
        elif name.startswith("LEASEHOLD_"):
            environment.note(name, "Leasehold's own variables start with LEASEHOLD_", "Use another name.")
    size = sum(len(name.encode()) + len(value.encode()) for name, value in found.items())
    if size > _MAX_BYTES:
        environment.note("", f"{size} bytes are more than the {_MAX_BYTES} there is room for", "Keep it in SSM or S3.")
    return found


def _value(value: object) -> str:
    if not isinstance(value, str):
        raise Unfit("a variable is text", "Put quotes around it.")
    return value
