"""Options that several commands have, what completes them, and what their words mean: times, payloads, priorities."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.admin.pages import JobFilter
    from leasehold.kernel.dedup import DedupWindow
    from leasehold.kernel.enqueue import OnDuplicate
    from leasehold.kernel.keys import Priority
    from leasehold.kernel.payload import Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.services import Services


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(r"(\d{1,6})([smhdw])")


def past_moment(text: str, now: datetime, *, what: str) -> datetime:
    """An ISO time, or how long ago: "30m", "2h", "7d"."""
    from leasehold.kernel.times import later

    if _LENGTH.fullmatch(text.strip()):
        return later(now, -length_of(text, what=what), what=what)
    return _iso(text, what, "Use a time like 2026-11-15T09:30Z, or how long ago: 30m, 2h, 7d.")


def moment(text: str, *, what: str) -> datetime:
    """An ISO time, also a future one."""
    return _iso(text, what, "Use a time like 2026-11-15T09:30Z or 2026-11-15.")


def length_of(text: str, *, what: str) -> timedelta:
    """
    >>> length_of("90s", what="--in"), length_of("2h", what="--in")
    (datetime.timedelta(seconds=90), datetime.timedelta(seconds=7200))
    """
    from leasehold.kernel.errors import InvalidOptionError

    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise InvalidOptionError(
            text, f"{what} is a length of time", "Use a number and a unit, like 90s, 15m, 2h, 7d or 1w."
        )
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _iso(text: str, what: str, fix: str) -> datetime:
    """A time says its timezone, as in the SDK and the API; a date alone is a day in UTC."""
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.kernel.times import instant

    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidOptionError(text, f"{what} is no time", fix) from None
    if found.tzinfo is None and len(text.strip()) > len("2026-11-15"):
        raise InvalidOptionError(text, f"{what} has no timezone", f"Write {text.strip()}Z for UTC, or an offset.")
    return instant(found if found.tzinfo else found.replace(tzinfo=UTC), what=what)


def priority_of(text: str, *, what: str = "") -> Priority:  # noqa: ARG001  all that read words are told of which
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.kernel.keys import Priority

    found = {each.name.lower(): each for each in Priority} | {str(int(each)): each for each in Priority}
    if text.lower() not in found:
        raise InvalidOptionError(text, "this is no priority", "Use low, normal, high or critical.")
    return found[text.lower()]


def on_duplicate_of(text: str, *, what: str) -> OnDuplicate:
    from leasehold.kernel.enqueue import OnDuplicate
    from leasehold.kernel.type_options import parse_choice

    return parse_choice(OnDuplicate, text, what)


def delays_of(text: str, *, what: str) -> RetryPolicy:
    """
    >>> delays_of("10s,5m", what="--retry-delays")
    Delays(delays=(datetime.timedelta(seconds=10), datetime.timedelta(seconds=300)))
    """
    from leasehold.kernel.retry import Delays

    return Delays(tuple(length_of(each, what=f"a delay of {what}") for each in text.split(",")))


def window_of(text: str, *, what: str) -> DedupWindow:
    """`day`, `day:Europe/Berlin`, or a length of time."""
    from leasehold.kernel.dedup import Day, Within

    kind, _, zone = text.partition(":")
    if kind == "day":
        return Day(zone) if zone else Day()
    return Within(length_of(text, what=f"{what} (day, day:Europe/Berlin, or a time)"))


def read_payload(text: str | None, file: str | None) -> Json:
    """The payload from an option, a file or the standard input; None where nothing is given."""
    from leasehold.kernel.errors import InvalidOptionError

    if text is not None and file is not None:
        raise InvalidOptionError(file, "the payload is given twice", "Pass --payload or --payload-file.")
    if file is not None:
        try:
            text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InvalidOptionError(file, f"this cannot be read ({error})", "Name a file with JSON.") from None
    if text is None:
        return None
    try:
        payload: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(
            text, f"the payload is no JSON ({error})", """Quote it for the shell: --payload '{"user_id": "ada"}'."""
        ) from None
    return payload


def complete_job_type(incomplete: str) -> list[str]:
    """The job types of the project in this folder: asking a table would keep the shell waiting."""
    if incomplete and not incomplete.isidentifier():
        return []
    places = (Path("jobs"), Path("functions/jobs"))
    return sorted(found.parent.name for place in places for found in place.glob(f"{incomplete}*/job.toml"))


def complete_status(incomplete: str) -> list[str]:
    from leasehold.kernel.transitions import JobStatus

    return [str(each) for each in JobStatus if each.startswith(incomplete)]


def complete_priority(incomplete: str) -> list[str]:
    from leasehold.kernel.keys import Priority

    return [name for each in Priority if (name := each.name.lower()).startswith(incomplete)]


PRIORITIES = "low, normal, high or critical."
JobIdArgument = Annotated[str, Argument(metavar="JOB_ID", help="The job's id.")]
JobTypeArgument = Annotated[str, Argument(metavar="TYPE", help="The job type.", autocompletion=complete_job_type)]
JobTypeOption = Annotated[
    str | None, Option("--type", metavar="TYPE", help="Only of this job type.", autocompletion=complete_job_type)
]
MadeJobTypeOption = Annotated[
    str | None,
    Option("--type", metavar="TYPE", help="The type of the jobs it makes.", autocompletion=complete_job_type),
]
PriorityOption = Annotated[str | None, Option(help=PRIORITIES, autocompletion=complete_priority)]
PayloadFileOption = Annotated[
    str | None, Option(metavar="FILE", help="A file with the payload as JSON; - for the standard input.")
]
Limit = Annotated[int, Option(help="How many to show.")]
DEFAULT_LIMIT = 50

# Of commands about this machine.
Root = Annotated[Path, Option(help="The project's folder.")]
HERE = Path()
Port = Annotated[
    int,
    Option(
        min=0,
        max=65535,
        help="The port on loopback that the local AWS listens on, if it must be started; 0 finds a free one.",
    ),
]
DEFAULT_PORT = 0


def option(*names: str, default: Any = None, reads: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """A field of a dataclass of options. reads: makes its value of what was typed, and is told as which option."""
    return field(default=default, metadata={"option": Option(*names, **settings), "names": names, "reads": reads})


def given(options: Any, now: datetime | None = None) -> dict[str, Any]:
    """A dataclass of options as arguments of those names, each made of what was typed.

    now: for those that may say how long ago.
    """
    found = {each.name: getattr(options, each.name) for each in fields(options)}
    for each in fields(options):
        reads = each.metadata.get("reads")
        if reads is not None and found[each.name] is not None:
            (what,) = each.metadata["names"] or [f"--{each.name.replace('_', '-')}"]
            context = {"now": now} if reads is past_moment else {}
            found[each.name] = reads(found[each.name], what=what, **context)
    if "payload" in found:
        found["payload"] = read_payload(found["payload"], found.pop("payload_file"))
    return found


@dataclass(frozen=True, kw_only=True)
class Pages:
    """How much of a listing."""

    limit: Limit = DEFAULT_LIMIT
    everything: bool = option("--all", default=False, help="Show all, however many; with --json one a line.")
    cursor: str | None = option(help="Go on where the last page of the same listing ended.")


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Which jobs: fields are named as those of the filter that they become."""

    job_type: JobTypeOption = None
    statuses: list[str] | None = option(
        "--status",
        help="pending, in_progress, failed, completed, cancelled or dead_letter; may be repeated.",
        autocompletion=complete_status,
    )
    scheduled_from: str | None = option(
        "--since", reads=past_moment, help="Scheduled from then on, e.g. 2026-11-15T09:30Z, or how long ago: 2h, 7d."
    )
    scheduled_to: str | None = option("--until", reads=past_moment, help="Scheduled before then.")
    created_from: str | None = option("--created-since", reads=past_moment, help="Created from then on.")
    created_to: str | None = option("--created-until", reads=past_moment, help="Created before then.")
    concurrency_key: str | None = option(help="With this concurrency key.")
    group_id: str | None = option("--group", help="Members of this group.")
    schedule: str | None = option(help="Made by this schedule.")
    template: str | None = option(help="Made from this template.")

    def wanted(self, now: datetime) -> JobFilter:
        from leasehold.admin.pages import JobFilter

        return JobFilter(**given(self, now) | {"statuses": frozenset(self.statuses or ())})


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What a job can be given, by itself, by its template or by its schedule; fields are named as theirs."""

    payload: str | None = option(metavar="JSON", help="The payload.")
    payload_file: PayloadFileOption = None
    priority: str | None = option(help=PRIORITIES, autocompletion=complete_priority, reads=priority_of)


@dataclass(frozen=True, kw_only=True)
class PresetWithTries(Preset):
    max_attempts: int | None = option(help="How often a job is tried.")
    retry: str | None = option(
        "--retry-delays", reads=delays_of, help="Delays between attempts, e.g. 10s,1m,5m; the last one repeats."
    )
    webhook: str | None = option(help="An https address that is told of each run's end.")


def check_type(services: Services, job_type: str | None) -> None:
    """UnknownJobTypeError for a type that never was: an empty list hides a typo. Retired ones have jobs still."""
    from leasehold.kernel.type_options import DELIVERY

    registry = services.deployment.registry()
    if job_type is not None and job_type != DELIVERY and job_type not in registry.retired:
        registry.job_type(job_type)
