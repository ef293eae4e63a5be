"""The page for operators names the defaults that the code has."""

from __future__ import annotations

from leasehold.kernel.retry import DEFAULT_MAX_ATTEMPTS, Exponential
from tests.docs.markdown import text_of


def test_the_default_retry_policy_stands_there_with_its_jitter() -> None:
    page, default = text_of("docs/operations.md"), Exponential()
    base, cap = (round(each.total_seconds()) for each in (default.base, default.cap))

    assert f'`base = "{base // 60}m"`, `cap = "{cap // 3600}h"`, `jitter = {default.jitter:g}`' in page
    assert f"`max_attempts` (default {DEFAULT_MAX_ATTEMPTS})" in page
