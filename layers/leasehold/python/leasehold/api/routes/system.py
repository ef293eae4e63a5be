"""The system: what is stopped and what is deployed, halt and resume; figures, audit trail, the API's description."""

from __future__ import annotations

from leasehold.admin.documents import audit_document, page_document
from leasehold.api.bodies import ReasonBody
from leasehold.api.operations import Call, route
from leasehold.api.requests import AuditQuery
from leasehold.aws.api_access import Role
from leasehold.documents import Document, set_only


@route("GET /api/control", Role.VIEWER, "Control")
def get_control(call: Call) -> Document:
    """What is halted, paused and reserved, by whom and why, and what is deployed."""
    return call.read.control()


@route("GET /api/control/types/{job_type}/payload-schema", Role.VIEWER, "PayloadSchema")
def get_payload_schema(call: Call, job_type: str) -> Document:
    """The JSON schema of a type's payloads, where its handler has a model."""
    return {"job_type": job_type, **set_only(payload_schema=call.read.payload_schema(job_type))}


@route("POST /api/control/halt", Role.ADMIN, "Switched")
def halt(call: Call, body: ReasonBody) -> Document:
    """Stop the whole system: no enqueue, no claim; running jobs finish."""
    return {"changed": call.queue.operator.halt(reason=body.reason)}


@route("POST /api/control/resume", Role.ADMIN, "Switched")
def resume(call: Call, body: ReasonBody) -> Document:
    """Lift the halt."""
    return {"changed": call.queue.operator.resume(reason=body.reason)}


@route("POST /api/control/types/{job_type}/pause", Role.OPERATOR, "Switched")
def pause_type(call: Call, job_type: str, body: ReasonBody) -> Document:
    """Start no more jobs of one type."""
    return {"changed": call.queue.operator.pause(job_type, reason=body.reason)}


@route("POST /api/control/types/{job_type}/resume", Role.OPERATOR, "Switched")
def resume_type(call: Call, job_type: str, body: ReasonBody) -> Document:
    """Lift a pause, or close an open circuit."""
    return {"changed": call.queue.operator.unpause(job_type, reason=body.reason)}


@route("GET /api/counts", Role.VIEWER, "Counts")
def get_counts(call: Call) -> Document:
    """Jobs per status and type, up to 10,000 each."""
    return call.read.counts()


@route("GET /api/last-hour", Role.VIEWER, "LastHour")
def get_last_hour(call: Call) -> Document:
    """Ends per minute, and lateness; empty where there is no ended index."""
    return call.read.last_hour() or {}


@route("GET /api/backlog", Role.VIEWER, "Backlog")
def get_backlog(call: Call) -> Document:
    """What is due and unclaimed, per type."""
    return call.read.backlog()


@route("GET /api/audit", Role.VIEWER, "AuditPage")
def list_audit(call: Call, query: AuditQuery) -> Document:
    """Who did what, when and why, the newest first: to one target, or to anything."""
    return page_document(call.audit.records(**dict(query)), audit_document)


@route("GET /api/openapi.json", Role.VIEWER, "OpenApi")
def get_openapi(call: Call) -> Document:
    """This description, as OpenAPI 3.1."""
    # It takes as long to import as all the rest: only who asks for it pays.
    from leasehold.api.document import openapi_document, with_examples

    return with_examples(openapi_document(), call.read.payload_examples())
