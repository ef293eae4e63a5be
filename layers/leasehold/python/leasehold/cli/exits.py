"""Exit codes: what a script can tell from how a command ended. docs/cli.md lists them."""

from __future__ import annotations

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


# By the codes of errors, also of those that were never imported.
_NOT_FOUND = {"job_not_found", "schedule_not_found", "group_not_found", "unknown_template", "unknown_job_type"}
_UNAVAILABLE = {
    "store_error",
    "not_deployed",
    "queue_not_found",
    "identity_unknown",
    "server_unavailable",
    "dispatch_failed",
}


def exit_code_of(error: Exception) -> int:
    from leasehold.kernel import errors

    codes = {vars(kind).get("code") for kind in type(error).__mro__}
    match error:
        case _ if codes & _NOT_FOUND:
            return NOT_FOUND
        case _ if codes & _UNAVAILABLE or is_from_aws(error):
            return UNAVAILABLE
        case errors.InvalidInputError():
            return USAGE
        case errors.LeaseholdError():
            return REFUSED
        case _:
            return UNEXPECTED


def is_from_aws(error: Exception) -> bool:
    """Whether boto3 says it: no credentials, no region, no such profile. It is not imported to find out."""
    return any(kind.__module__.startswith(("botocore.", "boto3.")) for kind in type(error).__mro__)
