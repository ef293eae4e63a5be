"""Brings one user's profile in line with its source.

Replace `source` and `target` in the payload by calls to your directory and your database, and apply the changes there.
"""

from __future__ import annotations

from pydantic import BaseModel

from leasehold import BaseJobHandler, Skip


class UserSync(BaseModel):
    user_id: str
    source: dict[str, str]
    target: dict[str, str]


class UserSyncHandler(BaseJobHandler[UserSync]):
    def handle(self, payload: UserSync) -> dict[str, object]:
        changes = {name: value for name, value in payload.source.items() if payload.target.get(name) != value}
        gone = sorted(payload.target.keys() - payload.source.keys())
        if not changes and not gone:
            raise Skip(f"user {payload.user_id} is in sync")
        # Setting and removing give the same profile however often they are done.
        return {"user_id": payload.user_id, "set": changes, "remove": gone}
