"""The table of rights in docs/security.md: who may do what, each cell decided by an IAM simulator that others wrote."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leasehold.kernel.keys import JobPartition, make_job_id, type_code
from tests.infra.cloudformation import ACCOUNT, REGION
from tests.infra.deployed_functions import POLLER, PUBLISHER, REPORTER, SENDER, TRIGGER
from tests.infra.iam import Call, roles_of
from tests.infra.simulator import allowed
from tests.infra.synthesised import synthesised

if TYPE_CHECKING:
    from tests.infra.iam import Role

JOBS = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/leasehold-dev-jobs"
LETTERS = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/leasehold-dev-dead-letters"
OWN, OTHER = "backup", "daily_summary"
_AT = datetime(2026, 11, 15, tzinfo=UTC)
_VERBS = {
    "read": ("GetItem",),
    "insert": ("PartiQLInsert",),
    "put": ("PutItem",),
    "update": ("UpdateItem", "PartiQLUpdate"),
    "delete": ("DeleteItem",),
}


def _partition(job_type: str) -> str:
    return JobPartition(type_code(job_type)).name


def _dead_letter(job_type: str) -> str:
    return make_job_id(_AT, JobPartition(type_code(job_type)), 7)


# What a column is about: the table, and a partition of it.
COLUMNS = {
    "own type's jobs": (JOBS, _partition(OWN)),
    "other types' jobs": (JOBS, _partition(OTHER)),
    "own dead letters": (LETTERS, _dead_letter(OWN)),
    "others' dead letters": (LETTERS, _dead_letter(OTHER)),
    "control, registry": (JOBS, "control"),
    "audit records": (JOBS, f"audit#job#{_dead_letter(OWN)}"),
    "deliveries": (JOBS, "system#0"),
    "own seats": (JOBS, f"seat#type:{OWN}"),
    "others' seats": (JOBS, f"seat#type:{OTHER}"),
}


def subjects() -> dict[str, Role]:
    from tests.infra.test_rights import granted

    deployed = roles_of(synthesised("dev"))
    return {
        f"handler of `{OWN}`": deployed[f"leasehold-dev-job-{OWN}"],
        "webhook sender": deployed[SENDER],
        f"`grant_enqueue(..., {OWN!r})`": granted("grant_enqueue", types=(OWN,)),
        f"`grant_deduplicate(..., {OWN!r})`": granted("grant_deduplicate", types=(OWN,)),
        "schedule trigger": deployed[TRIGGER],
        "poller": deployed[POLLER],
        "dead-letter reporter": deployed[REPORTER],
        "registry publisher": deployed[PUBLISHER],
        "`grant_read(...)`": granted("grant_read"),
        # The HTTP API has the same, and keeps idempotency keys and direct runs besides.
        "`grant_operate(...)`, HTTP API": granted("grant_operate"),
    }


def cells() -> dict[tuple[str, str], list[str]]:
    """For each row and column the verbs that are allowed there."""
    asked = [
        ((who, column, verb), (role, Call(f"dynamodb:{action}", table, (key,))))
        for who, role in subjects().items()
        for column, (table, key) in COLUMNS.items()
        for verb, actions in _VERBS.items()
        for action in actions
    ]
    found: dict[tuple[str, str], list[str]] = {(who, column): [] for (who, column, _), _ in asked}
    for ((who, column, verb), _), is_allowed in zip(asked, allowed([each for _, each in asked]), strict=True):
        if is_allowed and verb not in found[who, column]:
            found[who, column].append(verb)
    return found


def table() -> str:
    decided = cells()
    rows = [["who", *COLUMNS], ["---"] * (len(COLUMNS) + 1)]
    rows += [[who, *(", ".join(decided[who, column]) or "no" for column in COLUMNS)] for who in subjects()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(table())
