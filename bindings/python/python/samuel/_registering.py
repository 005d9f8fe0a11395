"""Registering handlers: what loops and plugins have in common.

`_registering.pyi` has one signature for each hook point that fires there, so that type checkers
know what a handler is given and must answer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any
from warnings import warn

from ._handler import Handler, function_of
from ._registration import Registration, tier_of
from ._samuel import HOOK_POINTS
from .errors import ConfigError, HandlerWarning, HookError

_MIN_TIMEOUT, _MAX_TIMEOUT = 0.001, 86_400.0
_ORDERS = range(-(2**31), 2**31)
# How many decorators of a function are looked through.
_MAX_DECORATORS = 100


# The points that the commands fire, and no run or session.
_OF_COMMANDS = frozenset({"init.before", "init.after", "sync.before", "sync.after"})
# Those that a session without a loop fires.
_OF_SESSIONS = frozenset(
    {
        "session.start",
        "prompt.submit",
        "ability.before",
        "ability.after",
        "task.completed",
        "iteration.error",
        "session.stop",
        "session.end",
    }
)


class Registering:
    """Something that handlers are registered with."""

    # The points that fire, where handlers are registered here.
    _fires: frozenset[str] = frozenset(HOOK_POINTS)

    def __init__(self) -> None:
        self._registrations: list[Registration] = []

    @property
    def handlers(self) -> tuple[Handler[Any], ...]:
        """The handlers, in the order they were registered; those of plugins are the plugins'."""
        return tuple(Handler(self, each, each.function) for each in self._registrations)

    def _hook(
        self,
        point: str,
        name: str | None = None,
        *,
        order: int | None = None,
        timeout: float | None = None,
        strict: bool | None = None,
        inline: bool = False,
        isolate: str | None = None,
    ) -> Callable[[Callable[..., Any]], Handler[Any]]:
        """Registers the decorated function as a handler of a hook point.

        The function gets a `Call` and returns the point's output, or None to
        say nothing. It may be async. What is returned is called as the function is, and has `remove`.

        A handler takes the place of the one that has its `name` at the point, and of the one that the same
        function of a module made, as when a cell of a notebook runs again.

        Args:
            point: The id of the point, such as `quality.check`.
            name: The handler's name; by default the function's, with a number behind it where
                another function has that.
            order: Its place among the handlers; the default is at 100, and one
                at the same order replaces it.
            timeout: Seconds after which it is left behind, from 0.001 (a millisecond) to
                86400 (a day); 5 minutes by default.
                samuel.toml comes before it.
            strict: Whether its breaking ends the iteration, or what fits the
                point. samuel.toml comes before it.
            inline: Whether it runs on the engine's own thread. That is the
                fastest, and only for functions that return at once: nothing
                can interrupt them. It goes neither with `isolate` nor with an async function.
            isolate: `process` to run it in a process of its own, which is kept from one call to the
                next, and ended at the deadline whatever the function does. One of a module or a script is
                imported there, once; another is sent with what it uses, and refused where
                that cannot be sent.
        """

        def register(function: Callable[..., Any]) -> Handler[Any]:
            return self._add(point, name, function_of(function), order, timeout, strict, inline, isolate)

        if point not in HOOK_POINTS:
            raise HookError(f'unknown hook point "{point}"', code="E_HOOK_UNKNOWN", help=_nearest(point))
        return register

    def _admit(self) -> None:
        """Refuses a handler that would never be called."""

    def _remove(self, registration: Registration) -> None:
        self._admit()
        self._registrations = [each for each in self._registrations if each is not registration]

    def _add(
        self,
        point: str,
        name: str | None,
        function: Callable[..., Any],
        order: int | None,
        timeout: float | None,
        strict: bool | None,
        inline: bool,
        isolate: str | None,
    ) -> Handler[Any]:
        self._admit()
        if not callable(function):
            raise TypeError(f"a handler must be callable, not {type(function).__name__}")
        if timeout is not None and not _MIN_TIMEOUT <= timeout <= _MAX_TIMEOUT:
            raise ConfigError(f"a timeout is between {_MIN_TIMEOUT} and {_MAX_TIMEOUT} seconds, not {timeout}")
        if order is not None:
            _check_order(order)
        tier = tier_of(function, inline, isolate)
        given = name or getattr(function, "__name__", type(function).__name__).strip("<>")
        place = self._place_of(point, given, None if name else function)
        named = given if place is not None or name else self._free_name(point, given)
        target = _target_of(function) if isolate else None
        made = Registration(point, named, function, None, order, timeout, strict, tier, target)
        if place is None:
            self._registrations.append(made)
        else:
            self._registrations[place] = made
        self._warn_of(made)
        return Handler(self, made, function)

    def _place_of(self, point: str, name: str, function: Callable[..., Any] | None) -> int | None:
        """Where a handler stands that another one of this name replaces; a function, only if it is the same one."""
        for place, each in enumerate(self._registrations):
            if each.point == point and each.name == name:
                return place if function is None or _is_again(each.function, function) else None
        return None

    def _free_name(self, point: str, name: str) -> str:
        taken = {each.name for each in self._registrations if each.point == point}
        if name not in taken:
            return name
        return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)

    def _warn_of(self, made: Registration) -> None:
        """Warns of a handler that will not be called, or in whose place another one is not."""
        said = None
        if made.point not in self._fires:
            what = type(self).__name__.lower()
            said = f'a {what} never fires {made.point}: the handler "{made.name}" will not be called'
        for each in self._registrations:
            if each is not made and made.order is not None and (each.point, each.order) == (made.point, made.order):
                said = (
                    f'the handlers "{each.name}" and "{made.name}" both have the order {made.order} at {made.point}: '
                    f'"{made.name}" alone will be called'
                )
        if said:
            # At the line that registers: past `_add` and the decorator.
            warn(said, HandlerWarning, stacklevel=4)


class LoopRegistering(Registering):
    """What loops have: the points of a run."""

    _fires = Registering._fires - _OF_COMMANDS
    hook = Registering._hook


class SessionRegistering(Registering):
    """What sessions have: the points that they fire."""

    _fires = _OF_SESSIONS
    hook = Registering._hook


class PluginRegistering(Registering):
    """What plugins and methodologies have: every point."""

    hook = Registering._hook


def _is_again(before: Callable[..., Any], function: Callable[..., Any]) -> bool:
    """Whether a function is the one of before, made anew: of the same name in the same module.

    What was made twice of the same code is no such function: methods of two objects, what a decorator makes of one
    function, a function in a loop.
    """
    if before is function or isinstance(function, MethodType) and before == function:
        return True
    name = getattr(function, "__qualname__", None)
    if name is None or "<" in name:
        return False
    code = _code_of(function)
    if code is not None and code is _code_of(before):
        return False
    return (name, getattr(function, "__module__", None)) == (
        getattr(before, "__qualname__", None),
        getattr(before, "__module__", None),
    )


def _code_of(function: Any) -> Any:
    """The code of a function within its decorators, where it has some; at each run of a cell that is another one."""
    for _ in range(_MAX_DECORATORS):
        if not hasattr(function, "__wrapped__"):
            break
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _target_of(function: Callable[..., Any]) -> tuple[str, str]:
    # Only those who isolate handlers need it.
    from ._sending import target_of

    return target_of(function)


def _check_order(order: object) -> None:
    """Holds an order against the rule of samuel.toml, in its words."""
    if isinstance(order, bool) or not isinstance(order, int):
        raise ConfigError(f"order: expected a whole number, found {_kind(order)}")
    if order not in _ORDERS:
        bound = f"most {_ORDERS[-1]}" if order > 0 else f"least {_ORDERS[0]}"
        raise ConfigError(f"order: {order} is out of range, expected a whole number of at {bound}")


def _kind(value: object) -> str:
    if isinstance(value, float):
        return "a number with a fraction"
    return {bool: "true or false", str: "text"}.get(type(value), type(value).__name__)


def _nearest(point: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(point, HOOK_POINTS, 1)
    return f'Did you mean "{near[0]}"?' if near else "See samuel.HOOK_POINTS."
