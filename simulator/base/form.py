"""What all forms of a scenario file share: unknown keys list what is allowed, quantities carry units."""

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
from pydantic_core import InitErrorDetails, PydanticCustomError

from simulator.base import units
from simulator.base.errors import ScenarioError, meant

IS_FILE = "x-file"
"""Keyword of a JSON Schema for texts that name a file."""
MOST_FAULTS = 101
"""Most faults of one form that are looked at: one more than are told."""


class Form(BaseModel):
    """What a part of a file may say."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True)
    ELSEWHERE: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Keys that people write here -> where they belong."""

    @model_validator(mode="wrap")
    @classmethod
    def _tell_what_is_allowed(cls, data: Any, handler: ModelWrapValidatorHandler["Form"]) -> "Form":
        try:
            return handler(data)
        except ValidationError as error:
            allowed = [field.alias or name for name, field in cls.model_fields.items()]
            told = [
                _told(dict(fault), allowed, cls.ELSEWHERE)
                for fault in islice(error.errors(include_url=False), MOST_FAULTS)
            ]
            raise ValidationError.from_exception_data(cls.__name__, told) from None


_ALLOWED = {
    "literal_error": "{expected} allowed",
    "greater_than_equal": "at least {ge} allowed",
    "less_than_equal": "at most {le} allowed",
    "greater_than": "above {gt} allowed",
    "less_than": "less than {lt} allowed",
    "too_short": "at least {min_length} of them allowed",
    "too_long": "at most {max_length} of them allowed",
    "string_too_short": "at least {min_length} letter allowed",
    "finite_number": "a finite number allowed",
    "union_tag_invalid": "one of {expected_tags} allowed",
    "union_tag_not_found": "{discriminator} missing",
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "an integer allowed"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number allowed"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "fields with names allowed"),
    "bool_type": "true or false allowed",
    "list_type": "a list allowed",
    "string_type": "a text allowed",
}
"""Kind of fault that pydantic finds -> what we say of it."""
ON_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
LAUNCHED = r"^[A-Za-z0-9{][A-Za-z0-9._{}-]*$"
NOT_BACKWARDS = r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
_PATTERNS = {
    ON_ONE_LINE: "a name on one line allowed",
    LAUNCHED: "letters, digits and . _ - allowed",
    NOT_BACKWARDS: "a name on one line that does not begin with - allowed",
}
"""Pattern of a text -> what we say of one that is not of it."""


def _told(fault: dict[str, Any], allowed: list[str], elsewhere: Mapping[str, str]) -> InitErrorDetails:
    """A fault in our words; an unknown key says what is allowed beside it."""
    kind, text, loc, found = str(fault["type"]), str(fault["msg"]), fault["loc"], fault["input"]
    if kind == "extra_forbidden" and (place := elsewhere.get(str(loc[-1]))):
        kind, text = "unknown_key", f"it belongs elsewhere; write {place}"
    elif kind == "extra_forbidden":
        kind, text = "unknown_key", f"unknown key found, {', '.join(allowed)} allowed{meant(loc[-1], allowed)}"
    elif kind == "string_pattern_mismatch":
        kind, text = "told", _PATTERNS[fault["ctx"]["pattern"]]
    elif kind in _ALLOWED:
        context = fault.get("ctx", {})
        chosen_by = str(context.get("discriminator", "")).strip("'")
        text = _ALLOWED[kind].format_map(context | {"discriminator": chosen_by})
        if kind == "union_tag_invalid":
            loc, found = (*loc, chosen_by), found[chosen_by]
        if kind in ("literal_error", "union_tag_invalid"):
            text += meant(found, _NAME.findall(context.get("expected") or context["expected_tags"]))
        kind = "no_kind" if kind == "union_tag_not_found" else "told"
    text = text.removeprefix("Value error, ")
    return InitErrorDetails(type=PydanticCustomError(kind, text), loc=loc, input=found)


_NAME = re.compile(r"'([^']*)'")


def _quantity(kind: dict[str, Decimal], *, zero: bool = False, whole: bool = False) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        try:
            number = units.parse(value if isinstance(value, str) else repr(value), kind, field="")
        except ScenarioError as error:
            _, found, allowed = error.lines[0].rpartition(" found, ")
            if not found:
                raise PydanticCustomError("in_bits", allowed[allowed.rindex("is in bits") :]) from None
            raise PydanticCustomError("quantity", allowed) from None
        if number < 0 or (number == 0 and not zero):
            raise PydanticCustomError("quantity", f"{'at least' if zero else 'above'} zero allowed")
        if whole and number != int(number):
            raise PydanticCustomError("quantity", "whole bytes allowed")
        return int(number) if whole else number

    return read


def number_or_text(value: Any) -> float | str:
    """A parameter of an application: an integer stays one, and a boolean is neither.

    Raises
    ------
    ValueError
        For anything else, and for numbers that no float can hold.
    """
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return value
    except OverflowError:  # an integer that no float can hold
        pass
    raise ValueError("a finite number or a text allowed")


def _as_text(read: Callable[[Any], float]) -> PlainValidator:
    return PlainValidator(read, json_schema_input_type=str)


def _zoned(value: Any) -> datetime.datetime:
    """A date and time that says its zone."""
    try:
        return units.parse_zoned(value, field="")
    except ScenarioError:
        told = "is no date and time with a zone; write it as 2026-11-21T08:00+01:00"
        raise PydanticCustomError("sentence", told) from None


Name = Annotated[str, Field(min_length=1, pattern=ON_ONE_LINE)]
"""What something is called."""
FileName = Annotated[str, Field(min_length=1, json_schema_extra={IS_FILE: True})]
"""A file by its path from the folder of the file that names it."""
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
