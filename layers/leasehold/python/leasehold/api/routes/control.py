"""Control: what is stopped and what is deployed; halt and resume, all or one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.admin.documents import control_document
from leasehold.admin.job_documents import set_only
from leasehold.api.answers import answered
from leasehold.api.bodies import ReasonBody
from leasehold.api.callers import Operation, asked_for

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Call


def show(call: Call) -> Answer:
    return answered(control_document(call.read.control()))


def payload_schema(call: Call) -> Answer:
    job_type = call.path["job_type"]
    return answered({"job_type": job_type, **set_only(payload_schema=call.read.payload_schema(job_type))})


def halt(call: Call) -> Answer:
    return answered({"changed": call.queue.operator.halt(reason=asked_for(ReasonBody, call.body).reason)})


def resume(call: Call) -> Answer:
    return answered({"changed": call.queue.operator.resume(reason=asked_for(ReasonBody, call.body).reason)})


def pause_type(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered({"changed": call.queue.operator.pause(call.path["job_type"], reason=reason)})


def resume_type(call: Call) -> Answer:
    reason = asked_for(ReasonBody, call.body).reason
    return answered({"changed": call.queue.operator.unpause(call.path["job_type"], reason=reason)})


def _switch(path: str, name: str, summary: str, act: Any) -> Operation:
    return Operation(
        method="POST",
        path=f"/api/control/{path}",
        name=name,
        summary=summary,
        act=act,
        body=ReasonBody,
        answers={200: "Switched"},
    )


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/control",
        name="get_control",
        summary="What is halted, paused and reserved, by whom and why, and what is deployed",
        act=show,
        answers={200: "Control"},
    ),
    Operation(
        method="GET",
        path="/api/control/types/{job_type}/payload-schema",
        name="get_payload_schema",
        summary="The JSON schema of a type's payloads, where its handler has a model",
        act=payload_schema,
        answers={200: "PayloadSchema"},
    ),
    _switch("halt", "halt", "Stop the whole system: no enqueue, no claim; running jobs finish", halt),
    _switch("resume", "resume", "Lift the halt", resume),
    _switch("types/{job_type}/pause", "pause_type", "Start no more jobs of one type", pause_type),
    _switch("types/{job_type}/resume", "resume_type", "Lift a pause, or close an open circuit", resume_type),
)
