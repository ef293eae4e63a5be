"""The policies as files, one per role, so that a review sees every right that a change gives or takes.

After a change that is meant: `make policies`, then look at the difference before you commit it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.infra.iam import roles_of
from tests.infra.synthesised import synthesised

if TYPE_CHECKING:
    from tests.infra.iam import Role

FOLDER = Path(__file__).parent / "policies"
ENVIRONMENTS = ("dev", "prod")


def snapshot_of(stage: str) -> dict[str, str]:
    """What each role may do, by file name."""
    return {f"{stage}/{name}.json": _text(role) for name, role in roles_of(synthesised(stage)).items()}


def committed(stage: str) -> dict[str, str]:
    return {f"{stage}/{path.name}": path.read_text() for path in sorted((FOLDER / stage).glob("*.json"))}


def write() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    for stage in ENVIRONMENTS:
        (FOLDER / stage).mkdir(parents=True)
        for name, text in snapshot_of(stage).items():
            (FOLDER / name).write_text(text)


def _text(role: Role) -> str:
    (trust,) = role.trust["Statement"]
    document = {
        "assumed_by": {"principal": trust["Principal"], **({"if": trust["Condition"]} if "Condition" in trust else {})},
        "may": [each.as_document() for each in role.statements],
    }
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    write()
