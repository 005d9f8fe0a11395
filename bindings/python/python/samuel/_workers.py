"""The threads that handlers run on.

They are made by Python, in Python, so that one that hangs can be left behind:
the interpreter ends such a thread quietly when it exits. A thread that missed
a deadline is never used again, since an exception may still be on its way to
it. A forked process begins with no threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ._home import Home, Settled
from .errors import HookError

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

    from ._samuel import Call, Reply

    Function = Callable[[Call[Any, Any]], Any]
    Job = tuple[Function, Call[Any, Any], Reply]


class Interrupted(BaseException):
    """Raised within a handler that missed its deadline."""


class Worker:
    """A thread that runs one handler after the other."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.pid = os.getpid()
        # The call under way; whoever interrupts it must still find it here.
        self.call: Call[Any, Any] | None = None
        self.lock = threading.Lock()
        self.left_behind = False
        self.thread = threading.Thread(target=self._live, name="samuel-handler", daemon=True)
        self.thread.start()

    def _live(self) -> None:
        try:
            while self._work(*self.jobs.get()):
                pass
        except BaseException:
            # An interruption that came when the handler had ended already.
            if not self.left_behind:
                raise

    def _work(self, function: Function, call: Call[Any, Any], reply: Reply) -> bool:
        try:
            answer = function(call)
            if hasattr(answer, "__await__"):
                if hasattr(answer, "close"):
                    answer.close()
                raise TypeError("the handler returned a coroutine; make it an async function")
        except BaseException as error:
            if not self._ends():
                return False
            _idle.append(self)
            reply.fail(error)
        else:
            if not self._ends():
                return False
            # Before the answer, so that whoever waits for it finds the worker.
            _idle.append(self)
            reply.answer(answer)
        return True

    def _ends(self) -> bool:
        """Says whether the thread may take another call."""
        # A handler may have forked; its child must not go on as a worker.
        if os.getpid() != self.pid:
            return False
        with self.lock:
            self.call = None
            if self.left_behind:
                return False
        return True

    def interrupt(self, call: Call[Any, Any]) -> None:
        """Leaves the thread behind, and tries to end what it is doing."""
        with self.lock:
            if self.call is not call:
                return
            self.left_behind = True
            import ctypes

            ident = ctypes.c_ulong(self.thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Interrupted))


_idle: list[Worker] = []


def submit(function: Function, call: Call[Any, Any], reply: Reply) -> Callable[[], None]:
    """Has a handler run on a worker; returns what interrupts it."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = Worker()
    worker.call = call
    worker.jobs.put((function, call, reply))
    return partial(worker.interrupt, call)


class Tasks:
    """Handlers that run on an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        # The handlers under way, by their replies.
        self.under_way: dict[Reply, asyncio.Task[None] | None] = {}

    def submit(
        self, function: Function, context: Context | None, call: Call[Any, Any], reply: Reply
    ) -> Callable[[], None]:
        """Has a handler run; returns what cancels it."""
        self.under_way[reply] = None
        self.loop.call_soon_threadsafe(self._start, function, context, call, reply)
        return partial(self._interrupt, reply)

    def _interrupt(self, reply: Reply) -> None:
        try:
            self.loop.call_soon_threadsafe(self._cancel, reply)
        except RuntimeError:
            # The loop is closed, which has cancelled its tasks.
            self._forget(reply)

    def _start(self, function: Function, context: Context | None, call: Call[Any, Any], reply: Reply) -> None:
        if reply in self.under_way:
            at = None if context is None else context.copy()
            self.under_way[reply] = self.loop.create_task(self._work(function, call, reply), context=at)

    async def _work(self, function: Function, call: Call[Any, Any], reply: Reply) -> None:
        try:
            answer = await function(call)
        except BaseException as error:
            # Also a cancellation that the handler made itself.
            self._forget(reply)
            reply.fail(error)
        else:
            self._forget(reply)
            reply.answer(answer)

    def _cancel(self, reply: Reply) -> None:
        task = self.under_way.get(reply)
        if task is not None:
            task.cancel()
        else:
            self._forget(reply)

    def _forget(self, reply: Reply) -> None:
        self.under_way.pop(reply, None)


class Loop(Tasks):
    """A thread with an event loop, for handlers of runs that no event loop started."""

    def __init__(self) -> None:
        import asyncio

        super().__init__(asyncio.new_event_loop())
        self.thread = threading.Thread(target=self._live, name="samuel-asyncio", daemon=True)
        self.thread.start()

    def _live(self) -> None:
        import asyncio

        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    @property
    def usable(self) -> bool:
        """Whether all its handlers are within their deadlines: one that is
        not may be blocking it."""
        return self.thread.is_alive() and all(reply.wanted for reply in list(self.under_way))

    def _forget(self, reply: Reply) -> None:
        super()._forget(reply)
        if self is not _loop and not self.under_way:
            self.loop.stop()


_loop: Loop | None = None


def submit_async(function: Function, call: Call[Any, Any], reply: Reply) -> Callable[[], None]:
    """Has an async handler run on the event loop it is at home on, or else on one of ours; returns what
    cancels it."""
    context = None
    if isinstance(function, Settled):
        home, function = function.home, function.function
        context = home.context
        if home.loop is not None:
            return _submit_home(home, home.loop, function, call, reply)
    global _loop
    if _loop is None or not _loop.usable:
        _loop = Loop()
    return _loop.submit(function, context, call, reply)


def _submit_home(
    home: Home, loop: asyncio.AbstractEventLoop, function: Function, call: Call[Any, Any], reply: Reply
) -> Callable[[], None]:
    """Has a handler run on the caller's event loop, which nothing replaces."""
    if home.tasks is None:
        home.tasks = Tasks(loop)
    try:
        interrupt: Callable[[], None] = home.tasks.submit(function, home.context, call, reply)
    except RuntimeError:
        reply.fail(HookError("the event loop that the run was started on is closed"))
        return lambda: None
    return interrupt


def describe(error: BaseException) -> tuple[bool, str, list[str]]:
    """Tells an exception: whether it wanted to end the program, its words, and
    the traceback line by line."""
    import traceback

    text = str(error)
    name = type(error).__name__
    if isinstance(error, Exception) and not isinstance(error, HookError):
        text = f"{name}: {text}" if text else name
    lines = _writable("".join(traceback.format_exception(error))).rstrip("\n").split("\n")
    return not isinstance(error, Exception), _writable(text or name).split("\n")[0], lines[-100:]


def _writable(text: str) -> str:
    """Writes halves of surrogate pairs, which no other language takes for text, as Python shows them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _forget_threads() -> None:
    """A forked process has none of the threads."""
    global _loop
    _loop = None
    _idle.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_threads)
