"""Rights, decided by an IAM simulator that others wrote: what is called is allowed, and the page is true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from app import ROOT
from tests.infra.deployed_functions import ENQUEUER, PLAIN_ENQUEUER, POLLER, PUBLISHER, REPORTER, SENDER, TRIGGER
from tests.infra.iam import Call
from tests.infra.rights_table import COLUMNS, OWN, cells, table
from tests.infra.simulator import allowed
from tests.infra.test_rights import HANDLERS, granted, role_of

if TYPE_CHECKING:
    from tests.infra.played import Played


def test_the_table_on_the_page_is_what_the_simulator_says() -> None:
    assert table() in (ROOT / "docs" / "security.md").read_text("utf-8")


def test_no_cell_says_more_than_it_should() -> None:
    decided = cells()
    handler = f"handler of `{OWN}`"
    enqueuer = f"`grant_enqueue(..., {OWN!r})`"

    for who in (handler, "webhook sender", enqueuer):
        for column in ("other types' jobs", "others' dead letters", "audit records", "others' seats"):
            assert decided[who, column] == [], (who, column)
        assert decided[who, "control, registry"] == ["read"]
    assert decided[handler, "own type's jobs"] == ["read", "update"]
    assert decided[handler, "own dead letters"] == ["insert"]
    assert decided["poller", "own dead letters"] == decided["poller", "others' dead letters"] == ["insert"]
    assert decided["`grant_operate(...)`, HTTP API", "audit records"] == ["read", "insert"]
    assert decided[enqueuer, "own type's jobs"] == ["insert"]
    assert decided["webhook sender", "deliveries"] == ["read", "update"]
    assert decided["webhook sender", "own type's jobs"] == []
    assert decided["poller", "audit records"] == []
    for column in ("own type's jobs", "other types' jobs"):
        assert decided["schedule trigger", column] == ["insert"]


def test_an_update_that_names_no_attribute_is_refused() -> None:
    handler, own = role_of(f"{HANDLERS}{OWN}"), COLUMNS["own type's jobs"]
    named = [(), ("PK", "SK", "status"), ("PK", "SK", "payload")]

    asked = [(handler, Call("dynamodb:UpdateItem", own[0], (own[1],), each)) for each in named]
    # In a transaction nobody has seen yet that the key always comes: an end must not hang on it.
    enclosed = [(role, replace(call, enclosed_by="TransactWriteItems")) for role, call in asked]

    assert allowed([*asked, *enclosed]) == [False, True, False, True, True, False]
    decided = [bool(role.allowing(call)) for role, call in (*asked, *enclosed)]
    assert decided == [False, True, False, True, True, False]


@pytest.mark.dynoxide
def test_everything_that_was_called_is_allowed_by_the_simulator_too(played: Played) -> None:
    actors = [POLLER, REPORTER, PUBLISHER, TRIGGER, SENDER, ENQUEUER]
    actors += [actor for actor in played.calls if actor.startswith(HANDLERS)]
    asked = [(role_of(actor), call) for actor in actors for call in sorted(played.calls[actor], key=repr)]
    asked += [(granted("grant_enqueue"), call) for call in played.calls[PLAIN_ENQUEUER]]

    answers = zip(asked, allowed(asked), strict=True)
    refused = [(role.name, call) for (role, call), is_allowed in answers if not is_allowed]

    assert len(asked) > 100
    assert refused == []
