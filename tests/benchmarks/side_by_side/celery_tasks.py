"""A Celery application on SQS, run by the Python of .venv-celery: it knows nothing of Leasehold.

python celery_tasks.py           send as many tasks as each line of its input says, and say when the first one was sent
celery -A celery_tasks worker    work on them
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import Celery  # type: ignore[import-not-found]

_QUEUE = "celery-bench"
_ENDPOINT = os.environ["BENCH_ENDPOINT"]
_DONE = os.environ["BENCH_DONE_FILE"]
_SENDERS = int(os.environ["BENCH_SENDERS"])

app: Any = Celery("bench", broker=f"sqs://bench:bench@{_ENDPOINT.removeprefix('http://')}//")
app.conf.update(
    task_default_queue=_QUEUE,
    # At least once, as Leasehold has it: a worker that dies gives its task back.
    task_acks_late=True,
    task_ignore_result=True,
    # Celery's default, four tasks a thread. With one, a worker that receives as many as it has threads asks again only
    # after a second, now and then: github.com/celery/celery/issues/6941.
    worker_prefetch_multiplier=4,
    broker_connection_retry_on_startup=True,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    broker_transport_options={
        "region": "us-east-1",
        "is_secure": False,
        "wait_time_seconds": 20,
        "predefined_queues": {_QUEUE: {"url": os.environ["BENCH_QUEUE_URL"]}},
    },
)


@app.task(name="send_order_receipt")
def send_order_receipt(order_id: str, note: str) -> None:
    """Nothing but the moment at which it was done: one short append, which no other process can interrupt."""
    with open(_DONE, "a", buffering=1) as done:
        done.write(f"{time.time()}\n")


def send(count: int, senders: ThreadPoolExecutor) -> None:
    began = time.time()
    # A group sends its tasks one by one as well, and from one thread.
    list(senders.map(lambda _: send_order_receipt.delay("o-20260101-000417", "thank you"), range(count)))
    print(began, flush=True)


if __name__ == "__main__":
    with ThreadPoolExecutor(max_workers=_SENDERS) as pool:
        for line in sys.stdin:
            send(int(line), pool)
