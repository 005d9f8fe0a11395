"""Waiting for what happens in Rust.

Threads wait here, in Python, and are woken from outside: so Ctrl-C gets
through at once, and the interpreter can end while a thread still waits.
"""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    T = TypeVar("T")

    class Waitable(Protocol):
        """Something of the native module that rings when there is news."""

        @property
        def version(self) -> int: ...
        def wake(self, callback: Callable[[], object], seen: int) -> bool: ...

    R = TypeVar("R", covariant=True)

    class Work(Waitable, Protocol[R]):
        """Work that is under way in Rust, and is given up with whoever waits for it."""

        def result(self) -> R | None: ...
        def cancel(self) -> None: ...


# How long one wait lasts before signals are looked at again.
_SLICE = 0.05
_LONG = 3600.0


def wait_for(native: Waitable, look: Callable[[], T | None]) -> T:
    """Waits until a look finds something."""
    while (found := wait_at_most(native, look, _LONG)) is None:
        pass
    return found


def wait_at_most(native: Waitable, look: Callable[[], T | None], timeout: float) -> T | None:
    """Waits until a look finds something; None where so many seconds are over."""
    from time import monotonic

    deadline = monotonic() + timeout
    while True:
        seen = native.version
        found = look()
        # Also where there is news all the time.
        if found is not None or monotonic() >= deadline:
            return found
        woken = _thread.allocate_lock()
        woken.acquire()
        if native.wake(woken.release, seen):
            while not woken.acquire(timeout=_SLICE) and monotonic() < deadline:
                pass


async def await_for(native: Waitable, look: Callable[[], T | None]) -> T:
    """Waits until a look finds something, without blocking the event loop."""
    import asyncio

    loop = asyncio.get_running_loop()
    while True:
        seen = native.version
        found = look()
        if found is not None:
            return found
        woken = asyncio.Event()

        def wake(woken: asyncio.Event = woken) -> None:
            loop.call_soon_threadsafe(woken.set)

        if native.wake(wake, seen):
            await woken.wait()


def result_of(job: Work[T]) -> T:
    """Waits for work. It is told to end where the wait is interrupted: the traceback still holds it then."""
    try:
        return wait_for(job, job.result)
    except BaseException:
        job.cancel()
        raise


async def await_result_of(job: Work[T]) -> T:
    """As `result_of`, without blocking the event loop."""
    try:
        return await await_for(job, job.result)
    except BaseException:
        job.cancel()
        raise
