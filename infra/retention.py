"""How long CloudWatch keeps logs: CDK names the numbers that it accepts, and does not say them."""

from __future__ import annotations

from aws_cdk import aws_logs as logs

from leasehold.settings.job_toml import LOG_RETENTION_DAYS

_NAMES = (
    *("ONE_DAY", "THREE_DAYS", "FIVE_DAYS", "ONE_WEEK", "TWO_WEEKS", "ONE_MONTH", "TWO_MONTHS", "THREE_MONTHS"),
    *("FOUR_MONTHS", "FIVE_MONTHS", "SIX_MONTHS", "ONE_YEAR", "THIRTEEN_MONTHS", "EIGHTEEN_MONTHS", "TWO_YEARS"),
    *("THREE_YEARS", "FIVE_YEARS", "SIX_YEARS", "SEVEN_YEARS", "EIGHT_YEARS", "NINE_YEARS", "TEN_YEARS"),
)


def retention_of(days: int) -> logs.RetentionDays:
    """The name of a number of days that `LOG_RETENTION_DAYS` holds."""
    return logs.RetentionDays[dict(zip(LOG_RETENTION_DAYS, _NAMES, strict=True))[days]]
