"""Direct runs: asked for, waited for a while, and looked at later where they take longer."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.admin.documents import direct_run_document
from leasehold.api.answers import Answer, answered
from leasehold.api.bodies import DirectRunBody
from leasehold.api.callers import Operation, asked_for
from leasehold.direct_runs.model import DirectState
from leasehold.direct_runs.run import DirectOrder, accept, find_direct, make_run_id, wait_for_direct
from leasehold.kernel.payload import encode_value

if TYPE_CHECKING:
    from leasehold.api.callers import Call
    from leasehold.kernel.payload import Json


def start(call: Call) -> Answer:
    body = asked_for(DirectRunBody, call.body)
    order = DirectOrder(
        # The key is in the id: whoever asks again finds the same run, and its result.
        run_id=make_run_id(call.services) if call.asked is None else f"direct-{call.asked.name}",
        job_type=body.job_type,
        payload_text=encode_value(cast("Json", body.payload)),
        timeout=timedelta(seconds=body.timeout),
        reason=body.reason,
        key="" if call.asked is None else call.asked.key,
        fingerprint="" if call.asked is None else call.asked.fingerprint,
    )
    request = accept(order, call.services)
    if request.state is DirectState.ACCEPTED:
        # Started twice, it is begun once: see DirectRequests.take.
        call.starter.start(request.run_id)
    request = wait_for_direct(request.run_id, call.services, patience=call.patience)
    now = call.services.clock.now()
    document = direct_run_document(request, now)
    if request.state_at(now).has_ended:
        return answered(document)
    headers = {"Location": f"/api/direct-runs/{request.run_id}", "Retry-After": "5"}
    return Answer(status=202, document=document, headers=headers)


def show(call: Call) -> Answer:
    return answered(direct_run_document(find_direct(call.path["run_id"], call.services), call.services.clock.now()))


OPERATIONS = (
    Operation(
        method="POST",
        path="/api/direct-runs",
        name="start_direct_run",
        summary="Run a handler now, without a job; 202 with an id to ask for where it takes longer than 25 s",
        act=start,
        body=DirectRunBody,
        takes_key=True,
        answers={200: "DirectRun", 202: "DirectRun"},
    ),
    Operation(
        method="GET",
        path="/api/direct-runs/{run_id}",
        name="get_direct_run",
        summary="How a direct run goes or went; kept for a day",
        act=show,
        answers={200: "DirectRun"},
    ),
)
