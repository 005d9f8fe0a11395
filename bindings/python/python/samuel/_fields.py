"""The fields of records, for those who read them as dataclasses.

What `dataclasses.fields`, `asdict` and `replace` need, and pydantic, which reads the same: the name, the type
and the default of each field, in the order in which `__init__` takes them.
"""

from __future__ import annotations

import dataclasses
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._record import Record


def fields_of(kind: type[Record]) -> dict[str, dataclasses.Field[Any]]:
    """Makes the fields of a class of records."""
    annotations: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        annotations.update(base.__dict__.get("__annotations__", {}))
    takes = {
        name: parameter
        for base in reversed(kind.__mro__)
        if "__init__" in base.__dict__
        for name, parameter in signature(base.__dict__["__init__"]).parameters.items()
    }
    made = [(name, annotations[name], _field(name, takes.get(name), annotations[name])) for name in _names(kind, takes)]
    # The standard library makes them, of a class that is like this one.
    like = dataclasses.make_dataclass(kind.__name__, made, kw_only=True, frozen=True)
    return {field.name: field for field in dataclasses.fields(like)}


def _names(kind: type[Record], takes: dict[str, Parameter]) -> list[str]:
    slots = {name for base in kind.__mro__ for name in base.__dict__.get("__slots__", ())}
    return [*kind.__match_args__, *(name for name in takes if name in slots and name not in kind.__match_args__)]


def _field(name: str, parameter: Parameter | None, annotation: str) -> Any:
    if parameter is None or parameter.default is Parameter.empty:
        return dataclasses.field()
    default = parameter.default
    if default is None and annotation != "Any" and "None" not in annotation:
        # What `__init__` makes itself, where it is given nothing.
        from . import records

        return dataclasses.field(default_factory=getattr(records, annotation))
    if isinstance(default, list | dict | set):
        return dataclasses.field(default_factory=lambda: type(default)(default))
    return dataclasses.field(default=default)
