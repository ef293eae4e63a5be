"""The errors are one tree, drawn in their module's docstring."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import pytest

import leasehold
from leasehold.direct_runs.model import RequestKeyReusedError
from leasehold.kernel import errors
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError, shown
from leasehold.runtime.timing import JobTimeoutError
from leasehold.webhooks.address import WebhooksOffError


def drawn_tree() -> list[tuple[int, str]]:
    """Depth and name of each class in the docstring."""
    lines = (errors.__doc__ or "").splitlines()
    named = [(match, line) for line in lines if (match := re.search(r"\w+Error", line)) and "roots" not in line]
    return [(match.start() // 4, match.group()) for match, _ in named]


def class_tree(root: type[LeaseholdError], depth: int = 0) -> list[tuple[int, str]]:
    drawn = [child for child in children(root) if child.__module__ == errors.__name__]
    return [(depth, root.__name__)] + [line for child in drawn for line in class_tree(child, depth + 1)]


def children(root: type[LeaseholdError]) -> list[type[LeaseholdError]]:
    ours = [child for child in root.__subclasses__() if child.__module__.startswith("leasehold.")]
    return sorted(ours, key=lambda child: inspect.getsourcelines(child)[1])


def every_error() -> list[type[LeaseholdError]]:
    for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
        import_module(module.name)
    found = [LeaseholdError]
    for error in found:
        found += children(error)
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_classes():
    every_error()

    assert class_tree(LeaseholdError) == drawn_tree()


def test_every_error_lives_in_the_tree_s_module_or_outside_of_the_kernel():
    modules = {error.__module__ for error in every_error()}

    assert {module for module in modules if module.startswith("leasehold.kernel.")} == {errors.__name__}


def test_every_error_has_a_code_of_its_own():
    codes = [vars(error).get("code") for error in every_error()]

    assert all(isinstance(code, str) and re.fullmatch(r"[a-z_]+", code) for code in codes)
    assert len(set(codes)) == len(codes)


def test_bad_input_is_a_value_error_that_says_value_reason_and_fix():
    error = InvalidOptionError(7, "max_attempts is too large", "Use less.")

    assert isinstance(error, ValueError)
    assert str(error) == "max_attempts is too large: got 7. Use less."
    assert (error.value, error.reason, error.fix) == (7, "max_attempts is too large", "Use less.")


def sentences() -> dict[str, tuple[LeaseholdError, str, dict[str, object]]]:
    """Errors that make their own text: one of each, how it begins, and what it carries for a program."""
    made: list[tuple[LeaseholdError, str, dict[str, object]]] = [
        (
            errors.UnknownJobTypeError("a", ["c", "b"]),
            "this job type is not deployed: got 'a'. Deployed types: b, c.",
            {},
        ),
        (errors.UnknownJobTypeError("a", []), "this job type is not deployed: got 'a'. Deployed types: none.", {}),
        (
            errors.InvalidPayloadError("p.x", 7, "is odd", "Even it."),
            "payload value at p.x is odd: got 7.",
            {"path": "p.x"},
        ),
        (errors.PayloadTooLargeError("result", 9, 8), "the result is larger", {"size": 9, "limit": 8}),
        (errors.NaiveDatetimeError(7, "run_at"), "run_at has no timezone: got 7. Pass", {}),
        (
            errors.SystemHaltedError("ada", "noon", "fire"),
            "the system is halted since noon by ada: fire.",
            {"by": "ada"},
        ),
        (RequestKeyReusedError("k"), "the idempotency key 'k' was used", {}),
        (errors.NotDeployedError("jobs"), "table 'jobs' holds no registry", {}),
        (
            errors.DuplicateJobError("a", "k", "id"),
            "a a job with dedup key 'k' exists already: id.",
            {"existing": "id"},
        ),
        (errors.JobIdTakenError("id"), "job id exists and was made by somebody else", {"job_id": "id"}),
        (errors.JobNotFoundError("job", "id"), "there is no job id.", {"job_id": "id"}),
        (WebhooksOffError("https://a"), "nobody would tell 'https://a' of this job", {}),
        (errors.WrongStateError("id", "move", "dead"), "cannot move job id: it is dead.", {"status": "dead"}),
        (errors.LeaseLostError("id", "COMPLETE", None), "lost the lease on job id before COMPLETE; it is gone", {}),
        (errors.LeaseLostError("id", "COMPLETE", "dead"), "lost the lease on job id before COMPLETE; it is dead", {}),
        (errors.RecordUnreadableError("k", "no"), "the record 'k' cannot be read (no).", {}),
        (
            errors.UnknownFormatError("a job", 9, [2, 1]),
            "a job has format 9, and this version of Leasehold reads 1 and 2;",
            {"found": 9},
        ),
        (errors.MisplacedItemError("p", "s"), "'p', 's' is not the key of a job", {}),
        (
            errors.TransactionRefusedError({1: "b", 0: "a"}),
            "the transaction was refused because of your own items (item 0: a, item 1: b)",
            {},
        ),
        (
            errors.ServerUnavailableError("dynoxide", "none", "Install it."),
            "dynoxide is not available: none. Install it.",
            {},
        ),
        (JobTimeoutError(1.5), "the handler ran longer than its time limit of 1.5 s", {}),
        (errors.PayloadNotReadError("id"), "the payload of job id stands apart", {"job_id": "id"}),
        (errors.PayloadUnreadableError("bad"), "a stored payload cannot be unpacked: bad.", {}),
        (errors.PayloadMissingError("id", "n"), "the payload of job id is gone: there is no item 'n'", {"name": "n"}),
    ]
    return {f"{type(error).__name__} {begins[-9:]}": (error, begins, carries) for error, begins, carries in made}


@pytest.mark.parametrize("case", sentences())
def test_an_error_says_what_happened_to_whom(case: str):
    error, begins, carries = sentences()[case]

    assert str(error).startswith(begins)
    assert {name: getattr(error, name) for name in carries} == carries


def test_every_error_of_the_kernel_that_makes_its_own_text_is_among_them():
    seen = {type(error) for error, _, _ in sentences().values()}
    own = {each for each in every_error() if each.__module__ == errors.__name__ and "__init__" in vars(each)}

    assert own - seen == {errors.InvalidInputError}


def test_a_value_is_shown_shortened_and_never_breaks_the_message():
    assert shown("x" * 118) == "'" + "x" * 118 + "'"
    assert shown("x" * 1000) == "'" + "x" * 119 + "… (1002 characters)"
    assert shown(10**5000) == "<int too large to show>"
