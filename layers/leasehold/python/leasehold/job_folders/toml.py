"""What the tables of a job.toml have in common: pydantic reads them, each problem is told with its value and its fix.

A value that does not fit raises an InvalidInputError, like those of programs; `problems_of` puts it to its key.
"""

from __future__ import annotations

import json
import re
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PlainValidator, Strict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from leasehold.kernel.errors import InvalidInputError, InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import ModelWrapValidatorHandler
    from pydantic_core import ErrorDetails

AS_TABLE = ("this is a table", "Write its keys below a header of its own, in [brackets].")
# What pydantic found, in the words of whoever writes a file.
_IN_WORDS = {
    "bool_type": ("this is a yes or no", "Write true or false, without quotes."),
    "dict_type": AS_TABLE,
    "model_type": AS_TABLE,
    "tuple_type": ("this is a list", 'Put brackets around it: ["…", "…"].'),
}
_SEVERAL = ("there may be several of these tables", "Write the header of each in [[double brackets]].")

# TOML has only lists.
type Listed[T] = Annotated[tuple[T, ...], Strict(False)]


class Table(BaseModel):
    """One table; a key that must be there has a description, which says why, and an example."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)
    called: ClassVar[str]

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, values: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(values)
        except ValidationError as error:
            # A list whose items do not fit is none that is too short.
            found = [each for each in error.errors() if each["type"] != "too_short" or not each["input"]]
            raise ValidationError.from_exception_data(cls.called, [cls._put(each) for each in found]) from None

    @classmethod
    def _put(cls, error: ErrorDetails) -> InitErrorDetails:
        place, context = error["loc"], error.get("ctx", {})
        match error["type"]:
            case "unfit":  # said by a table below
                return problem(place, context["reason"], context["fix"])
            case "value_error":
                return problem(place, context["error"].reason, context["error"].fix)
            case "extra_forbidden":
                known = [field.alias or name for name, field in cls.model_fields.items()]
                return problem(place, f"{cls.called} has no such key", meant(str(place[0]), known, "Its keys are"))
            case "missing" | "too_short" as kind:
                key = cls.model_fields[str(place[0])]
                fix = f"Write {place[0]} = {(key.examples or [''])[0]}."
                return problem(place[:-1] if kind == "missing" else place, str(key.description), fix)
            case "tuple_type" if isinstance(error["input"], dict):
                return problem(place, *_SEVERAL)
            case "model_type" if cls.called.startswith("[["):
                return problem(place, *_SEVERAL)
            case other:
                return problem(place, *_IN_WORDS[other])


def problem(place: tuple[int | str, ...], reason: str, fix: str) -> InitErrorDetails:
    said = PydanticCustomError("unfit", "{reason}", {"reason": reason, "fix": fix})
    return InitErrorDetails(type=said, loc=place, input=None)


def built[T](table: type[Table], make: Callable[..., T]) -> PlainValidator:
    """Make something of a table's values. Whatever makes it says whether they fit each other."""
    return PlainValidator(lambda value: make(**dict(table.model_validate(value))))


def problems_of(error: ValidationError, file: str, values: Mapping[str, object]) -> Iterator[FolderProblem]:
    for each in error.errors():
        value: Any = values
        key = ""
        for part in each["loc"]:
            if part != "[key]":  # pydantic's word for the name of a value
                value = value[part]
                key += f"[{part}]" if isinstance(part, int) else f".{part}"
        yield FolderProblem(file, key.removeprefix("."), value, each["ctx"]["reason"], each["ctx"]["fix"])


def meant(given: str, known: list[str], otherwise: str) -> str:
    """
    >>> meant("timout", ["memory", "timeout"], "Its keys are")
    'Did you mean timeout?'
    >>> meant("colour", ["memory", "timeout"], "Its keys are")
    'Its keys are memory, timeout.'
    """
    close = get_close_matches(given, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"{otherwise} {', '.join(known)}."


_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SECONDS_IN = {spelling: seconds for unit, seconds in _UNITS.items() for spelling in (unit[0], unit, f"{unit}s")}
_DURATION = re.compile(r"(\d{1,9}) ?([a-z]+)")


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidOptionError(value, "this is text", 'Write it in quotes: "…".')
    return value


type Text = Annotated[str, PlainValidator(text)]


def whole_number(subject: str, unit: str, least: int, most: int | None = None) -> PlainValidator:
    """`subject` starts the sentence of a refusal: `a Lambda function has` at least 128 MB."""

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidOptionError(value, "this is a whole number", f"Write it without quotes, e.g. {least}.")
        if value < least:
            raise InvalidOptionError(value, f"{subject} at least {least}{unit}", f"Use {least} or more.")
        if most is not None and value > most:
            raise InvalidOptionError(value, f"{subject} at most {most}{unit}", f"Use {most} or less.")
        return value

    return PlainValidator(parse)


def duration(subject: str, least: timedelta = timedelta(0), most: timedelta = timedelta(days=3660)) -> PlainValidator:
    """Seconds as a number, or text like "90s", "15 minutes", "7d"; whole seconds either way."""

    def parse(value: object) -> timedelta:
        length = length_of(value)
        if length < least:
            raise InvalidOptionError(value, f"{subject} at least {_plain(least)}", f"Use {_number(least)} or more.")
        if length > most:
            raise InvalidOptionError(value, f"{subject} at most {_plain(most)}", f"Use {_number(most)} or less.")
        return length

    return PlainValidator(parse)


def choice[T](options: Iterable[T], text: Callable[[T], str] = str) -> PlainValidator:
    """Of an enum's members by their text, or of such texts."""
    known = {text(each): each for each in options}

    def parse(value: object) -> object:
        if not isinstance(value, str) or value not in known:
            fix = meant(str(value), list(known), "The choices are")
            raise InvalidOptionError(value, "there is no such choice", fix)
        return known[value]

    return PlainValidator(parse)


def length_of(value: object) -> timedelta:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return timedelta(seconds=value)
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _SECONDS_IN:
        raise InvalidOptionError(
            value, "this is a length of time", 'Use whole seconds, or text like "90s", "15m", "2h", "7d".'
        )
    try:
        return int(found[1]) * timedelta(seconds=_SECONDS_IN[found[2]])
    except OverflowError:
        return timedelta.max


def _plain(length: timedelta) -> str:
    days, rest = divmod(length, timedelta(days=1))
    number, unit = (days, "day") if days and not rest else (int(length.total_seconds()), "second")
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _number(length: timedelta) -> str:
    days, rest = divmod(length, timedelta(days=1))
    return f'"{days}d"' if days and not rest else str(int(length.total_seconds()))


_SHOWN = 120


class FolderProblem(NamedTuple):
    """One problem of one file; `key` is empty where the whole file is meant.

    >>> print(FolderProblem("job.toml", "memory", 64, "a Lambda function has at least 128 MB", "Use 128 or more."))
    job.toml: memory = 64: a Lambda function has at least 128 MB. Use 128 or more.
    """

    file: str
    key: str
    value: object
    reason: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.key} = {_shown(self.value)}" if self.key else self.file
        return f"{place}: {self.reason}. {self.fix}"


def toml_text(value: object) -> str:
    """A value as it stands in a TOML file, so that a reader can search for it.

    >>> toml_text({"rate": "30 minutes", "enabled": True})
    '{ rate = "30 minutes", enabled = true }'
    """
    match value:
        case str() | bool():  # as in JSON
            return json.dumps(value, ensure_ascii=False)
        case dict():
            return f"{{ {', '.join(f'{key} = {toml_text(item)}' for key, item in value.items())} }}" if value else "{}"
        case list():
            return f"[{', '.join(toml_text(item) for item in value)}]"
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case _:
            return str(value)


def _shown(value: object) -> str:
    text = toml_text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class InvalidJobFolderError(InvalidInputError, code="invalid_job_folder"):
    """Folders in functions/jobs that cannot be deployed: every problem found, one a line."""

    def __init__(self, problems: Sequence[FolderProblem]) -> None:
        first = problems[0]
        super().__init__(first.value, first.reason, first.fix)
        self.problems = tuple(problems)
        self.args = ("\n".join(str(problem) for problem in problems),)
