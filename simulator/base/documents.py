"""Dataclasses as plain data for JSON and YAML, and back, strictly: cattrs with hooks of our own."""

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NotRequired,
    Self,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from simulator.base.errors import MALFORMED, ApportionError, ScenarioError, meant

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]
"""Makes a value of plain data, as cattrs calls it: with the data and the annotation."""


Data = dict[str, Any]
"""What a file or `--json` says, as plain data."""
FLAT: Data = {"flat": True}
"""Metadata of a field whose own fields stand among those of what holds it."""
SPARE: Data = {"spare": True}
"""Metadata of a field that documents leave out where it is None or an empty text."""
NOT_WRITTEN: Data = {"written": False}
"""Metadata of a field that is not part of documents."""
_REFUSALS = (ExceptionGroup, ApportionError, RecursionError, *MALFORMED)
_LONGEST = 60
_BEGUN: set[type] = set()
"""Classes whose annotations are looked at, or were."""


@dataclass(frozen=True)
class Array:
    """Of an annotation `Annotated[NDArray[...], Array(...)]`: what is read, however NumPy spells its own types."""

    dtype: Literal["float64", "int64"]
    dimensions: int
    holes: bool = False
    """Whether null stands for what is not known, NaN."""


class FormError(ScenarioError):
    """What a document says against its form: the keys down to each fault, and the fault."""

    def __init__(self, faults: Iterable[tuple[tuple[str, ...], str]]) -> None:
        self.faults = tuple(faults)
        super().__init__([": ".join((".".join(where), text)) if where else text for where, text in self.faults])


class Record:
    """A dataclass that is written field by field and read strictly."""

    SPARSE: ClassVar[bool] = True
    """Whether what is None or empty by default is left out."""
    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Properties that documents say too, and that are not read."""

    def to_dict(self) -> Data:
        """Plain data for JSON and YAML."""
        return by_field(self, sparse=self.SPARSE) | {name: to_dict(getattr(self, name)) for name in self.DERIVED}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, also without fields that have defaults."""
        return read(cls, data)


def named(*names: str) -> Data:
    """Metadata of a field that has another name in documents: the one that is written, then others that are read."""
    return {"names": names}


def to_dict(value: Any) -> Any:
    """Plain data for JSON: dataclasses by field, or by a `to_dict` of their own."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return by_field(value)
    if isinstance(value, Mapping):
        return {name: to_dict(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [to_dict(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def by_field(record: Any, *, sparse: bool = False) -> Data:
    """A dataclass as plain data field by field, without a `to_dict` of its own; if sparse, without empty defaults."""
    entries: Data = {}
    for field in (one for one in fields(record) if one.metadata.get("written", True)):
        value = getattr(record, field.name)
        plain = to_dict(value)
        if "flat" in field.metadata:
            entries |= plain or {}
        elif not (sparse and _is_default(field, value)) and not ("spare" in field.metadata and plain in (None, "")):
            entries[_names(field)[0]] = plain
    return entries


def read(kind: type[T], data: object, **known: Any) -> T:
    """A dataclass from plain data by the annotations of its fields, strictly."""
    said = data if isinstance(data, Mapping) else {}
    if said and issubclass(kind, Record):
        data = {key: value for key, value in said.items() if key not in kind.DERIVED}
    others = frozenset(name for field in fields(cast("Any", kind)) for name in _names(field)[1:] if name in said)
    structure = _form(cast("Any", kind), frozenset(known), others)
    try:
        return cast("T", _made(kind, structure(_mapping(data), None), known))
    except _REFUSALS as error:
        raise FormError(_faults(error, ())) from None


def read_keys(data: object, **hints: Any) -> Data:
    """What data say under these keys and no others, each by its annotation; see `read`."""
    try:
        return cast("Data", _of_keys("keys", tuple(hints.items()))(_mapping(data), None))
    except _REFUSALS as error:
        raise FormError(_faults(error, ())) from None


@contextmanager
def at(*where: str) -> Iterator[None]:
    """What is refused inside stands below these keys."""
    try:
        yield
    except _REFUSALS as error:
        raise FormError(_faults(error, where)) from None


@contextmanager
def in_file(place: object) -> Iterator[None]:
    """What is refused inside is refused with the file that it stands in."""
    try:
        yield
    except _REFUSALS as error:
        raise ScenarioError([f"{place}: {line}" for line in FormError(_faults(error, ())).lines]) from None


def read_format(kind: type[T], document: object, place: object, *, newest: int, writer: str) -> T:
    """What the document of a file says, its format first; see `read` and `files.check_format`.

    Keys `format` and `kind` need not be fields of the class.
    """
    from simulator.base.files import check_format  # only here: workers that measure load no more than they need

    with in_file(place):
        said = _mapping(document)
    check_format(said, newest, str(place), writer)
    with in_file(place):
        known = {field.name for field in fields(cast("Any", kind))}
        return read(kind, {key: value for key, value in said.items() if key in known or key not in {"format", "kind"}})


@cache
def _form(kind: type, known: frozenset[str], others: frozenset[str] = frozenset()) -> Hook:
    """What reads the keys of a class, those that have another name by that."""
    return _of_keys(kind.__name__, tuple(_keys(kind, known, others).items()))


@cache
def _of_keys(name: str, keys: tuple[tuple[str, Any], ...]) -> Hook:
    from cattrs.gen.typeddicts import make_dict_structure_fn

    form = cast("Any", TypedDict)(name, dict(keys))
    try:
        return cast("Hook", make_dict_structure_fn(form, _converter(), _cattrs_forbid_extra_keys=True))
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error


def _read_fields(kind: Any, known: Container[str]) -> Iterator[tuple[Field[Any], Any]]:
    """Fields that documents say, and their annotations; of a flat one its class."""
    hints = _hints(kind)
    for field in fields(kind):
        if field.name not in known and field.metadata.get("read", field.metadata.get("written", True)):
            hint = hints[field.name]
            flat = "flat" in field.metadata and next(part for part in (hint, *get_args(hint)) if is_dataclass(part))
            yield field, flat or hint


def _keys(kind: Any, known: Container[str], others: Container[str]) -> dict[str, Any]:
    """The keys that a class has in documents, and their annotations."""
    found: dict[str, Any] = {}
    for field, hint in _read_fields(kind, known):
        if "flat" in field.metadata:
            found |= _keys(hint, known, others)
        else:
            spare = field.default is not MISSING or field.default_factory is not MISSING or "spare" in field.metadata
            name, *more = _names(field)
            found[next((other for other in more if other in others), name)] = NotRequired[hint] if spare else hint
    return found


def _made(kind: Any, values: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    """An object of a class whose keys were read."""
    found = {field.name: known[field.name] for field in fields(kind) if field.name in known}
    for field, hint in _read_fields(kind, known):
        name = next((name for name in _names(field) if name in values), None)
        if "flat" in field.metadata:
            found[field.name] = _made(hint, values, known)
        elif name is not None:
            found[field.name] = values[name]
        elif "spare" in field.metadata and field.default is MISSING:
            found[field.name] = "" if hint is str else None
    return kind(**found)


@cache
def _converter() -> "Converter":
    """Of cattrs, with a hook for each kind of annotation that documents have, and no other."""
    from cattrs import Converter

    found = Converter(structure_fallback_factory=_not_understood)
    kinds: tuple[tuple[Callable[[Any], bool], Callable[[Any], Hook]], ...] = (
        (lambda _: True, _not_understood),  # cattrs tries the last one first, and has hooks for more than we want
        (lambda hint: hint in (Any, object), lambda _: lambda value, _: value),
        (lambda hint: get_origin(hint) is Literal, _literal),
        (lambda hint: get_origin(hint) in {tuple, list}, _sequence),
        (lambda hint: isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping), _entries),
        (lambda hint: get_origin(hint) in {Union, UnionType}, _union),
        (is_dataclass, _record),
        (lambda hint: get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Array), _array),
    )
    for fits, hook_of in kinds:
        found.register_structure_hook_factory(fits, hook_of)
    for hint, hook in {str: _text, int: _whole, float: _number, bool: _truth}.items():
        found.register_structure_hook(hint, hook)
    return found


def _not_understood(hint: Any) -> Hook:
    raise TypeError(f"the annotation {hint!r} is not understood; give one that the reader of documents has a hook for")


def _hook(hint: Any) -> Hook:
    return _converter().get_structure_hook(hint)


def _faults(error: BaseException, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Keys down to each fault, and the fault in our words."""
    from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError

    if isinstance(error, FormError):
        yield from (((*where, *place), text) for place, text in error.faults)
    elif isinstance(error, ApportionError):
        yield from ((where, line) for line in error.lines)
    elif isinstance(error, ForbiddenExtraKeysError):
        known = list(error.cl.__annotations__)
        more = ", ".join(known)
        yield from (
            ((*where, str(key)), f"unknown key{meant(key, known) or f'; there are {more}'}")
            for key in sorted(error.extra_fields)
        )
    elif isinstance(error, ClassValidationError):
        below, here = error.group_exceptions()
        for one, note in below:
            missing = isinstance(one, KeyError)
            yield from [((*where, note.name), "missing key; add it")] if missing else _faults(one, (*where, note.name))
        for one in here:
            yield from _faults(one, where)
    else:
        yield where, str(error) if isinstance(error, ValueError) else "its values do not fit together"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _each(hooks: Iterable[Hook], entries: Iterable[tuple[object, Any]]) -> list[Any]:
    """Entries by a hook each; all of their faults together."""
    found: list[Any] = []
    faults: list[tuple[tuple[str, ...], str]] = []
    for hook, (name, value) in zip(hooks, entries, strict=True):
        try:
            found.append(hook(value, None))
        except _REFUSALS as error:
            faults += _faults(error, (str(name),))
    if faults:
        raise FormError(faults)
    return found


def _mapping(value: Any) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{_shown(value)} is no object; write keys with values")  # noqa: TRY004 - of a document
    return dict(value)


def _list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{_shown(value)} is no list; write one")  # noqa: TRY004 - of a document
    return value


def _number(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError(f"{_shown(value)} is not a number")
    return float(value)


def _whole(value: Any, _: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{_shown(value)} is not a whole number")  # noqa: TRY004 - of a document
    return value


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is not a text")  # noqa: TRY004 - of a document
    return value


def _truth(value: Any, _: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is neither true nor false")  # noqa: TRY004 - of a document
    return value


def _literal(hint: Any) -> Hook:
    allowed = get_args(hint)

    def structure(value: Any, _: Any) -> Any:
        if not any(value == choice and type(value) is type(choice) for choice in allowed):
            said = f"{_shown(value)} is not known; give {' or '.join(map(str, allowed))}"
            raise ValueError(said + (meant(value, allowed) if isinstance(value, str) else ""))
        return value

    return structure


def _sequence(hint: Any) -> Hook:
    make, args = get_origin(hint), get_args(hint)
    if make is list or args[-1] is ...:
        hook = _hook(args[0])
        return lambda value, _: make(_each([hook] * len(_list(value)), enumerate(value)))
    hooks = [_hook(arg) for arg in args]

    def structure(value: Any, _: Any) -> Any:
        if len(_list(value)) != len(hooks):
            raise ValueError(f"there are {len(value)} entries; give {len(hooks)}")
        return tuple(_each(hooks, enumerate(value)))

    return structure


def _entries(hint: Any) -> Hook:
    key, value = map(_hook, get_args(hint))

    def structure(data: Any, _: Any) -> Any:
        plain = _mapping(data)
        names = _each([key] * len(plain), ((name, name) for name in plain))
        return dict(zip(names, _each([value] * len(plain), plain.items()), strict=True))

    return structure


def _union(hint: Any) -> Hook:
    """Of several classes, the one with most of the keys; of other types, the first that the value fits."""
    hooks = {member: _hook(member) for member in get_args(hint) if member is not NoneType}
    nullable = NoneType in get_args(hint)
    plain = [hook for member, hook in hooks.items() if not is_dataclass(member)]

    def structure(value: Any, _: Any) -> Any:
        if value is None and nullable:
            return None
        if len(plain) < 2 and not isinstance(value, Mapping):
            return (plain or list(hooks.values()))[0](value, None)
        if len(hooks) == 1 or isinstance(value, Mapping):
            return hooks[max(hooks, key=lambda member: len({*getattr(member, "__dataclass_fields__", ())} & {*value}))](
                value, None
            )
        for hook in plain:
            try:
                return hook(value, None)
            except ValueError:
                continue
        raise ValueError(f"{_shown(value)} does not fit here")

    return structure


def _record(kind: Any) -> Hook:
    """A dataclass by its own `from_dict`, if it has one, or by its fields."""
    own = getattr(kind, "from_dict", None)
    if own is not None and getattr(own, "__func__", None) is not Record.from_dict.__func__:  # type: ignore[attr-defined]
        return lambda value, _: own(_mapping(value))
    if kind not in _BEGUN:  # of one that holds itself, once
        _BEGUN.add(kind)
        _form(kind, frozenset())
    return lambda value, _: read(kind, value)


def _array(hint: Any) -> Hook:
    import numpy as np

    wanted: Array = hint.__metadata__[0]
    number, plain = (_number, {int, float}) if wanted.dtype == "float64" else (_whole, {int})

    def walk(value: Any, dimensions: int) -> Any:
        if not dimensions:
            return math.nan if value is None and wanted.holes else number(value, None)
        if dimensions == 1 and plain.issuperset(map(type, _list(value))) and not any(one != one for one in value):  # noqa: PLR0124
            return value
        return _each([lambda part, _: walk(part, dimensions - 1)] * len(_list(value)), enumerate(value))

    def structure(value: Any, _: Any) -> Any:
        numbers = walk(value.tolist() if isinstance(value, np.ndarray) else value, wanted.dimensions)
        try:
            found = np.array(numbers, wanted.dtype)
        except OverflowError:
            raise ValueError(f"a number is beyond those of {wanted.dtype}") from None
        except ValueError:
            raise ValueError("its rows are of unequal length") from None
        return found if found.size or found.ndim == wanted.dimensions else found.reshape((0,) * wanted.dimensions)

    return structure


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _names(field: Field[Any]) -> tuple[str, ...]:
    return cast("tuple[str, ...]", field.metadata.get("names", (field.name,)))


def _is_default(field: Field[Any], value: Any) -> bool:
    return (value is None and field.default is None) or (field.default_factory is not MISSING and not value)
