"""What `leasehold verify` asks IAM about is what the functions were seen to call, in names that fit every deployment.

LEASEHOLD_RECORD=1 .venv/bin/pytest tests/infra/test_recorded_calls.py      # writes the file anew
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from leasehold.verify.rights import recorded_calls
from tests.infra.deployed_functions import POLLER, REPORTER, SENDER, TRIGGER
from tests.local_project import ROOT

if TYPE_CHECKING:
    from tests.infra.played import Played

FILE = ROOT / "layers" / "leasehold" / "python" / "leasehold" / "verify" / "recorded_calls.json"
# The handler of a type with a limit, as most have.
KINDS = {
    "poller": POLLER,
    "handler": "leasehold-dev-job-backup",
    "sender": SENDER,
    "reporter": REPORTER,
    "trigger": TRIGGER,
}
_ID = r"[0-9a-f]{8}-[0-9a-f-]{27}"
_FORMS = (
    (r"job#[0-9a-f]{4}#\d+", "{job}"),
    (r"seat#type:.*", "seat#type:{type}"),
    (r"seat#key:.*", "seat#key:{type}:verify"),
    (r"seat#group:.*", "seat#group:verify"),
    (r"circuit#.*", "circuit#{type}"),
    (r"group#.*", "group#verify"),
    (r"scheduled-job#.*", "scheduled-job#{type}#verify"),
    (rf"(payload|system-payload)#{_ID}", r"\1#{id}"),
    (_ID, "{id}"),
)


def general(kind: str, action: str, resource: str, keys: tuple[str, ...]) -> list[tuple[str, str, str]]:
    if action == "lambda:InvokeFunction":
        function = resource.rpartition(":")[2]
        target = {"poller": "poller", "webhook-sender": "sender"}.get(function, "handler")
        # Only types with limits wake the poller.
        return [] if kind == "handler" else [(action, target, "")]
    if not action.startswith("dynamodb:"):
        return []  # other services are not asked for by partition
    place = resource.rpartition("table/")[2].replace("leasehold-dev-", "")
    if "/index/" in place:
        return [(action, place, "lane")]
    return [(action, place, _general(key)) for key in keys]


def _general(key: str) -> str:
    return next((re.sub(f"^{form}$", new, key) for form, new in _FORMS if re.fullmatch(form, key)), key)


def seen(played: Played) -> dict[str, list[tuple[str, str, str]]]:
    return {
        kind: sorted(
            {
                asked
                for call in played.calls[actor]
                for asked in general(kind, call.action, call.resource, call.leading_keys)
            }
        )
        for kind, actor in KINDS.items()
    }


def test_the_recorded_calls_are_those_that_the_functions_make(played: Played) -> None:
    now = seen(played)
    if os.environ.get("LEASEHOLD_RECORD"):
        FILE.write_text(_written(now))

    assert recorded_calls() == now


def _written(calls: dict[str, list[tuple[str, str, str]]]) -> str:
    parts = [
        f'  "{kind}": [\n' + ",\n".join(f"    {json.dumps(each)}" for each in asked) + "\n  ]"
        for kind, asked in calls.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"
