"""Figures and the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin.documents import (
    audit_document,
    backlog_document,
    counts_document,
    last_hour_document,
    page_document,
)
from leasehold.api.answers import answered
from leasehold.api.callers import Operation, asked_for
from leasehold.api.requests import AuditQuery

if TYPE_CHECKING:
    from leasehold.api.answers import Answer
    from leasehold.api.callers import Call


def counts(call: Call) -> Answer:
    return answered(counts_document(call.read.counts()))


def last_hour(call: Call) -> Answer:
    hour = call.read.last_hour()
    return answered({} if hour is None else last_hour_document(hour))


def backlog(call: Call) -> Answer:
    return answered(backlog_document(call.read.backlog()))


def audit(call: Call) -> Answer:
    query = asked_for(AuditQuery, call.query)
    page = call.audit.records(query.target, limit=query.limit, cursor=query.cursor)
    return answered(page_document(page, audit_document))


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/counts",
        name="get_counts",
        summary="Jobs per status and type, up to 10,000 each",
        act=counts,
        answers={200: "Counts"},
    ),
    Operation(
        method="GET",
        path="/api/last-hour",
        name="get_last_hour",
        summary="Ends per minute, and lateness; empty where there is no ended index",
        act=last_hour,
        answers={200: "LastHour"},
    ),
    Operation(
        method="GET",
        path="/api/backlog",
        name="get_backlog",
        summary="What is due and unclaimed, per type",
        act=backlog,
        answers={200: "Backlog"},
    ),
    Operation(
        method="GET",
        path="/api/audit",
        name="list_audit",
        summary="Who did what, when and why, the newest first: to one target, or to anything",
        act=audit,
        query=AuditQuery,
        answers={200: "AuditPage"},
    ),
)
