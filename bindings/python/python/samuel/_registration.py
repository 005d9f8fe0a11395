"""A handler and how it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ConfigError

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


def tier_of(function: Any, inline: bool, isolate: str | None) -> str:
    """Says where a handler runs.

    Raises:
        ConfigError: `isolate` is neither None nor `process`, or `inline` does not go with it or with an async function.
    """
    if isolate not in (None, "process"):
        raise ConfigError(f'isolate is None or "process", not {isolate!r}')
    is_awaited = is_async(function)
    if inline and (isolate or is_awaited):
        what = 'isolate="process" runs it in a process of its own' if isolate else "an async function runs on an event loop"
        raise ConfigError(f"inline runs a handler on the engine's own thread, and {what}: leave inline out")
    return "process" if isolate else "async" if is_awaited else "inline" if inline else "thread"


def of_plugins(project: _samuel.Project, plugins: Iterable[Plugin]) -> Iterator[Registration]:
    """The handlers of plugins, in the order in which samuel.toml lists those."""
    places = project.listed_plugins
    for number, plugin in enumerate(plugins):
        place = places.index(plugin.name) if plugin.name in places else len(places) + number
        for each in plugin._registrations:
            yield each._replace(plugin=(plugin.name, plugin.namespace, place))
