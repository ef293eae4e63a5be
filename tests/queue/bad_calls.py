"""Calls that every way to enqueue must refuse, and what the refusal says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from leasehold.kernel.dedup import Day, Within
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidJobIdError,
    InvalidJobTypeError,
    InvalidKeyError,
    InvalidOptionError,
    InvalidPayloadError,
    NaiveDatetimeError,
    PayloadTooLargeError,
    TimeOutOfRangeError,
    UnknownJobTypeError,
)
from leasehold.kernel.keys import LATEST
from leasehold.kernel.retry import Delays
from leasehold.testing.clock import DEFAULT_START


class Untyped(BaseModel):
    user: str = "u1"


class Unserialisable(BaseModel):
    thing: Any = None


@dataclass(frozen=True)
class Bad:
    """One bad call. `shows` is the value as the message shows it, `fix` a part of the way out."""

    error: type[InvalidInputError]
    shows: str
    reason: str
    fix: str
    job: Any = "user_sync"
    payload: Any = None
    options: dict[str, Any] = field(default_factory=dict)


A_DAY = timedelta(days=1)
CASES: dict[str, Bad] = {
    "unknown job type": Bad(UnknownJobTypeError, "'user_snyc'", "not deployed", "daily_summary", job="user_snyc"),
    "malformed job type": Bad(InvalidJobTypeError, "'User#Sync'", "a job type is", "daily_summary", job="User#Sync"),
    "empty job type": Bad(InvalidJobTypeError, "''", "a job type is", "Use a name like", job=""),
    "no job type": Bad(InvalidJobTypeError, "None", "a job type is", "Use a name like", job=None),
    "typed payload without a type": Bad(
        InvalidJobTypeError, "'Untyped'", "names no job type", "ClassVar[str]", job=Untyped()
    ),
    "typed payload and a payload": Bad(
        InvalidOptionError, "{}", "is the payload already", "only the model", job=Untyped(), payload={}
    ),
    "invalid payload": Bad(InvalidPayloadError, "{1}", "payload.tags is a set", "Use None", payload={"tags": {1}}),
    "a model class": Bad(InvalidPayloadError, "<class '", "JSON cannot carry", "Use None", payload=Untyped),
    "model that JSON cannot carry": Bad(
        InvalidPayloadError,
        "'Unserialisable'",
        "cannot be written as JSON",
        "Use fields",
        payload=Unserialisable(thing=object()),
    ),
    "NaN": Bad(InvalidPayloadError, "nan", "payload.x is not a finite", "use None", payload={"x": math.nan}),
    "NaN in a model": Bad(
        InvalidPayloadError,
        "nan",
        "payload.thing[0] is not a finite",
        "use None",
        payload=Unserialisable(thing=[math.nan]),
    ),
    "naive datetime in the payload": Bad(
        InvalidPayloadError,
        "datetime.datetime(2026",
        "has no timezone",
        "aware",
        payload={"at": datetime(2026, 1, 1)},  # noqa: DTZ001
    ),
    "oversized": Bad(PayloadTooLargeError, "'204803 bytes'", "limit of 204800", "elsewhere", payload="x" * 204_801),
    "naive run_at": Bad(
        NaiveDatetimeError,
        "datetime.datetime(2027",
        "run_at has no timezone",
        "Pass an aware",
        options={"run_at": datetime(2027, 1, 1)},  # noqa: DTZ001
    ),
    "a date as run_at": Bad(
        TimeOutOfRangeError,
        "datetime.date(2027",
        "run_at is not a datetime",
        "Pass an aware",
        options={"run_at": date(2027, 1, 1)},
    ),
    "run_at beyond the key": Bad(
        TimeOutOfRangeError,
        "datetime.datetime(9999",
        "outside of what a job's key can hold",
        "Choose a time from 1970",
        options={"run_at": datetime.max.replace(tzinfo=UTC)},
    ),
    "run_in beyond the key": Bad(
        TimeOutOfRangeError,
        "datetime.timedelta(days=999999999",
        "run_in is outside",
        "Choose a time from 1970",
        options={"run_in": timedelta.max},
    ),
    "run_in as a number": Bad(
        InvalidOptionError, "60", "run_in is a timedelta", "timedelta(seconds=...)", options={"run_in": 60}
    ),
    "run_at and run_in": Bad(
        InvalidOptionError,
        "(datetime.datetime(2026",
        "exclude each other",
        "Pass one",
        options={"run_at": DEFAULT_START, "run_in": A_DAY},
    ),
    "start_by in the past": Bad(
        InvalidOptionError,
        "'2025-12-31T00:00:00.000Z'",
        "not after the job's time",
        "later start_by",
        options={"start_by": DEFAULT_START - A_DAY},
    ),
    "start_by before run_at": Bad(
        InvalidOptionError,
        "'2026-01-02T00:00:00.000Z'",
        "not after the job's time",
        "later start_by",
        options={"start_by": DEFAULT_START + A_DAY, "run_in": 2 * A_DAY},
    ),
    "naive start_by": Bad(
        NaiveDatetimeError,
        "datetime.datetime(2027",
        "start_by has no timezone",
        "Pass an aware",
        options={"start_by": datetime(2027, 1, 1)},  # noqa: DTZ001
    ),
    "wrong priority": Bad(InvalidOptionError, "9", "no such priority", "HIGH=2", options={"priority": 9}),
    "priority of no name": Bad(
        InvalidOptionError, "'soon'", "no such priority", "HIGH=2", options={"priority": "soon"}
    ),
    "priority as truth": Bad(InvalidOptionError, "True", "no such priority", "HIGH=2", options={"priority": True}),
    "no attempts": Bad(InvalidOptionError, "0", "from 1 to 1000", "Correct it", options={"max_attempts": 0}),
    "endless attempts": Bad(InvalidOptionError, "1001", "from 1 to 1000", "Correct", options={"max_attempts": 1001}),
    "absurd attempts": Bad(
        InvalidOptionError, "<int too", "from 1 to 1000", "Correct", options={"max_attempts": 10**5000}
    ),
    "attempts as text": Bad(InvalidOptionError, "'3'", "from 1 to 1000", "Correct", options={"max_attempts": "3"}),
    "empty dedup key": Bad(InvalidKeyError, "''", "non-empty string", "1 to 256 bytes", options={"dedup_key": ""}),
    "injected dedup key": Bad(
        InvalidKeyError, "'u1#2026-11-15'", "no '#'", "without '#'", options={"dedup_key": "u1#2026-11-15"}
    ),
    "endless dedup key": Bad(
        InvalidKeyError, "'kkk", "at most 256 bytes", "1 to 256", options={"dedup_key": "k" * 257}
    ),
    "window without a key": Bad(
        InvalidOptionError, "Day(", "without a dedup_key", "Pass a key", options={"dedup_window": Day()}
    ),
    "unknown window": Bad(
        InvalidOptionError, "'day'", "no dedup window", "Day(...)", options={"dedup_key": "u1", "dedup_window": "day"}
    ),
    "day past the end of time": Bad(
        TimeOutOfRangeError,
        "datetime.datetime(9999",
        "the end of the dedup window",
        "Choose an earlier",
        options={"run_at": LATEST, "dedup_key": "u1", "dedup_window": Day()},
    ),
    "window past the end of time": Bad(
        TimeOutOfRangeError,
        "datetime.timedelta(days=1)",
        "the end of the dedup window",
        "Choose a time",
        options={"run_at": LATEST, "dedup_key": "u1", "dedup_window": Within(A_DAY)},
    ),
    "empty concurrency key": Bad(
        InvalidKeyError, "''", "non-empty string", "1 to 256 bytes", options={"concurrency_key": ""}
    ),
    "injected concurrency key": Bad(
        InvalidKeyError, "'a#b'", "no '#'", "without '#'", options={"concurrency_key": "a#b"}
    ),
    "empty retry_of": Bad(InvalidJobIdError, "''", "not a job id", "enqueue returned", options={"retry_of": ""}),
    "foreign retry_of": Bad(
        InvalidJobIdError,
        "'8f14e45f-",
        "not an id that Leasehold made",
        "enqueue returned",
        options={"retry_of": "8f14e45f-ceea-467f-a8b1-2c3d4e5f6071"},
    ),
    "empty created_by": Bad(InvalidOptionError, "''", "created_by is 1 to 256", "Correct", options={"created_by": ""}),
    "malformed template": Bad(
        InvalidKeyError, "'a#b'", "a template's name is", "nightly-report", options={"template": "a#b"}
    ),
    "a policy by its name": Bad(
        InvalidOptionError, "'fixed'", "is Exponential, Fixed or Delays", "Use Fixed", options={"retry": "fixed"}
    ),
    "a table of too many delays": Bad(
        InvalidOptionError, "51", "at most 50 delays", "Use fewer", options={"retry": Delays((A_DAY,) * 51)}
    ),
    "a webhook without TLS": Bad(
        InvalidOptionError, "'http://a.b'", "an https address", "like https://", options={"webhook": "http://a.b"}
    ),
    "a webhook with a password": Bad(
        InvalidOptionError, "'https://…@a.b'", "without user", "like https://", options={"webhook": "https://u:p@a.b"}
    ),
    "unprintable trace": Bad(InvalidOptionError, r"'a\nb'", "trace is 1 to 256", "Correct", options={"trace": "a\nb"}),
}
