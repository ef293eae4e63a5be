"""How a command ends: the exit codes that docs/cli.md lists, and failures told in one line and with what to do next.

As JSON to programs; both on the standard error.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from leasehold.cli.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

UNEXPECTED = 1
USAGE = 2
NOT_FOUND = 3
REFUSED = 4
UNAVAILABLE = 5
FLAWED = 6
INTERRUPTED = 130

MEANINGS = {
    0: "done, or there was nothing to do",
    UNEXPECTED: "unexpected: a mistake in Leasehold",
    USAGE: "the command was written wrongly, or a value cannot be accepted; nothing was done",
    NOT_FOUND: "there is no such job, dead letter, schedule, template, group or job type",
    REFUSED: "refused: by a halt, by the state of the thing, or by you when you were asked; of many, at least one",
    UNAVAILABLE: "AWS, the tables or the credentials are not available",
    FLAWED: "`audit verify` or `verify` found something that is not as it should be",
    INTERRUPTED: "interrupted with Ctrl-C",
}
# By the code of the nearest class, which need not be imported.
_EXITS = (
    dict.fromkeys(("job_not_found", "schedule_not_found", "group_not_found"), NOT_FOUND)
    | dict.fromkeys(("unknown_template", "unknown_job_type"), NOT_FOUND)
    | dict.fromkeys(("store_error", "not_deployed", "queue_not_found", "identity_unknown"), UNAVAILABLE)
    | dict.fromkeys(("server_unavailable", "dispatch_failed"), UNAVAILABLE)
    | {"invalid_input": USAGE, "leasehold_error": REFUSED}
)
# Where set, an unexpected error shows where it was raised.
DEBUG = "LEASEHOLD_DEBUG"
_NEXT = {
    "job_not_found": "leasehold jobs",
    "schedule_not_found": "leasehold schedules list",
    "unknown_template": "leasehold templates list",
    "unknown_job_type": "leasehold status",
    "group_not_found": "leasehold groups list",
    "system_halted": "leasehold status, then: leasehold resume --reason '...'",
    "job_type_paused": "leasehold status, then: leasehold resume TYPE --reason '...'",
    "wrong_state": "leasehold job ID",
    "schedule_exists": "leasehold schedules show NAME",
    "template_exists": "leasehold templates show NAME",
    "queue_not_found": "check --queue, --region and --profile",
    "not_deployed": "check --queue, or deploy the stacks",
    "store_error": "check --queue, --region and --profile, and that these credentials may use the tables",
    "store_unavailable": "check the credentials (--profile), --region and --endpoint-url, then try again",
    "aws_error": "check --profile and --region; `aws sts get-caller-identity` must answer",
    "unexpected_error": f"this is a mistake in Leasehold: please report it, with what {DEBUG}=1 shows",
}


@contextmanager
def told(*, as_json: bool) -> Iterator[None]:
    """End an operators' command with the exit code of whatever is raised inside."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise  # also where whoever read along has seen enough: typer ends quietly
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        exit_code = exit_code_of(error)
        if exit_code == UNEXPECTED and os.environ.get(DEBUG):
            raise
        code, message = getattr(error, "code", None), " ".join(str(error).split())
        if not isinstance(code, str):
            code = "aws_error" if exit_code == UNAVAILABLE else "unexpected_error"
        if code == "unexpected_error":
            message = f"{type(error).__name__}: {error}"
        tell(code, message, exit_code, as_json=as_json)
        raise typer.Exit(exit_code) from None


@contextmanager
def told_plainly(before: str = "") -> Iterator[None]:
    """For commands about this machine: what a user can repair is told in words, not as a traceback."""
    from leasehold.kernel.errors import LeaseholdError

    try:
        yield
    except LeaseholdError as error:
        print(f"{before}{error}", file=sys.stderr)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def tell(code: str, message: str, exit_code: int, *, next_step: str | None = None, as_json: bool) -> None:
    hint = next_step or _NEXT.get(code)
    if as_json:
        said = {"code": code, "message": message, "exit_code": exit_code, **({"next": hint} if hint else {})}
        print(json.dumps({"error": said}), file=sys.stderr)
        return
    print(clean(f"{code}: {message}"), file=sys.stderr)
    if hint:
        print(clean(f"next: {hint}"), file=sys.stderr)


def exit_code_of(error: Exception) -> int:
    # boto3 says it: no credentials, no region, no such profile. It is not imported to find out.
    if any(kind.__module__.startswith(("botocore.", "boto3.")) for kind in type(error).__mro__):
        return UNAVAILABLE
    codes = (vars(kind).get("code") for kind in type(error).__mro__)
    return next((_EXITS[code] for code in codes if code in _EXITS), UNEXPECTED)
