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


def exit_code_of(error: Exception) -> int:
    from leasehold.kernel import errors, refusals

    not_found = (
        refusals.JobNotFoundError,
        refusals.ScheduleNotFoundError,
        refusals.GroupNotFoundError,
        errors.UnknownTemplateError,
        errors.UnknownJobTypeError,
    )
    unavailable = (
        errors.StoreError,
        refusals.NotDeployedError,
        errors.QueueNotFoundError,
        refusals.IdentityUnknownError,
        errors.ServerUnavailableError,
        errors.DispatchError,
    )
    match error:
        case _ if isinstance(error, not_found):
            return NOT_FOUND
        case _ if isinstance(error, unavailable) or is_from_aws(error):
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
