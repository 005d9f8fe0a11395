"""Registering handlers: what loops and plugins have in common.

`_registering.pyi` has one signature for each hook point, so that type checkers
know what a handler is given and must answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._registration import Registration, is_async, target_of
from ._samuel import HOOK_POINTS
from .errors import ConfigError, HookError

_MIN_TIMEOUT, _MAX_TIMEOUT = 0.001, 86_400.0
_ORDERS = range(-(2**31), 2**31)


class Registering:
    """Something that handlers are registered with."""

    def __init__(self) -> None:
        self._registrations: list[Registration] = []

    def hook(
        self,
        point: str,
        name: str | None = None,
        *,
        order: int | None = None,
        timeout: float | None = None,
        strict: bool | None = None,
        inline: bool = False,
        isolate: str | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers the decorated function as a handler of a hook point.

        The function gets a `Call` and returns the point's output, or None to
        say nothing. It may be async.

        Args:
            point: The id of the point, such as `quality.check`.
            name: The handler's name; by default the function's.
            order: Its place among the handlers; the default is at 100, and one
                at the same order replaces it.
            timeout: Seconds after which it is left behind, from 0.001 (a millisecond) to
                86400 (a day); 5 minutes by default.
                samuel.toml comes before it.
            strict: Whether its breaking ends the iteration, or what fits the
                point. samuel.toml comes before it.
            inline: Whether it runs on the engine's own thread. That is the
                fastest, and only for functions that return at once: nothing
                can interrupt them.
            isolate: `process` to run it in a process of its own, which is ended
                at the deadline whatever it does. The function must be found by
                its name in a module or script.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._add(point, name, function, order, timeout, strict, inline, isolate)
            return function

        if point not in HOOK_POINTS:
            raise HookError(f'unknown hook point "{point}"', code="E_HOOK_UNKNOWN", help=_nearest(point))
        return register

    def _admit(self) -> None:
        """Refuses a handler that would never be called."""

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
    ) -> None:
        self._admit()
        if not callable(function):
            raise TypeError(f"a handler must be callable, not {type(function).__name__}")
        if timeout is not None and not _MIN_TIMEOUT <= timeout <= _MAX_TIMEOUT:
            raise ConfigError(f"a timeout is between {_MIN_TIMEOUT} and {_MAX_TIMEOUT} seconds, not {timeout}")
        if order is not None:
            _check_order(order)
        if isolate not in (None, "process"):
            raise ConfigError(f'isolate is None or "process", not {isolate!r}')
        tier = "process" if isolate else "async" if is_async(function) else "inline" if inline else "thread"
        named = name or getattr(function, "__name__", type(function).__name__).strip("<>")
        taken = {each.name for each in self._registrations if each.point == point}
        if name is None and named in taken:
            named = next(f"{named}-{n}" for n in range(2, len(taken) + 3) if f"{named}-{n}" not in taken)
        target = target_of(function) if isolate else None
        self._registrations.append(
            Registration(point, named, function, None, order, timeout, strict, tier, target)
        )


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
