"""Pages of a listing, put together: a page of the admin service may be short and have a cursor all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.admin.job_documents import Document
    from leasehold.admin.pages import Page
    from leasehold.cli.terminal.output import Output
    from leasehold.cli.terminal.tables import Column

DEFAULT_LIMIT = 50
# A search that finds little is not gone on with for ever: so many pages, of ten requests at most each.
MAX_PAGES = 10
_PAGE = 100


class Fetch[Item](Protocol):
    def __call__(self, *, limit: int, cursor: str | None) -> Page[Item]: ...


def list_pages[Item](
    fetch: Fetch[Item],
    document: Callable[[Item], Document],
    columns: Sequence[Column],
    output: Output,
    *,
    limit: int,
    cursor: str | None,
    everything: bool,
) -> None:
    """Show up to `limit` items, or all of them. For programs: one document, or one item a line where all are wanted."""
    if everything and output.as_json:
        for page in _pages(fetch, cursor):
            for item in page.items:
                output.document(document(item))
            for each in page.unreadable:
                output.document({"unreadable": {"key": each.key, "problem": each.problem}})
        return
    page = _joined(_pages(fetch, cursor)) if everything else _up_to(limit, fetch, cursor)
    if output.as_json:
        from leasehold.admin.documents import page_document

        output.document(page_document(page, document))
        return
    if page.items:
        output.table(columns, [document(each) for each in page.items])
    else:
        output.hint("Nothing was found." if page.cursor is None else "Nothing was found yet.")
    for each in page.unreadable:
        output.hint(f"unreadable: {each.key}: {each.problem}")
    if page.cursor is not None:
        far = f" back to {page.reached:%Y-%m-%d %H:%M:%SZ}" if page.reached else ""
        output.hint(f"There may be more (searched {page.searched:,} entries{far}): --all, or --cursor {page.cursor}")


def _up_to[Item](limit: int, fetch: Fetch[Item], cursor: str | None) -> Page[Item]:
    from leasehold.admin.pages import check_limit

    if limit <= 0:
        check_limit(limit)
    joined = fetch(limit=min(limit, _PAGE), cursor=cursor)
    # A large limit is worth more pages than one that is small.
    for _ in range(max(MAX_PAGES, limit // _PAGE)):
        if joined.cursor is None or len(joined.items) >= limit:
            break
        joined = _join(joined, fetch(limit=min(limit - len(joined.items), _PAGE), cursor=joined.cursor))
    return joined


def _pages[Item](fetch: Fetch[Item], cursor: str | None) -> Iterator[Page[Item]]:
    while True:
        page = fetch(limit=_PAGE, cursor=cursor)
        yield page
        if page.cursor is None:
            return
        cursor = page.cursor


def _joined[Item](pages: Iterator[Page[Item]]) -> Page[Item]:
    joined = next(pages)
    for page in pages:
        joined = _join(joined, page)
    return joined


def _join[Item](first: Page[Item], then: Page[Item]) -> Page[Item]:
    return replace(
        then,
        items=first.items + then.items,
        unreadable=first.unreadable + then.unreadable,
        searched=first.searched + then.searched,
        is_ordered=first.is_ordered and then.is_ordered,
    )
