"""Pages of a listing, put together: a page of the admin service may be short and have a cursor all the same."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leasehold.admin.pages import Page
    from leasehold.cli.options import Pages
    from leasehold.cli.output import Output
    from leasehold.cli.terminal import Column
    from leasehold.documents import Document

    type Fetch[Item] = Callable[..., Page[Item]]

# A search that finds little is not gone on with for ever: so many pages, of ten requests at most each.
MAX_PAGES = 10
_PAGE = 100


def list_pages[Item](
    fetch: Fetch[Item],
    document: Callable[[Item], Document],
    columns: Sequence[Column],
    output: Output,
    asked: Pages,
) -> None:
    """Show up to `limit` items, or all of them. For programs: one document, or one item a line where all are wanted."""
    if asked.everything and output.as_json:
        for page in _pages(fetch, asked):
            for item in page.items:
                output.document(document(item))
            for each in page.unreadable:
                output.document({"unreadable": {"key": each.key, "problem": each.problem}})
        return
    page = reduce(_join, _pages(fetch, asked))
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


def _pages[Item](fetch: Fetch[Item], asked: Pages) -> Iterator[Page[Item]]:
    cursor, left = asked.cursor, asked.limit
    # A large limit is worth more pages than one that is small.
    for more in count(max(MAX_PAGES, asked.limit // _PAGE), -1):
        page = fetch(limit=_PAGE if asked.everything else min(left, _PAGE), cursor=cursor)
        yield page
        cursor, left = page.cursor, left - len(page.items)
        if cursor is None or (not asked.everything and (left <= 0 or more <= 0)):
            return


def _join[Item](first: Page[Item], then: Page[Item]) -> Page[Item]:
    return replace(
        then,
        items=first.items + then.items,
        unreadable=first.unreadable + then.unreadable,
        searched=first.searched + then.searched,
        is_ordered=first.is_ordered and then.is_ordered,
    )
