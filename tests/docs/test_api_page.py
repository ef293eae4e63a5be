"""docs/api.md says of every route who may use it, and of every status what it means."""

from __future__ import annotations

import re

from leasehold.api.problems import STATUSES
from leasehold.api.roles import ROLES
from leasehold.api.table import OPERATIONS
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.run_document import external_status
from tests.api.test_problems import all_errors, status_of_class
from tests.docs.markdown import text_of

PAGE = text_of("docs/api.md")


def test_every_route_stands_there_with_its_role_and_its_key() -> None:
    rows = re.findall(r"^\| `([A-Z]+ /[^`]+)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)

    assert {route: role for route, role, _ in rows} == {route: role.label for route, role in ROLES.items()}
    assert {route for route, _, said in rows if "**(key)**" in said} == {
        each.route for each in OPERATIONS if each.takes_key
    }


def test_every_status_stands_there_with_codes_that_have_it() -> None:
    rows = {
        int(status): codes for status, codes in re.findall(r"^\| (\d{3}) \| [^|]+ \| ([^|]*)\|$", PAGE, re.MULTILINE)
    }
    kinds = {kind.code: status_of_class(kind) for kind in all_errors()}

    assert set(rows) == set(STATUSES.values())
    for status, codes in rows.items():
        for name in re.findall(r"`([a-z_]+)`", re.sub(r"\(with [^)]*\)", "", codes)):
            assert kinds[name] == status, name


def test_the_states_are_mapped_as_the_code_does() -> None:
    rows = re.findall(r"^\| `(\w+)`[^|]* \| `([A-Z]+)` \|", PAGE, re.MULTILINE)

    assert dict(rows) == {str(status): external_status(status) for status in JobStatus}
