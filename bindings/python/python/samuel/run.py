"""A run that is under way."""

from __future__ import annotations

from _thread import get_ident
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from . import _process
from ._exit import STOP_LIMIT, TOLD_LIMIT, live
from ._waiting import await_for, await_result_of, result_of, wait_at_most, wait_for
from .errors import HookError
from .result import RunResult

if TYPE_CHECKING:
    import logging
    import threading
    from types import TracebackType

    from . import _samuel
    from ._home import Home
    from .records import Event, LiveState

    Watcher = Callable[[Event], object]

__all__ = ["Run"]

# How many events are taken at once.
_BATCH = 256


class Run:
    """A run that is under way. Its methods can be called from any thread.

    One that `Loop.astart` started is awaited: `await run` is its result, `run.aevents()` its events, and
    `async with run` waits for the end of it.
    """

    def __init__(
        self,
        built: _samuel.Run,
        trusted: bool,
        decided: bool,
        store: _samuel.TrustStore | None,
        home: Home | None = None,
        watchers: Iterable[Watcher] = (),
    ) -> None:
        if _process.importing:
            raise HookError(
                "a script must not start a loop when it is imported, as the process of an isolated handler does",
                code="E_USAGE",
                help='Put what starts the loop below `if __name__ == "__main__":`.',
            )
        self._home = home
        logger = _logger()
        self._watchers: list[Watcher] = [*watchers, *([] if logger is None else [partial(_log, logger)])]
        self._telling: list[threading.Thread] = []
        # One stream is the caller's, the others the watchers'.
        self._native = built.start(trusted, decided, 1 + len(self._watchers), store)
        live.add(self)

    def _wait_for_start(self) -> None:
        try:
            wait_for(self._native, lambda: self._native.started() or None)
        except BaseException:
            self._leave()
            raise
        self._watch()

    async def _await_start(self) -> None:
        try:
            await await_for(self._native, lambda: self._native.started() or None)
        except BaseException:
            await self._aleave()
            raise
        self._watch()

    def _watch(self) -> None:
        """Tells the watchers what happens, each from a thread of its own."""
        while self._watchers:
            import threading

            args = (self._native, self._native.events(), self._watchers.pop())
            thread = threading.Thread(target=_tell, args=args, daemon=True, name="samuel-watch")
            thread.start()
            self._telling.append(thread)

    def _told(self, limit: float = TOLD_LIMIT) -> None:
        """Waits until the watchers of a run that has ended know all of it, for no longer than `limit` seconds and once."""
        deadline = monotonic() + limit
        while self._telling:
            thread = self._telling.pop()
            # A watcher that asks for the result does not wait for itself.
            if thread.ident != get_ident():
                thread.join(max(0.0, deadline - monotonic()))

    async def _atold(self) -> None:
        import asyncio

        deadline = monotonic() + TOLD_LIMIT
        while any(thread.is_alive() for thread in self._telling) and monotonic() < deadline:
            await asyncio.sleep(0.005)
        self._telling.clear()

    @property
    def run_id(self) -> str:
        """The run's id; empty before it has started."""
        return self._native.run_id or ""

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self._native.ended

    @property
    def state(self) -> LiveState | None:
        """What the run does now, with the tool calls that wait for approval; None once it has ended."""
        return self._native.state

    def events(self) -> Iterator[Event]:
        """Yields events until the run has ended.

        The first call's begin with the run, later ones' with the call. A reader
        that is slow loses what the agent says, never a change of state.
        """
        self._may_block("aevents")
        taken = partial(batch_of, self._native.events())
        while batch := wait_for(self._native, taken):
            yield from batch

    async def aevents(self) -> AsyncIterator[Event]:
        """Yields events until the run has ended; see `events`."""
        await self._await_start()
        taken = partial(batch_of, self._native.events())
        while batch := await await_for(self._native, taken):
            for event in batch:
                yield event

    def wait(self, timeout: float | None = None) -> RunResult:
        """Waits for the run to end.

        Args:
            timeout: Seconds to wait for its end at most. Spans and log lines of a run that has ended may take 2 more.

        Raises:
            TimeoutError: The run goes on after that time.
            SamuelError: The run could not start, or broke.
            RuntimeError: Waiting would block the event loop that handlers run on.
        """
        self._may_block("await_result")
        self._native.ignore_events()
        ended = (
            wait_for(self._native, self._native.result)
            if timeout is None
            else wait_at_most(self._native, self._native.result, timeout)
        )
        if ended is None:
            raise TimeoutError(f"the run goes on after {timeout} s")
        self._told()
        return self._made(ended)

    async def await_result(self) -> RunResult:
        """Waits for the run to end; see `wait`."""
        self._native.ignore_events()
        ended = await await_for(self._native, self._native.result)
        await self._atold()
        return self._made(ended)

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self.await_result().__await__()

    def _may_block(self, instead: str) -> None:
        """Refuses to wait where the handlers of the run would wait as well."""
        if self._home is not None and self._home.is_here():
            raise RuntimeError(
                f"this would block the event loop that the handlers of the run run on; use Run.{instead}"
            )

    def _made(self, ended: tuple[Any, Any, list[BaseException]]) -> RunResult:
        live.discard(self)
        report, failures, exceptions = ended
        return RunResult(**report._values(), failures=failures, exceptions=tuple(exceptions))

    def pause(self) -> None:
        """Holds the run before its next iteration."""
        self._native.pause()

    def resume(self, text: str | None = None) -> None:
        """Lets a run that holds go on, and tells the agent a text with the next prompt, where one is given."""
        if text is not None:
            self.steer(text)
        self._native.resume()

    def steer(self, text: str) -> None:
        """Tells the agent something with the next prompt."""
        self._native.steer(text)

    def approve(self, call: int, text: str | None = None) -> None:
        """Lets a tool call be made that waits for approval, and has the agent told a text with the next prompt, where
        one is given. `state` lists those that wait. Waits until the run has told what comes of the call, within seconds. A
        handler that is `inline` cannot be told that: the run waits for it meanwhile.

        Raises:
            RuntimeError: Waiting would block the event loop that handlers run on; `aapprove` does not.
            SamuelError: It did not count (`E_CONTROL_NOTHING_WAITS`): the call does not wait, somebody else decided on it
                first, or its time was up; the run has ended (`E_CONTROL_NO_LOOP`), or does not tell in time
                (`E_CONTROL_UNANSWERED`): then it may still count, which `state` and the same call again tell.
        """
        self._may_block("aapprove")
        result_of(self._native.approve(call, text))

    def deny(self, call: int, text: str | None = None) -> None:
        """Keeps a tool call back that waits for approval, and says why, where that is given; see `approve`."""
        self._may_block("adeny")
        result_of(self._native.deny(call, text))

    async def aapprove(self, call: int, text: str | None = None) -> None:
        """The same as `approve`, to be awaited."""
        await await_result_of(self._native.approve(call, text))

    async def adeny(self, call: int, text: str | None = None) -> None:
        """The same as `deny`, to be awaited."""
        await await_result_of(self._native.deny(call, text))

    def cancel(self) -> None:
        """Ends the run after the iteration that is under way."""
        self._native.cancel()

    def stop(self) -> None:
        """Ends the run now: the agent and its processes are stopped."""
        self._native.stop()

    def __enter__(self) -> Run:
        self._may_block("__aenter__, by `async with`")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._leave()
        else:
            wait_for(self._native, self._has_ended)
            self._told()
            live.discard(self)

    async def __aenter__(self) -> Run:
        await self._await_start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            await self._aleave()
        else:
            await await_for(self._native, self._has_ended)
            await self._atold()
            live.discard(self)

    def _has_ended(self) -> bool | None:
        return self._native.ended or None

    def _stopped(self) -> bool | None:
        # A run that has not started yet is stopped as soon as it has.
        self._native.stop()
        return self._has_ended()

    def _leave(self) -> None:
        """Stops the run and waits for its end."""
        if wait_at_most(self._native, self._stopped, STOP_LIMIT):
            self._told()
            live.discard(self)

    async def _aleave(self) -> None:
        import asyncio

        ending = asyncio.ensure_future(await_for(self._native, self._stopped))
        try:
            await asyncio.wait_for(asyncio.shield(ending), STOP_LIMIT)
        except TimeoutError:
            return
        await self._atold()
        live.discard(self)

    def __repr__(self) -> str:
        return f"<Run {self.run_id} {'ended' if self.ended else 'under way'}>"


def _logger() -> logging.Logger | None:
    """Returns the logger `samuel`, if the program listens to it."""
    import logging

    logger = logging.getLogger("samuel")
    return logger if logger.hasHandlers() and logger.isEnabledFor(logging.WARNING) else None


def _tell(native: _samuel.RunHandle, stream: _samuel.EventStream | None, watcher: Watcher) -> None:
    while batch := wait_for(native, partial(batch_of, stream)):
        for event in batch:
            watcher(event)


def _log(logger: logging.Logger, event: Event) -> None:
    from .records import HookFired, RunFinished, RunStarted, Swept, Warning

    match event:
        case Warning(message):
            logger.warning("%s", message)
        case Swept(swept=swept, ended=ended, left=left):
            logger.warning("processes ended: %s, left: %s, swept: %s", ended, left, swept)
        case HookFired(point=point, outcome=outcome):
            for warning in outcome.warnings:
                logger.warning("%s %s %s: %s", point, warning.handler, warning.class_, warning.message)
        case RunStarted(agent=agent):
            logger.info("run %s started with %s", event.run_id, agent)
        case RunFinished(exit_reason=reason):
            logger.info("run %s ended: %s", event.run_id, reason)


def batch_of(stream: _samuel.EventStream | _samuel.Watching | None) -> list[Event] | None:
    """Takes what has come: nothing yet is None, nothing more an empty list."""
    batch = None if stream is None else stream.take(_BATCH)
    return [] if batch is None else batch or None
