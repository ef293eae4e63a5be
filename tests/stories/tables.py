"""Tables of values: what pure functions answer at their bounds, and what every error says."""

# mypy: disable-error-code="misc, arg-type, dict-item"
# Values of every kind are given on purpose.
from __future__ import annotations

import inspect
import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

import leasehold
from leasehold import (
    CircuitBreaker,
    Day,
    Delays,
    Exponential,
    Fixed,
    JobType,
    Rate,
    Registry,
    Retention,
    Snooze,
    Within,
)
from leasehold.admin import job_documents
from leasehold.audit.records import fits
from leasehold.aws.handovers import handovers_in
from leasehold.batches.execute import starts_together
from leasehold.batches.model import Batch
from leasehold.job_folders.folder import function_timeout
from leasehold.kernel import errors, job, keys, lanes, partitions, payload, payload_forms, retry, table, times
from leasehold.kernel.hooks import NOTHING, Hooks
from leasehold.kernel.ports import SystemRandomSource
from leasehold.kernel.type_options import parse_attempts, parse_key
from leasehold.limits import lanes as held
from leasehold.limits import scopes
from leasehold.limits.model import Places, key_of_scope, type_of_scope, weight_of
from leasehold.pollers import sharing
from leasehold.pollers.sharing import Part
from tests.stories.recording import START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
JOB_ID = "019b76da-a800-8008-a44f-d9cd560b9640"


def _line(what: str, call: Callable[[], object]) -> str:
    try:
        answer = call()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return f"{what}: {said if len(said) < 300 else said[:120] + '…' + said[-170:]}"
    return f"{what}: {answer if len(str(answer)) < 300 else f'{len(str(answer))} characters'}"


def options() -> Iterator[str]:  # noqa: PLR0912  a table, row by row
    """Options at their bounds"""
    for seats in (0, 1, 999, 1000, True, "1", 1.0, None):
        yield _line(f"a rate of {seats!r}", lambda each=seats: Rate(each, SECOND))
        yield _line(f"concurrency {seats!r}", lambda each=seats: JobType(name="a", concurrency=each).concurrency)
        yield _line(f"per key {seats!r}", lambda each=seats: JobType(name="a", concurrency_per_key=each).is_limited)
        yield _line(f"weight {seats!r}", lambda each=seats: JobType(name="a", weight=each).weight)
        yield _line(f"weights {seats!r}", lambda each=seats: JobType(name="a", weights={"k": each}).weights)
        yield _line(f"in all {seats!r}", lambda each=seats: Registry(types={}, concurrency=each).concurrency)
        yield _line(f"gpu {seats!r}", lambda each=seats: Registry(types={}, resources={"gpu": each}).resources)
        yield _line(f"attempts {seats!r}", lambda each=seats: parse_attempts(each))
    yield _line("attempts 1001", lambda: parse_attempts(1001))
    for per in (SECOND / 2, SECOND, DAY, DAY + SECOND):
        yield _line(f"a rate per {per}", lambda each=per: Rate(1, each))
        yield _line(f"a window of {per}", lambda each=per: CircuitBreaker(window=each).window)
    for wait in (9 * SECOND, 10 * SECOND, timedelta(hours=1), DAY, DAY + SECOND):
        yield _line(f"a probe after {wait}", lambda each=wait: CircuitBreaker(probe_after=each, longest_pause=DAY))
        yield _line(f"a pause of {wait}", lambda each=wait: CircuitBreaker(longest_pause=each).longest_pause)
    for rate in (0, 0.001, 1, 1.1, -1, True, "1"):
        yield _line(f"a failure rate of {rate!r}", lambda each=rate: CircuitBreaker(failure_rate=each).failure_rate)
    for runs in (0, 1, 1_000_000, 1_000_001, True):
        yield _line(f"{runs!r} runs", lambda each=runs: CircuitBreaker(min_runs=each).min_runs)
    for size in (1, 2, 100, 101):
        yield _line(f"a batch of {size}", lambda each=size: Batch(size=each))
    for wait in (-SECOND, 0 * SECOND, 300 * SECOND, 301 * SECOND):
        yield _line(f"a batch waits {wait}", lambda each=wait: Batch(wait=each))
        yield _line(f"kept for {wait}", lambda each=wait: Retention(completed=each))
        yield _line(f"dead for {wait}", lambda each=wait: Retention(dead_letter=each))
        yield _line(f"timeout {wait}", lambda each=wait: JobType(name="a", timeout=each).timeout)
        yield _line(f"event age {wait}", lambda each=wait: JobType(name="a", max_event_age=each).max_event_age)
        yield _line(f"within {wait}", lambda each=wait: Within(each))
        yield _line(f"snooze {wait}", lambda each=wait: Snooze(each).delay)
        yield _line(f"fixed {wait}", lambda each=wait: Fixed(each))
        yield _line(f"delays {wait}", lambda each=wait: Delays((SECOND, each)))
        yield _line(f"base {wait}", lambda each=wait: Exponential(base=each))
        yield _line(f"cap {wait}", lambda each=wait: Exponential(cap=each))
    for long in (timedelta(days=365), timedelta(days=366), timedelta(days=400), timedelta(days=3650)):
        yield _line(f"snooze {long}", lambda each=long: Snooze(each).delay)
        yield _line(f"fixed {long}", lambda each=long: Fixed(each))
        yield _line(f"cap {long}", lambda each=long: Exponential(cap=each))
        yield _line(f"delays {long}", lambda each=long: Delays((each,)))
    for jitter in (-0.1, 0, 1, 1.1):
        yield _line(f"jitter {jitter}", lambda each=jitter: Exponential(jitter=each))
    yield _line("no delays", lambda: Delays(()))
    yield _line("a day of nowhere", lambda: Day("Nowhere/City"))
    for lease in (14, 15, 124, 125):
        for heartbeat in (False, True):
            given = {"name": "a", "lease": lease * SECOND, "heartbeat": heartbeat}
            yield _line(f"lease {lease}, heartbeat {heartbeat}", lambda each=given: JobType(**each).longest_hold)
    for code in (0, 1, 0xFFFE, 0xFFFF, 0x10000):
        yield _line(f"code {code}", lambda each=code: JobType(name="a", code=each).code)
    for name in ("", "a", "A", "1a", "a" * 64, "a" * 65, "a-b", "a_b", None):
        yield _line(f"type {name!r}", lambda each=name: JobType(name=each).name)
        yield _line(f"resource {name!r}", lambda each=name: Registry(types={}, resources={each: 1}).resources)
        yield _line(f"needs {name!r}", lambda each=name: JobType(name="a", resources=(each,)).resources)
    for shards in (0, 1, 256, 257):
        yield _line(f"{shards} shards", lambda each=shards: Registry(types={}, shards=each).shards)
    same = {"a": JobType(name="a", code=0x1000), "b": JobType(name="b", code=0x1000)}
    yield _line("two with one code", lambda: Registry(types=same))
    yield _line("two with one code, not isolated", lambda: len(Registry(types=same, isolate_types=False).types))
    for batch, timeout in ((None, 60), (10, 60), (14, 60), (15, 60), (100, 60), (10, 89), (10, 90), (2, 890), (2, 900)):
        a = JobType(name="a", timeout=timeout * SECOND, batch=Batch(size=batch) if batch else None)
        figures = (starts_together(a), a.longest_run, function_timeout(a), a.full_lease, a.lease_length)
        yield f"batch {batch}, timeout {timeout}: {', '.join(map(str, figures))}"


def values() -> Iterator[str]:  # noqa: PLR0912
    """Keys, times, texts and turns"""
    jitter = Exponential(10 * SECOND, 100 * SECOND, 0.5)
    for attempts in (1, 2, 3, 4, 5, 6, 63, 64, 65, 66, 1000):
        told = [retry.retry_delay(each, attempts, 0.5) for each in (jitter, Exponential(), Fixed(SECOND))]
        table_of = Delays((SECOND, 2 * SECOND, 3 * SECOND))
        yield f"retry {attempts}: {', '.join(map(str, told))}, {retry.retry_delay(table_of, attempts, 0.9)}"
        yield f"hand over {attempts}: {retry.hand_over_backoff(attempts, 0.5)}"
    yield f"hand over 0: {retry.hand_over_backoff(0, 0.5)}"
    yield _line("many delays", lambda: retry.parse_retry(Delays((SECOND,) * 100)))
    for count in (10, 20, 30, 31, 32, 33, 50, 51, 64, 65):
        yield _line(f"{count} delays", lambda each=count: len(retry.parse_retry(Delays((SECOND,) * each)).delays))  # type: ignore[union-attr]
    yield _line("whole jitter", lambda: retry.parse_retry(Exponential(jitter=1)))
    yield _line("fixed", lambda: retry.parse_retry(Fixed(SECOND)))
    yield _line("no policy", lambda: retry.parse_retry("often"))
    for policy in (jitter, Fixed(SECOND), Delays((SECOND, 2 * SECOND))):
        text = retry.retry_text(policy)
        yield f"{policy} is stored as {text}, read {retry.retry_of_text(text) == policy}"
    yield _line("an unknown policy", lambda: retry.retry_of({"odd": 1}))
    moments = (
        START,
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
        datetime(2026, 1, 1, 0, 0, 0, 999999, tzinfo=timezone(timedelta(hours=2))),
        datetime(2026, 1, 1),  # noqa: DTZ001
        "soon",
    )
    for moment in moments:
        at: Any = moment
        yield _line(f"instant {moment}", lambda each=at: times.instant(each))
        yield _line(f"run at {moment}", lambda each=at: times.due_time(each, None, START))
        yield _line(f"start by {moment}", lambda each=at: times.start_limit(each, START))
    for delay in (-SECOND, 0 * SECOND, timedelta(milliseconds=1), timedelta(days=3_000_000), timedelta.max, "soon"):
        wait: Any = delay
        yield _line(f"run in {delay}", lambda each=wait: times.due_time(None, each, START))
    yield _line("at and in", lambda: times.due_time(START, SECOND, START))
    yield _line("neither", lambda: times.due_time(None, None, START))
    yield _line("later", lambda: times.later(START, timedelta.max))
    for word in ("", "a", "x" * 256, "x" * 257, "ü" * 128, "ü" * 129, "a#b", "a\nb", "\ud800", None, 7):
        key: Any = word
        yield _line(f"key {str(word)[:9]!a}", lambda each=key: parse_key(each, "dedup key"))
        yield _line(f"fits {str(word)[:9]!a}", lambda each=key: fits(each, 256))
    for limit in (3, 4, 5, 6, 9, 10, 11):
        yield _line(f"shortened to {limit}", lambda each=limit: payload.shortened("aüaüaüa", each))
    for size in (204_798, 204_799):
        yield _line(f"payload of {size}", lambda each=size: len(payload.encode_payload("x" * each)))
    for size in (65_534, 65_535):
        yield _line(f"result of {size}", lambda each=size: len(payload.encode_result("x" * each)))
    numbers: tuple[Any, ...] = (2**13_999, 2**14_000, -(2**14_001), 1.5, Decimal("1.0"), Decimal("NaN"), float("inf"))
    for number in numbers:
        yield _line(f"number {str(number)[:9]}", lambda each=number: payload.encode(each))
    for depth in (63, 64, 65):
        yield _line(f"depth {depth}", lambda each=depth: payload.encode(_nested(each)))
    for each_id in (JOB_ID, JOB_ID.upper(), JOB_ID[:-1], JOB_ID.replace("-8", "-4", 1), "", None, 7):
        given: Any = each_id
        yield _line(f"id {each_id}", lambda each=given: keys.parse_job_id(each))
    job_id = keys.parse_job_id(JOB_ID)
    yield f"its parts: {keys.partition_of(job_id)} {keys.scheduled_for_of(job_id)} {keys.key_of(job_id)}"
    for place in (keys.key_of(job_id), ("job", keys.key_of(job_id).sk), (keys.key_of(job_id).pk, "x"), ("job", "x")):
        yield f"the job at {tuple(place)}: {keys.job_id_at(*place)}"
    for partition in ((0, 0), (0, 1), (1, 0), (0xFFFF, 0), (0xFFFF, 3), (0x3FA1, 255)):
        where = keys.JobPartition(*partition)
        made = keys.make_job_id(START, where, 2**50 - 1)
        yield f"{partition}: {where.name} {made} {keys.partition_of(made) == where} {partitions.id_pattern(where.code)}"
        yield f"  payloads at {partitions.payload(made, 'n').values}"
    yield f"derived: {keys.derive_job_id(START, keys.JobPartition(1), 'a', 'b')}"
    yield f"code of a: {keys.type_code('a')}, of report: {keys.type_code('report')}"
    for due_key in (f"2026-01-01T00:00:00.000Z#0mj#{JOB_ID}", f"2026-01-01T00:00:00.000Z#0mj#{JOB_ID}#2", "x", "a#b#c"):
        yield _line(f"due {due_key}", lambda each=due_key: keys.Due.parse(each))
    due = keys.Due.parse("2026-01-01T00:00:01.000Z#0mj#x#2")
    owing = due.owing_since(START)
    yield f"owing: {owing.key}, then {owing.afterwards}; {due.afterwards}; {due._replace(at=START).key}"
    yield f"positions: {keys.position_at(START)} {keys.to_digits(0, 3)} {keys.to_digits(35, 3)} {keys.to_digits(36, 3)}"
    for shards in (1, 3):
        yield f"lanes of {shards}: {lanes.lanes_by_priority(shards)}, {lanes.service_lanes(shards)}"
        yield f"services: {[lanes.service_lane(each, shards) for each in ('a', 'b', 'c')]}"
    for lane in ("1#0", "hold#1#sync#a", "hold#0#sync"):
        yield f"{lane}: {held.queue_of_lane(lane)} {lanes.is_hold_lane(lane)} {held.type_of_queue('sync#a')}"
    mark = scopes.mark_of(START, "0000000a")
    yield f"mark: {mark} {held.creation_of(mark)} {held.creation_of('0mjuohs00')} {lanes.numbered(mark, 3)}"
    for at in (START, START + SECOND):
        entry = scopes.due_at("type:a", at, START, "0000000a", 2)
        yield f"due at: {entry}, asked for {held.is_asked_for(str(entry['due_key']))}"
    yield f"awakened: {scopes.awakened('type:a', START, '0000000a', 2)}"
    for scope in ("all", "type:a", "key:a:b", "rate:a", "rate:a:b", "resource:x", "own:x", "key:a"):
        yield f"{scope}: {type_of_scope(scope)} {key_of_scope(scope)} {partitions.scope_partition(scope)}"
    registry = Registry(types={"a": JobType(name="a", weight=3, weights={"k": 2})})
    for queue in ("a", "a#k", "a#l", "gone"):
        yield f"weights of {queue}: {[weight_of(queue, each, registry) for each in ('all', 'resource:x', 'type:a')]}"
    for places in (Places("p.1", (("all", 7),)), Places("p#1", (("all", 7), ("key:a:b", 0)))):
        yield f"{places.text}: {Places.parse(places.text) == places}"
    for number, of, shards in ((0, 1, 5), (0, 2, 5), (1, 2, 5), (2, 3, 4), (3, 4, 4)):
        part = Part(number, of)
        yield f"{part} of {shards}: {part.first(shards)} {[part.has(shard, shards) for shard in range(shards)]}"
    token = table.content_token("t", ["x"])
    yield f"tokens: {token} {len(token)} {table.request_token('a', 'b')} {table.format_mark()}"


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


# What an error is made of, by the name of the argument.
_SAMPLES: dict[str, Any] = {
    "since": START,
    "at": START,
    "until": START,
    "failed_at": START,
    "limit": 10,
    "size": 11,
    "formats": (1,),
    "readable": (1,),
    "reasons": {0: "no", 2: "neither"},
    "theirs": {0: "no", 2: "neither"},
    "deployed": ["a", "b"],
    "known": ["a", "b"],
    "problems": ["a", "b"],
    "retry_after": SECOND,
    "timeout": 2 * SECOND,
}


def every_error() -> Iterator[str]:
    """What every error of the kernel says"""
    for name, kind in sorted(vars(errors).items()):
        if not inspect.isclass(kind) or not issubclass(kind, Exception) or kind.__module__ != errors.__name__:
            continue
        made = _made(kind)
        yield f"{name} ({getattr(kind, 'code', '')}, a {kind.__mro__[1].__name__}): {made}"
        if isinstance(made, Exception):
            kept = {each: value for each, value in sorted(vars(made).items()) if not each.startswith("_")}
            yield f"    {kept}" if kept else "    nothing besides"
    for value in ("x", "x" * 500, None, 7, b"bytes", {"a": 1}, ["long"] * 200, "line\nbreak"):
        yield _line(f"shown {str(value)[:9]!r}", lambda each=value: errors.shown(each))


def _made(kind: type[Exception]) -> object:
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:
        return kind("said")
    given, named = [], {}
    for each in parameters:
        sample = _SAMPLES.get(each.name, f"<{each.name}>")
        if each.kind is each.KEYWORD_ONLY:
            named[each.name] = sample
        elif each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}:
            given.append(sample)
        elif each.kind is each.VAR_POSITIONAL:
            given.append("said")
    try:
        return kind(*given, **named)
    except Exception as error:
        return f"cannot be made of {given}: {type(error).__name__}: {error}"


# Bounds that pages name or that others rest on.
_BOUNDS = (
    (
        job,
        "MAX_HISTORY_BYTES",
        "MAX_RUN_ERROR_BYTES",
        "MAX_REASON_BYTES",
        "MAX_ARTIFACTS",
        "MAX_ARTIFACT_BYTES",
        "MAX_RUNS",
    ),
    (payload, "MAX_INLINE_BYTES", "MAX_PAYLOAD_BYTES", "MAX_RESULT_BYTES", "MAX_DEPTH"),
    (keys, "EPOCH", "LATEST", "MAX_SHARDS"),
    (sharing, "MOST_POLLERS"),
)


def bounds() -> Iterator[str]:
    """Bounds that are stated"""
    for module, *names in _BOUNDS:
        yield from (f"{name}: {getattr(module, name)}" for name in names)


def signatures() -> Iterator[str]:
    """What is left out when something is made: the names and defaults of all that programs make"""
    for name in sorted(leasehold.__all__):
        kind = getattr(leasehold, name)
        if inspect.isclass(kind) and not issubclass(kind, Exception | Enum):
            try:
                parameters = inspect.signature(kind).parameters.values()
            except ValueError:
                continue
            yield f"{name}: {', '.join(_parameter(each) for each in parameters)}"


def _parameter(parameter: inspect.Parameter) -> str:
    default = parameter.default
    if default is parameter.empty:
        return parameter.name
    return f"{parameter.name}={'…' if ' at 0x' in str(default) or '<' in str(default) else default}"


def forms() -> Iterator[str]:
    """Payloads that are no JSON, or are packed, and what is shown of them"""
    for text in ('{"a": 1}', "nonsense", "NaN", '{"a": Infinity}', "[" * 100_000, "7"):
        yield _line(f"shown {text[:20]}", lambda each=text: payload_forms.shown_json(each))
    for document in ({"$datetime": "soon"}, {"$decimal": "x"}, {"$datetime": 7}, {"a": {"$decimal": "1.5"}}):
        yield _line(f"given {document}", lambda each=document: job_documents.encode_shown(each))
    for size in (0, 1, 100, 1_000, 10_000, 190_000):
        text = json.dumps(["".join(chr(97 + number * 7919 % 26) for number in range(size))])
        form = payload_forms.compact(text)
        # How small it is depends on the libraries of this machine.
        kind = f"{type(form).__name__} {'shorter' if len(form) < len(text) else 'as long'}"
        yield f"{size} letters: {kind}, back {payload_forms.text_in(form) == text}"
    for damaged in (b"", b"\x00", b"\x01abc", b"\x02abc", b"\xff\xff"):
        yield _line(f"damaged {damaged!r}", lambda each=damaged: payload_forms.text_in(each))
        yield _line(f"or else {damaged!r}", lambda each=damaged: payload_forms.text_or("another", each))


def handed_over() -> Iterator[str]:
    """What a feature that overrides nothing answers, and what is no hand-over"""
    hooks: Any = Hooks()
    for name, method in sorted(vars(Hooks).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            count = len(inspect.signature(method).parameters) - 1
            answer = getattr(hooks, name)(*[None] * count)
            yield f"{name}: {'nothing joins' if answer is NOTHING else answer}"
    batches: tuple[Any, ...] = (None, [], [{}], {}, "x")
    for event in ({}, *({"batch": each} for each in batches)):
        yield _line(f"handed over {event}", lambda each=event: handovers_in(each))
    shares = [SystemRandomSource().share() for _ in range(200)]
    yield f"shares: {all(0 <= each < 1 for each in shares)} {min(shares) < 0.5 < max(shares)}"


TABLES = {
    "bounds": bounds,
    "options": options,
    "values": values,
    "errors": every_error,
    "signatures": signatures,
    "forms": forms,
    "handed_over": handed_over,
}


def table_text(name: str) -> str:
    return "\n".join([TABLES[name].__doc__ or name, "", *TABLES[name]()]) + "\n"
