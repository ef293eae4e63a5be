"""Text is bounded in bytes and never cut inside a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.payload import shortened


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(4, 60))
def test_a_shortened_text_fits_and_keeps_its_end(text, limit):
    short = shortened(text, limit)

    assert len(short.encode()) <= limit
    if len(text.encode()) <= limit:
        assert short == text
    else:
        assert short.startswith("…")
        assert text.endswith(short[1:])
        # Nothing that fits is given up, except the part of a character that the limit cuts through.
        assert len(short.encode()) > limit - 4


def test_half_a_surrogate_pair_in_an_error_cannot_stop_it_from_being_stored():
    assert shortened("bad \ud83e name", 100) == "bad ? name"
