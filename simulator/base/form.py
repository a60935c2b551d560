"""What all forms of a scenario file share: unknown keys list the known ones, quantities carry units."""

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    PlainValidator,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from simulator.base import units
from simulator.base.errors import ScenarioError, meant

Schema = dict[str, Any]
"""A JSON Schema."""
IS_FILE = "x-file"
"""Keyword of a JSON Schema for texts that name a file."""
MOST_FAULTS = 101
"""Most faults of one form that are looked at: one more than are listed."""
_SENTENCES = {
    "literal_error": "is not possible here; give {expected}",
    "greater_than_equal": "is too small; give at least {ge}",
    "less_than_equal": "is too large; give at most {le}",
    "greater_than": "is too small; give more than {gt}",
    "less_than": "is too large; give less than {lt}",
    "too_short": "has too few entries; give at least {min_length}",
    "too_long": "has too many entries; give at most {max_length}",
    "string_too_short": "is too short; give at least {min_length} letter",
    "finite_number": "is not finite; give a finite number",
    "union_tag_invalid": "is unknown; give one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing; add it",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "is not an integer; give one"),
    **dict.fromkeys(("float_type", "float_parsing"), "is not a number; give one"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "has no fields; give fields with names"),
    "bool_type": "is neither true nor false; give one of them",
    "list_type": "is not a list; give one",
    "string_type": "is not a text; give one, in quotes",
}
"""Kind of fault that pydantic finds -> what we say of it."""
ON_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
LAUNCHED = r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$"
NOT_BACKWARDS = r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
_PATTERNS = {
    ON_ONE_LINE: "has a line break or a sign that cannot be shown; give a name on one line",
    LAUNCHED: "is no name of a host; give letters, digits and . _ -",
    NOT_BACKWARDS: "is no name of a link; give one on one line that does not begin with -",
}
"""Pattern of a text -> what we say of one that is not of it."""
_NAME = re.compile(r"'([^']*)'")
Name = Annotated[str, Field(min_length=1, pattern=ON_ONE_LINE)]
"""What something is called."""
FileName = Annotated[str, Field(min_length=1, json_schema_extra={IS_FILE: True})]
"""A file by its path from the folder of the file that names it."""


class Form(BaseModel):
    """What a part of a file may say."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True)
    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Keys that people write here -> where they belong."""

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, data: Any, handler: ModelWrapValidatorHandler["Form"]) -> "Form":
        try:
            return handler(data)
        except ValidationError as error:
            known = [field.alias or name for name, field in cls.model_fields.items()]
            faults = [
                _in_our_words(fault, known, cls.ELSEWHERE)
                for fault in islice(error.errors(include_url=False), MOST_FAULTS)
            ]
            raise ValidationError.from_exception_data(cls.__name__, faults) from None


def _in_our_words(fault: ErrorDetails, known: list[str], elsewhere: Mapping[str, str]) -> InitErrorDetails:
    """A fault in our words; an unknown key lists the known ones."""
    kind, text, loc, found = str(fault["type"]), str(fault["msg"]), fault["loc"], fault["input"]
    if kind == "extra_forbidden" and (place := elsewhere.get(str(loc[-1]))):
        kind, text = "whole_sentence", f"it belongs elsewhere; write {place}"
    elif kind == "extra_forbidden":
        kind, text = "whole_sentence", f"the key is unknown here; take {', '.join(known)}{meant(loc[-1], known)}"
    elif kind == "string_pattern_mismatch":
        kind, text = "sentence", _PATTERNS[fault["ctx"]["pattern"]]
    elif kind in _SENTENCES:
        context = fault.get("ctx", {})
        chosen_by = str(context.get("discriminator", "")).strip("'")
        text = _SENTENCES[kind].format_map(context | {"discriminator": chosen_by})
        if kind == "union_tag_invalid":
            loc, found = (*loc, chosen_by), found[chosen_by]
        if kind in ("literal_error", "union_tag_invalid"):
            text += meant(found, _NAME.findall(context.get("expected") or context["expected_tags"]))
        kind = "whole_sentence" if kind == "union_tag_not_found" else "sentence"
    text = text.removeprefix("Value error, ")
    return InitErrorDetails(type=PydanticCustomError(kind, text), loc=loc, input=found)


def _quantity(kind: dict[str, Decimal], *, zero: bool = False, whole: bool = False) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        try:
            number = units.parse(value if isinstance(value, str) else repr(value), kind, field=None)
        except ScenarioError as error:
            raise PydanticCustomError("sentence", error.lines[0]) from None
        if number < 0 or (number == 0 and not zero):
            raise PydanticCustomError("sentence", f"is too small; give {'at least' if zero else 'more than'} zero")
        if whole and number != int(number):
            raise PydanticCustomError("sentence", "is no whole number of bytes; give one")
        return int(number) if whole else number

    return read


def number_or_text(value: Any) -> float | str:
    """A parameter of an application: an integer stays one, and a boolean is neither."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return value
    except OverflowError:  # an integer that no float can hold
        pass
    raise ValueError("is neither a finite number nor a text; give one of them")


def _as_text(read: Callable[[Any], float]) -> PlainValidator:
    return PlainValidator(read, json_schema_input_type=str)


def _zoned(value: Any) -> datetime.datetime:
    """A date and time that says its zone."""
    try:
        return units.parse_zoned(value, field="")
    except ScenarioError:
        sentence = "is no date and time with a zone; write it as 2026-11-21T08:00+01:00"
        raise PydanticCustomError("sentence", sentence) from None


Duration = Annotated[float, _as_text(_quantity(units.DURATION))]
"""Seconds above zero, written with a unit."""
Latency = Annotated[float, _as_text(_quantity(units.DURATION, zero=True))]
"""Seconds of at least zero."""
Instant = Annotated[datetime.datetime, PlainValidator(_zoned, json_schema_input_type=str)]
"""A point in time, ISO 8601 with its zone."""
Bandwidth = Annotated[float, _as_text(_quantity(units.BANDWIDTH))]
"""Bytes per second."""
Size = Annotated[int, _as_text(_quantity(units.SIZE, zero=True, whole=True))]
"""Bytes of at least zero."""
Payload = Annotated[int, _as_text(_quantity(units.SIZE, whole=True))]
"""Bytes above zero."""
Amount = Annotated[float, _as_text(_quantity(units.SIZE))]
"""Bytes above zero, parts of one too."""
Taken = Annotated[float, _as_text(_quantity(units.SIZE, zero=True))]
"""Bytes of at least zero, parts of one too."""
TakenRate = Annotated[float, _as_text(_quantity(units.BANDWIDTH, zero=True))]
"""Bytes per second of at least zero."""
Speed = Annotated[float, _as_text(_quantity(units.SPEED))]
"""Units of volume per second."""
Power = Annotated[float, _as_text(_quantity(units.POWER, zero=True))]
"""Watts of at least zero."""
Parameter = Annotated[float | str, PlainValidator(number_or_text, json_schema_input_type=float | str)]
"""A finite number or a text."""


def text_or_list(value: Any) -> str:
    """Which of two forms a value has; the names stand in no message."""
    return "<text>" if isinstance(value, str) else "<list>"


Names = Annotated[
    Annotated[list[str], Field(min_length=1), Tag("<list>")] | Annotated[str, Tag("<text>")],
    Discriminator(text_or_list),
]
"""Names, or patterns such as `fast[01-08]`."""


def one_of(*names: str) -> dict[str, JsonValue]:
    """The JSON Schema of fields one of which is there."""
    return {"oneOf": [{"required": [name]} for name in names]}


def any_kind(kinds: Sequence[type[Form]], which: Callable[[Any], type[Form]]) -> Any:
    """The type of what is of one of several kinds; a value says by its keys which."""
    tagged = tuple(Annotated[kind, Tag(f"<{kind.__name__}>")] for kind in kinds)
    return Annotated[Union[tagged], Discriminator(lambda value: f"<{which(value).__name__}>")]  # noqa: UP007 - made
