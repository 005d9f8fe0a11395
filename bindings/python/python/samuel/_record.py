"""What all records have in common.

A record is immutable. `records` holds the classes; the native module builds
them directly, without calling `__init__`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from dataclasses import Field

Pairs = Mapping[str, str] | Iterable[tuple[str, str]]
"""Names and values, as a mapping or as pairs."""

Changes = Mapping[str, str | None] | Iterable[tuple[str, str | None]]
"""Names and values to set, and with `None` names to take away."""

_Self = TypeVar("_Self", bound="Record")
_T = TypeVar("_T")
_set = object.__setattr__


def items(values: Iterable[_T]) -> tuple[_T, ...]:
    """Keeps a list as what cannot change."""
    if isinstance(values, str):
        raise TypeError(f"expected several values, not the text {values!r}")
    return tuple(values)


def items_or_none(values: Iterable[_T] | None) -> tuple[_T, ...] | None:
    """Keeps a list that may be absent."""
    return None if values is None else items(values)


def pairs(values: Mapping[str, _T] | Iterable[tuple[str, _T]]) -> tuple[tuple[str, _T], ...]:
    """Keeps names and values in their order."""
    if isinstance(values, Mapping):
        return tuple(values.items())
    return tuple((name, value) for name, value in values)


changes = pairs


class _Fields:
    """The fields of a record as `dataclasses` has them, made when somebody asks: few do."""

    def __get__(self, record: Record | None, kind: type[Record]) -> dict[str, Field[Any]]:
        made = _known.get(kind)
        if made is None:
            from ._fields import fields_of

            made = _known[kind] = fields_of(kind)
        return made


_known: dict[type[Record], dict[str, Field[Any]]] = {}


class Record:
    """An immutable record, compared by value.

    It is a dataclass to whoever asks, such as `dataclasses.asdict` and pydantic.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _Fields()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    _wire: ClassVar[dict[str, str]] = {}
    _tag: ClassVar[tuple[str, str] | None] = None
    _rust: ClassVar[str] = ""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def replace(self: _Self, **changes: Any) -> _Self:
        """Returns a copy with other values for some fields."""
        return type(self)(**{**self._values(), **changes})

    __replace__ = replace

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as a dict that is JSON, with records inside as dicts too.

        A record that is one of several kinds says first which one, as the JSON of the command line does: an event by
        `event`, such as `"event": "run_started"`, others by `kind`, `type` or `decision`.

        Raises:
            TypeError: A value in it is none that JSON has.
        """
        which = {} if self._tag is None else dict([self._tag])
        return {**which, **{name: _plain(value) for name, value in self._values().items()}}

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashable, self._values().values())))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._values()))


class EventBase(Record):
    """What every event tells.

    Attributes:
        seq: The number of the event within its run, from 1. Events that a slow
            reader lost leave a gap.
        at: When it happened, RFC 3339 in UTC, by the time of day. That may be set back
            in between: elapsed_ms says how long something took.
        elapsed_ms: Milliseconds since this part of the run was built. Never goes back.
        run_id: The run.
        lane: The lane in which it happened, from 1; None in a run without lanes, and of what is of the whole run.
    """

    __slots__ = ("seq", "at", "elapsed_ms", "run_id", "lane")
    seq: int
    at: str
    elapsed_ms: int
    run_id: str
    lane: int | None

    def __init__(
        self, *, seq: int = 0, at: str = "", elapsed_ms: int = 0, run_id: str = "", lane: int | None = None
    ) -> None:
        _set(self, "seq", seq)
        _set(self, "at", at)
        _set(self, "elapsed_ms", elapsed_ms)
        _set(self, "run_id", run_id)
        _set(self, "lane", lane)

    def _values(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.__match_args__}
        base = {"seq": self.seq, "at": self.at, "elapsed_ms": self.elapsed_ms, "run_id": self.run_id}
        return {**own, **base, "lane": self.lane}


def _rebuild(kind: type[Record], values: dict[str, Any]) -> Record:
    return kind(**values)


def _hashable(value: Any) -> Any:
    """A value with a hash, the same for equal ones, of what has none: dicts and lists, as they are in calls of tools, sets
    and bytearrays. Any other value without one stays so.
    """
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, tuple | list):
        return tuple(map(_hashable, value))
    if isinstance(value, set):
        return frozenset(value)
    return bytes(value) if isinstance(value, bytearray) else value


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    raise TypeError(f"a value of the type {type(value).__name__} is no JSON")
