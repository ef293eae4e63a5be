"""A worker in a process of its own whose handler takes the whole process down, each time in another way."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobContext, Worker
from leasehold.aws.handovers import handover_of
from leasehold.features import Store
from leasehold.kernel.dynamodb.connection import connect
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.services import Services
from leasehold.testing import FakeClock

if TYPE_CHECKING:
    from typing import NoReturn

# What each attempt's parent process sees as its end.
DEATHS = (0, -signal.SIGKILL, 3)


class Nothing(BaseModel):
    """No field at all."""


class Deadly(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[BaseModel]:
        return Nothing

    def handle(self, payload: BaseModel, context: JobContext) -> NoReturn:
        death = DEATHS[(context.attempt - 1) % len(DEATHS)]
        if death < 0:
            os.kill(os.getpid(), -death)
        os._exit(death)


def main() -> None:
    order = json.loads(sys.stdin.read())
    names = TableNames(jobs=order["jobs"], dead_letters=order["dead_letters"])
    store = Store(DynamoTable(connect(endpoint_url=order["endpoint"]), names))
    services = Services(store=store, clock=FakeClock(datetime.fromisoformat(order["now"])))
    Worker(services, {"deadly": Deadly}, worker_id="dying").run(handover_of(order["handover"]))


if __name__ == "__main__":
    main()
