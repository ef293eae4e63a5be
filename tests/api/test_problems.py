"""The table of statuses: every error has its place in it, and only faults of ours are a 500."""

from __future__ import annotations

import pytest

from leasehold.admin.pages import InvalidCursorError
from leasehold.api import errors as api_errors
from leasehold.api.answers import STATUSES, problem_of, status_of
from leasehold.direct_runs.model import DirectRunError, DirectRunLostError
from leasehold.groups.model import GroupEndedError
from leasehold.kernel import errors
from leasehold.kernel.errors import LeaseholdError
from leasehold.operate.verbs import WaitTimeoutError
from leasehold.runtime.handler import InvalidJobPayloadError
from leasehold.runtime.loading import HandlerStartError
from leasehold.runtime.timing import JobTimeoutError
from leasehold.schedules.trigger import MirrorError
from leasehold.templates.model import TemplateInUseError
from leasehold.webhooks.outbound import WebhookFailedError
from leasehold.webhooks.standard import WebhookVerificationError

# What no request can meet: handlers, pollers, receivers and local servers do.
ELSEWHERE = {
    errors.LeaseholdError,
    WebhookFailedError,
    WebhookVerificationError,
    errors.ServerUnavailableError,
    errors.DeploymentError,
    WaitTimeoutError,
    HandlerStartError,
    JobTimeoutError,
    errors.NonRetryableError,
    InvalidJobPayloadError,
    # Who looks at a job is told in its payload's place.
    errors.PayloadMissingError,
    errors.PayloadUnreadableError,
    errors.PayloadNotReadError,
    # These are told in the direct run, which was accepted before.
    DirectRunError,
    DirectRunLostError,
}


def all_errors(root: type[LeaseholdError] = LeaseholdError) -> set[type[LeaseholdError]]:
    return {root}.union(
        *(all_errors(each) for each in root.__subclasses__() if each.__module__.startswith("leasehold"))
    )


def status_of_class(kind: type[LeaseholdError]) -> int:
    return status_of(kind.__new__(kind))


def test_every_error_that_a_request_can_meet_has_a_status() -> None:
    unmapped = {kind for kind in all_errors() if status_of_class(kind) == 500}

    assert unmapped == ELSEWHERE


def test_codes_are_told_apart() -> None:
    codes = [kind.code for kind in all_errors()]

    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (InvalidCursorError, 400),
        (errors.InvalidJobIdError, 400),
        (errors.TimeOutOfRangeError, 400),
        (errors.PayloadTooLargeError, 413),
        (errors.UnknownJobTypeError, 422),
        (errors.WrongStateError, 409),
        (GroupEndedError, 409),
        (errors.JobNotFoundError, 404),
        (errors.SystemHaltedError, 423),
        (errors.StoreUnavailableError, 503),
        (api_errors.InvalidRequestKeyError, 400),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_the_nearest_class_counts(kind: type[LeaseholdError], status: int) -> None:
    assert status_of_class(kind) == status


def test_only_known_statuses_are_used() -> None:
    assert set(STATUSES.values()) == {400, 401, 403, 404, 405, 409, 413, 415, 422, 423, 429, 503}


def test_what_an_error_knows_is_told_to_programs() -> None:
    problem = problem_of(TemplateInUseError("nightly", "delete", ["a", "b"]))

    assert problem.status == 409
    assert problem.document["schedules"] == ("a", "b")
    assert '"schedules":["a","b"]' in problem.body


@pytest.mark.parametrize("kind", [errors.StoreError, errors.StoreUnavailableError, errors.DispatchError, MirrorError])
def test_what_aws_says_of_a_failure_stays_in_the_log(kind: type[LeaseholdError]) -> None:
    said = "User: arn:aws:sts::111122223333:assumed-role/api is not authorized to perform: dynamodb:Query"

    problem = problem_of(kind(said), request_id="r-1")

    assert problem.status == 503
    assert "arn:" not in problem.body
    assert "r-1" in problem.body
