"""A handler and how it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from . import _samuel
    from ._equipped import Plugin

# Flags of a code object: a coroutine function.
_COROUTINE = 0x80


class Registration(NamedTuple):
    """A handler and how it is registered, as the native module reads it."""

    point: str
    name: str
    function: Callable[..., Any]
    plugin: tuple[str, str, int] | None = None
    order: int | None = None
    timeout: float | None = None
    strict: bool | None = None
    tier: str = "thread"
    target: tuple[str, str] | None = None


def is_async(function: Any) -> bool:
    """Says whether calling a function makes a coroutine."""
    while hasattr(function, "func"):
        function = function.func
    for candidate in (function, getattr(type(function), "__call__", None)):
        code = getattr(getattr(candidate, "__func__", candidate), "__code__", None)
        if code is not None:
            return bool(code.co_flags & _COROUTINE)
    return False


def of_plugins(project: _samuel.Project, plugins: Iterable[Plugin]) -> Iterator[Registration]:
    """The handlers of plugins, in the order in which samuel.toml lists those."""
    places = project.listed_plugins
    for number, plugin in enumerate(plugins):
        place = places.index(plugin.name) if plugin.name in places else len(places) + number
        for each in plugin._registrations:
            yield each._replace(plugin=(plugin.name, plugin.namespace, place))
