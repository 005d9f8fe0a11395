"""TOON, the token-oriented object notation, with the interface of `json`.

    >>> from samuel import toon
    >>> print(toon.dumps({"tasks": [{"id": 1, "title": "Parse"}, {"id": 2, "title": "Print"}]}))
    tasks[2]{id,title}:
      1,Parse
      2,Print

Objects are written and read directly. Uniform lists of dicts become tables,
which are shorter than JSON; deeply nested data is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _samuel
from ._within import within

if TYPE_CHECKING:
    import json
    from collections.abc import Callable
    from typing import Any, Literal, Protocol

    class _Readable(Protocol):
        def read(self) -> str | bytes: ...

    class _Writable(Protocol):
        def write(self, text: str, /) -> object: ...


__all__ = [
    "MAX_DEPTH",
    "Diagnostic",
    "Recovered",
    "Skipped",
    "ToonDecodeError",
    "dump",
    "dumps",
    "load",
    "loads",
    "recover",
]


class ToonDecodeError(ValueError):
    """Text that is no TOON.

    Attributes:
        msg: What is wrong, without the place.
        doc: The text.
        pos: The place in the text, in characters from 0.
        lineno: The line, from 1.
        colno: The column in characters, from 1.
    """

    def __init__(self, msg: str, doc: str, pos: int) -> None:
        self.msg = msg
        self.doc = doc
        self.pos = pos
        self.lineno = doc.count("\n", 0, pos) + 1
        self.colno = pos - doc.rfind("\n", 0, pos)
        super().__init__(f"{msg}: line {self.lineno} column {self.colno} (char {pos})")

    def __reduce__(self) -> tuple[type[ToonDecodeError], tuple[str, str, int]]:
        return type(self), (self.msg, self.doc, self.pos)


MAX_DEPTH = 512
"""How deep data may be nested, in both directions, unless `max_depth` says less."""

# Spaces of one level at most, as on the command line.
_WIDEST = 16


def dumps(
    obj: Any,
    *,
    indent: int = 2,
    delimiter: Literal[",", "\t", "|"] = ",",
    default: Callable[[Any], Any] | None = None,
    cls: type[json.JSONEncoder] | None = None,
    sort_keys: bool = False,
    allow_nan: bool = True,
    max_depth: int = MAX_DEPTH,
) -> str:
    """Writes an object as TOON.

    Takes the objects that `json.dumps` takes. Integers keep all of their digits.

    Args:
        obj: The object.
        indent: Spaces of one level, from 1 to 16.
        delimiter: What separates cells.
        default: Turns an object of another class into one that can be written.
        cls: An encoder of `json`, whose `default` is used where there is no other.
        sort_keys: Whether keys are sorted; else they keep their order.
        allow_nan: Whether `nan` and infinities, which TOON does not have, become `null`; else they are refused.
        max_depth: How deep data may be nested, from 0 to 512, which is what `loads` reads.

    Raises:
        TypeError: An object or a key is of a class that cannot be written.
        ValueError: The data is circular or nested too deep, or holds a number that is refused; `indent` or `max_depth` is
            beyond its range.
        RuntimeError: A dict changes its size while it is written.
    """
    if default is None and cls is not None:
        default = cls().default
    indent, max_depth = within("indent", indent, 1, _WIDEST), within("max_depth", max_depth, 0, MAX_DEPTH)
    return _samuel.toon_dumps(obj, indent, delimiter, default, sort_keys, allow_nan, max_depth)


def dump(
    obj: Any,
    fp: _Writable,
    *,
    indent: int = 2,
    delimiter: Literal[",", "\t", "|"] = ",",
    default: Callable[[Any], Any] | None = None,
    cls: type[json.JSONEncoder] | None = None,
    sort_keys: bool = False,
    allow_nan: bool = True,
    max_depth: int = MAX_DEPTH,
) -> None:
    """Writes an object as TOON to a text file; see `dumps`."""
    text = dumps(
        obj,
        indent=indent,
        delimiter=delimiter,
        default=default,
        cls=cls,
        sort_keys=sort_keys,
        allow_nan=allow_nan,
        max_depth=max_depth,
    )
    fp.write(text)


def loads(
    s: str | bytes | bytearray,
    *,
    indent: int = 2,
    strict: bool = True,
    max_depth: int = MAX_DEPTH,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """Reads an object from TOON.

    Integers have any size. A number that is not whole and beyond the range of `float`, such as `1e999`, is an
    error unless `parse_float` reads it. What a function raises reaches the caller as it is.

    Args:
        s: The text; bytes must be UTF-8.
        indent: Spaces of one level, from 1 to 16.
        strict: Whether every rule of the specification is enforced.
        max_depth: How deep data may be nested, from 0 to 512.
        object_hook: Called with each object as a dict; its result takes the place of the dict.
        object_pairs_hook: Called with the keys and values of each object in their order; goes before `object_hook`.
        parse_int: Called with the text of each integer, in place of `int`.
        parse_float: Called with the text of every other number, in place of `float`; `decimal.Decimal` for instance.

    Raises:
        ToonDecodeError: The text is no TOON.
        ValueError: `indent` or `max_depth` is beyond its range.
    """
    indent, max_depth = within("indent", indent, 1, _WIDEST), within("max_depth", max_depth, 0, MAX_DEPTH)
    hooks = (object_hook, object_pairs_hook, parse_int, parse_float)
    return _samuel.toon_loads(_text(s), indent, strict, max_depth, hooks)


def load(
    fp: _Readable,
    *,
    indent: int = 2,
    strict: bool = True,
    max_depth: int = MAX_DEPTH,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_int: Callable[[str], Any] | None = None,
    parse_float: Callable[[str], Any] | None = None,
) -> Any:
    """Reads an object from a file of TOON; see `loads`."""
    return loads(
        fp.read(),
        indent=indent,
        strict=strict,
        max_depth=max_depth,
        object_hook=object_hook,
        object_pairs_hook=object_pairs_hook,
        parse_int=parse_int,
        parse_float=parse_float,
    )


class Diagnostic(NamedTuple):
    """One fault of a damaged document."""

    code: str
    """A stable name, such as `width_mismatch`."""
    message: str
    """What is wrong."""
    line: int
    """The line, from 1."""
    column: int
    """The column in characters, from 1."""
    path: str
    """Where in the data, such as `tasks[3].title`."""
    action: Literal["kept", "skipped", "stopped"]
    """What was done."""


class Skipped(NamedTuple):
    """Text that the value does without."""

    line: int
    """Its first line, from 1."""
    text: str
    """The text as it stood."""


class Recovered(NamedTuple):
    """What could be read of a damaged document."""

    value: Any
    """The data; None where nothing could be read."""
    diagnostics: list[Diagnostic]
    """What was wrong, in the order of the text; 100 faults at most."""
    skipped: list[Skipped]
    """The text that was left out."""
    more: int = 0
    """How many more faults there are."""


def recover(s: str | bytes | bytearray, *, indent: int = 2) -> Recovered:
    """Reads whatever can be read of a document, and says what was wrong.

    Never raises for what the text holds.

    Args:
        s: The text; bytes of any kind.
        indent: Spaces of one level, from 1 to 16.

    Raises:
        ValueError: `indent` is beyond its range.
    """
    indent = within("indent", indent, 1, _WIDEST)
    raw = s.encode("utf-8", "surrogatepass") if isinstance(s, str) else bytes(_document(s))
    value, faults, more, skipped = _samuel.toon_recover(raw, indent)
    diagnostics = [Diagnostic(*fault) for fault in faults]
    return Recovered(value, diagnostics, [Skipped(*part) for part in skipped], more)


def _text(s: str | bytes | bytearray) -> str:
    return s if isinstance(s, str) else _document(s).decode("utf-8")


def _document(s: bytes | bytearray) -> bytes | bytearray:
    if isinstance(s, bytes | bytearray):
        return s
    raise TypeError(f"the TOON document must be str, bytes or bytearray, not {type(s).__name__}")
