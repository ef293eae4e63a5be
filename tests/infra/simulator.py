"""An IAM simulator that others wrote (npm, `@cloud-copilot/iam-simulate`), asked about roles and calls of ours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from app import ROOT
from tests.infra.cloudformation import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.infra.iam import Call, Role, Statement

_PROGRAM = Path(__file__).with_name("simulate.mjs")
ALLOWED = "Allowed"
_REFUSED = {"ImplicitlyDenied", "ExplicitlyDenied"}


def allowed(asked: Sequence[tuple[Role, Call]]) -> list[bool]:
    """Whether each role may make each call. One process answers for all of them."""
    # By number: roles of several apps may have one name.
    roles = list({id(role): role for role, _ in asked}.values())
    numbers = {id(role): str(number) for number, role in enumerate(roles)}
    document = {
        "account": ACCOUNT,
        "statements": {numbers[id(role)]: [_document(each) for each in role.statements] for role in roles},
        "calls": [
            {
                "role": numbers[id(role)],
                "action": call.action,
                "resource": call.resource,
                "leading_keys": call.leading_keys,
                "attributes": call.attributes,
                "enclosed_by": call.enclosed_by,
            }
            for role, call in asked
        ],
    }
    command, told = ["node", str(_PROGRAM)], json.dumps(document)
    ran = subprocess.run(command, input=told, capture_output=True, text=True, cwd=ROOT, check=True, timeout=300)
    answers = json.loads(ran.stdout)
    unknown = {answer for answer in answers if answer != ALLOWED} - _REFUSED
    assert not unknown, unknown
    return [answer == ALLOWED for answer in answers]


def _document(statement: Statement) -> dict[str, object]:
    return {name: value for name, value in statement.as_document().items() if name != "Sid" or value}
