"""Who starts something: the event loop and the context variables that its handlers get.

A `Home` is taken where a run or a session is started. Async handlers run on its event loop, if it has
one; those on worker threads, and async ones without such a loop, run within a copy of its context. How they
run is `_workers`'.
"""

from __future__ import annotations

from contextvars import ContextVar, copy_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from contextvars import Context
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from ._registration import Registration

    P = ParamSpec("P")
    S = TypeVar("S")
    T = TypeVar("T")


class Home:
    """Where something was started.

    Attributes:
        loop: The event loop; None where it was started by a function that blocks.
        context: The context variables there.
    """

    __slots__ = ("loop", "context", "tasks")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self.loop = loop
        self.context = copy_context()
        # The handlers under way on the loop; `_workers` makes it.
        self.tasks: Any = None

    @classmethod
    def here(cls) -> Home:
        """The home of what is started on the event loop that runs."""
        import asyncio

        return cls(asyncio.get_running_loop())

    def settle(self, registration: Registration) -> Registration:
        """Has a handler run here; one that is sent into a process goes as it is now."""
        if registration.tier == "process":
            from ._sending import target_of

            return registration._replace(target=target_of(registration.function))
        if registration.tier not in ("async", "thread"):
            return registration
        return registration._replace(function=Settled(registration.function, self))

    def is_here(self) -> bool:
        """Whether waiting would block the event loop that handlers run on."""
        if self.loop is None:
            return False
        import asyncio

        # Asked without raising, as most threads have none.
        return asyncio._get_running_loop() is self.loop


class Settled:
    """A handler, and where it runs."""

    __slots__ = ("function", "home")

    def __init__(self, function: Callable[..., Any], home: Home) -> None:
        self.function = function
        self.home = home

    def __call__(self, *args: Any) -> Any:
        return self.home.context.copy().run(self.function, *args)


_given: ContextVar[Home | None] = ContextVar("samuel_home", default=None)


def home() -> Home:
    """The home of what is started now."""
    return _given.get() or Home(None)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a function on a thread, so that the event loop goes on; what it starts is at home on the loop."""
    import asyncio
    from functools import partial

    loop = asyncio.get_running_loop()
    at, context = Home(loop), copy_context()
    context.run(_given.set, at)
    return await loop.run_in_executor(None, partial(context.run, function, *args, **kwargs))


def awaited(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Makes the form of a method that is awaited: the same, on a thread."""

    async def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_thread(method, self, *args, **kwargs)

    name = getattr(method, "__name__", "call")
    call.__name__, call.__qualname__ = f"a{name}", f"a{name}"
    call.__doc__ = f"The same as `{name}`, to be awaited."
    return call
