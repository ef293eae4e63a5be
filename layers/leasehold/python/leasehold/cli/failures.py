"""Failures, told in one line and with what to do next; as JSON to programs. Both on the standard error."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from leasehold.cli import exits

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """End the command with the exit code of whatever is raised inside."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        raise typer.Exit(exits.INTERRUPTED) from None
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise  # whoever read along has seen enough: typer ends quietly
        raise typer.Exit(tell_error(error, as_json=as_json)) from None
    except Exception as error:
        raise typer.Exit(tell_error(error, as_json=as_json)) from None


def tell_error(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong, and return the exit code that says the same."""
    exit_code = exits.exit_code_of(error)
    if exit_code == exits.UNEXPECTED and os.environ.get(DEBUG):
        raise error
    code, message = code_of(error), message_of(error)
    tell(code, message, exit_code, as_json=as_json)
    return exit_code


def tell(code: str, message: str, exit_code: int, *, next_step: str | None = None, as_json: bool) -> None:
    from leasehold.cli.terminal.cells import clean

    hint = next_step or _NEXT.get(code)
    if as_json:
        said = {"code": code, "message": message, "exit_code": exit_code}
        print(json.dumps({"error": said | ({"next": hint} if hint else {})}), file=sys.stderr)
        return
    print(clean(f"{code}: {message}"), file=sys.stderr)
    if hint:
        print(clean(f"next: {hint}"), file=sys.stderr)


def code_of(error: Exception) -> str:
    code = getattr(error, "code", None)
    if isinstance(code, str):
        return code
    return "aws_error" if exits.is_from_aws(error) else "unexpected_error"


def message_of(error: Exception) -> str:
    if code_of(error) == "unexpected_error":
        return f"{type(error).__name__}: {error}"
    return " ".join(str(error).split())
