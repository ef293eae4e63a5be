"""docs/admin.md names what there is, and nothing else."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

from leasehold.admin import documents, job_documents, planning
from leasehold.admin import job_documents as resource_documents
from leasehold.admin.others import DeadLetterFilter
from leasehold.admin.pages import JobFilter, Page
from leasehold.admin.planning import Plan
from leasehold.admin.reading import Reader
from leasehold.kernel.transitions import JobStatus
from leasehold.webhooks.model import external_status
from tests.docs.markdown import text_of

PAGE = text_of("docs/admin.md")


def functions_of(module: object) -> set[str]:
    """The public functions that a module defines itself."""
    found = inspect.getmembers(module, inspect.isfunction)
    return {name for name, each in found if each.__module__ == module.__name__ and name.endswith("document")}  # type: ignore[attr-defined]


def test_every_call_of_the_reader_is_on_the_page() -> None:
    calls = {name for name, _ in inspect.getmembers(Reader, inspect.isfunction) if not name.startswith("_")}

    assert set(re.findall(r"`(\w+)\(", PAGE)) >= calls


def test_every_field_of_filters_and_pages_is_on_the_page() -> None:
    for kind in (JobFilter, DeadLetterFilter, Page):
        listed = re.search(rf"`{kind.__name__}\(([^)]*)\)", PAGE)
        assert listed is not None
        assert re.split(r",\s+", listed[1]) == [each.name for each in fields(kind)]


def test_the_plans_are_on_the_page_in_their_order() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \|.*\| `\w+`.*\|$", PAGE, re.MULTILINE)

    plans = [each.name for each in vars(planning).values() if isinstance(each, Plan)]

    assert plans
    assert [row for row in rows if row in plans] == plans


def test_every_document_of_the_domain_is_on_the_page_and_what_is_on_it_exists() -> None:
    ours = functions_of(job_documents) | functions_of(resource_documents)
    on_the_page = set(re.findall(r"(\w+_document)\b", PAGE)) - {"run_document"}

    assert on_the_page >= ours
    assert functions_of(documents) >= on_the_page - ours


def test_the_mapping_of_states_is_the_one_that_is_used() -> None:
    rows = dict(re.findall(r"^\| (`[a-z_`, ()]+.*?) \| `([A-Z]+)` \|$", PAGE, re.MULTILINE))

    for status in JobStatus:
        (state,) = [state for statuses, state in rows.items() if f"`{status}`" in statuses]
        assert state == external_status(status)
