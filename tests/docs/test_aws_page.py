"""docs/aws.md says what the cases in tests/expectations say."""

from __future__ import annotations

from docs import generate_aws


def test_the_page_is_as_it_is_generated() -> None:
    assert generate_aws.PAGE.read_text() == generate_aws.page(), "run `make docs`"
