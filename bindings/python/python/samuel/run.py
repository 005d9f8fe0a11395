"""A run that is under way, and what comes of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ._record import Record, items
from ._waiting import await_for, wait_at_most, wait_for
from .errors import AgentError, BudgetError, Cancelled, GateError, HookError, SamuelError

if TYPE_CHECKING:
    import logging
    from types import TracebackType

    from . import _samuel
    from .records import Event, ExitReason, IterationFailure, Usage

__all__ = ["Run", "RunResult"]

_set = object.__setattr__

# How long a run that is stopped may take to end.
_STOP_LIMIT = 10.0
# How many events are taken at once.
_BATCH = 256


class RunResult(Record):
    """What came of a run.

    Attributes:
        exit_reason: Why it ended, such as `completed`.
        detail: What led to it, in one line.
        iterations: How many iterations it made.
        failed_iterations: How many of them failed.
        completed: The ids of the tasks that it completed.
        usage: What it consumed.
        failures: How iterations failed, in order.
        exceptions: What handlers raised, in order, with their tracebacks; the
            first 16.
    """

    __slots__ = ("exit_reason", "detail", "iterations", "failed_iterations", "completed", "usage",
                 "failures", "exceptions")
    __match_args__ = ("exit_reason", "detail", "iterations", "failed_iterations", "completed", "usage",
                 "failures", "exceptions")
    exit_reason: ExitReason
    detail: str | None
    iterations: int
    failed_iterations: int
    completed: tuple[str, ...]
    usage: Usage
    failures: tuple[IterationFailure, ...]
    exceptions: tuple[BaseException, ...]

    def __init__(
        self,
        exit_reason: ExitReason,
        detail: str | None,
        iterations: int,
        failed_iterations: int,
        completed: tuple[str, ...],
        usage: Usage,
        failures: tuple[IterationFailure, ...] = (),
        exceptions: tuple[BaseException, ...] = (),
    ) -> None:
        _set(self, "exit_reason", exit_reason)
        _set(self, "detail", detail)
        _set(self, "iterations", iterations)
        _set(self, "failed_iterations", failed_iterations)
        _set(self, "completed", items(completed))
        _set(self, "usage", usage)
        _set(self, "failures", items(failures))
        _set(self, "exceptions", items(exceptions))

    @property
    def ok(self) -> bool:
        """Whether the plan is done."""
        return self.exit_reason == "completed"

    @property
    def cost_usd(self) -> float | None:
        """What the run cost in US dollars; None where the agent does not say."""
        return self.usage.cost_usd

    def check(self) -> RunResult:
        """Returns the result of a run that did all its work.

        Raises:
            BudgetError: Money, tokens or time were used up.
            GateError: A handler said stop.
            HookError: A handler broke where that ends the loop; its exception
                is the cause.
            Cancelled: Somebody ended the run.
            SamuelError: The work is not done for another reason.
        """
        if self.ok:
            return self
        kind = _BY_REASON.get(self.exit_reason, SamuelError)
        detail = f": {self.detail}" if self.detail else ""
        code = {"blocked": "E_RUN_BLOCKED", "cancelled": "E_RUN_CANCELLED", "error": "E_RUN_FAILED"}
        raised = self.exceptions[-1] if self.exceptions else None
        raise kind(
            f"the run ended before the plan was done: {self.exit_reason}{detail}",
            code=code.get(self.exit_reason, "E_RUN_STOPPED"),
            help="Read .samuel/run/progress.md, then run the loop again.",
            retryable=True,
        ) from raised


_BY_REASON: dict[str, type[SamuelError]] = {
    "budget": BudgetError,
    "wall-clock": BudgetError,
    "gate-stop": GateError,
    "stop-blocked": GateError,
    "strict-hook": HookError,
    "consecutive-failures": AgentError,
    "cancelled": Cancelled,
}


class Run:
    """A run that is under way. Its methods can be called from any thread."""

    def __init__(self, built: _samuel.Run, trusted: bool) -> None:
        self._logger = _logger()
        # One stream is the caller's, one the logger's.
        self._native = built.start(trusted, 1 if self._logger is None else 2)
        _live[id(self)] = self
        _prepare_exit()

    def _wait_for_start(self) -> None:
        try:
            wait_for(self._native, lambda: self._native.started() or None)
        except BaseException:
            self._leave()
            raise
        self._log()

    async def _await_start(self) -> None:
        try:
            await await_for(self._native, lambda: self._native.started() or None)
        except BaseException:
            await self._aleave()
            raise
        self._log()

    def _log(self) -> None:
        """Tells the logger what happens, from a thread of its own."""
        if self._logger is not None:
            import threading

            args = (self._native, self._native.events(), self._logger)
            threading.Thread(target=_log_events, args=args, daemon=True, name="samuel-log").start()
            self._logger = None

    @property
    def run_id(self) -> str:
        """The run's id; empty before it has started."""
        return self._native.run_id or ""

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self._native.ended

    def events(self) -> Iterator[Event]:
        """Yields events until the run has ended.

        The first call's begin with the run, later ones' with the call. A reader
        that is slow loses what the agent says, never a change of state.
        """
        taken = partial(_taken, self._native.events())
        while batch := wait_for(self._native, taken):
            yield from batch

    async def aevents(self) -> AsyncIterator[Event]:
        """Yields events until the run has ended; see `events`."""
        await self._await_start()
        taken = partial(_taken, self._native.events())
        while batch := await await_for(self._native, taken):
            for event in batch:
                yield event

    def wait(self, timeout: float | None = None) -> RunResult:
        """Waits for the run to end.

        Args:
            timeout: Seconds to wait at most.

        Raises:
            TimeoutError: The run goes on after that time.
            SamuelError: The run could not start, or broke.
        """
        self._native.ignore_events()
        if timeout is None:
            return self._made(wait_for(self._native, self._native.result))
        ended = wait_at_most(self._native, self._native.result, timeout)
        if ended is None:
            raise TimeoutError(f"the run goes on after {timeout} s")
        return self._made(ended)

    async def await_result(self) -> RunResult:
        """Waits for the run to end; see `wait`."""
        self._native.ignore_events()
        return self._made(await await_for(self._native, self._native.result))

    def _made(self, ended: tuple[Any, Any, list[BaseException]]) -> RunResult:
        _live.pop(id(self), None)
        report, failures, exceptions = ended
        return RunResult(**report._values(), failures=failures, exceptions=tuple(exceptions))

    def pause(self) -> None:
        """Holds the run before its next iteration."""
        self._native.pause()

    def resume(self) -> None:
        """Lets a run that holds go on."""
        self._native.resume()

    def steer(self, text: str) -> None:
        """Tells the agent something with the next prompt."""
        self._native.steer(text)

    def cancel(self) -> None:
        """Ends the run after the iteration that is under way."""
        self._native.cancel()

    def stop(self) -> None:
        """Ends the run now: the agent and its processes are stopped."""
        self._native.stop()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._leave()
        else:
            wait_for(self._native, self._has_ended)
            _live.pop(id(self), None)

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
            _live.pop(id(self), None)

    def _has_ended(self) -> bool | None:
        return self._native.ended or None

    def _leave(self) -> None:
        """Stops the run and waits for its end."""

        def look() -> bool | None:
            # A run that has not started yet is stopped as soon as it has.
            self._native.stop()
            return self._has_ended()

        if wait_at_most(self._native, look, _STOP_LIMIT):
            _live.pop(id(self), None)

    async def _aleave(self) -> None:
        import asyncio

        async def end() -> None:
            def look() -> bool | None:
                self._native.stop()
                return self._has_ended()

            await await_for(self._native, look)

        ending = asyncio.ensure_future(end())
        try:
            await asyncio.wait_for(asyncio.shield(ending), _STOP_LIMIT)
        except TimeoutError:
            return
        _live.pop(id(self), None)

    def __repr__(self) -> str:
        return f"<Run {self.run_id} {'ended' if self.ended else 'under way'}>"


def _logger() -> logging.Logger | None:
    """Returns the logger `samuel`, if the program listens to it."""
    import logging

    logger = logging.getLogger("samuel")
    return logger if logger.hasHandlers() and logger.isEnabledFor(logging.WARNING) else None


def _log_events(native: _samuel.RunHandle, stream: _samuel.EventStream | None, logger: logging.Logger) -> None:
    from .records import HookFired, RunFinished, RunStarted, Warning

    while batch := wait_for(native, partial(_taken, stream)):
        for event in batch:
            match event:
                case Warning(message):
                    logger.warning("%s", message)
                case HookFired(point=point, outcome=outcome):
                    for warning in outcome.warnings:
                        logger.warning("%s %s %s: %s", point, warning.handler, warning.class_, warning.message)
                case RunStarted(agent=agent):
                    logger.info("run %s started with %s", event.run_id, agent)
                case RunFinished(exit_reason=reason):
                    logger.info("run %s ended: %s", event.run_id, reason)


def _taken(stream: _samuel.EventStream | None) -> list[Event] | None:
    """Takes what has come: nothing yet is None, nothing more an empty list."""
    batch = None if stream is None else stream.take(_BATCH)
    return [] if batch is None else batch or None


_live: dict[int, Run] = {}
_pid = 0


def _prepare_exit() -> None:
    """Has every run ended before the interpreter ends."""
    global _pid
    if _pid == 0:
        import atexit

        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forked)
    _pid = os.getpid()


def _at_exit() -> None:
    from time import monotonic, sleep

    from . import _samuel

    deadline = monotonic() + _STOP_LIMIT
    while _live and monotonic() < deadline:
        for key, run in list(_live.items()):
            run.stop()
            if run.ended:
                _live.pop(key, None)
        sleep(0.002)
    _samuel.close()
    deadline = monotonic() + 2.0
    while _samuel.inside() and monotonic() < deadline:
        sleep(0.001)


def _forked() -> None:
    """A forked process has no thread of a run."""
    from . import _samuel

    _live.clear()
    _samuel.forked()
