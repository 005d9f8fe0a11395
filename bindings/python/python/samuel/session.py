"""A session without a loop: any orchestrator fires the hook points of a project."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from . import _samuel
from ._equipped import Equipped
from ._home import Home, awaited, in_thread
from ._registering import SessionRegistering
from ._waiting import await_for, await_result_of, result_of, wait_for
from .errors import HookError, SamuelError
from .records import Feedback, ToolBlocked
from .run import batch_of

if TYPE_CHECKING:
    from types import TracebackType

    from ._equipped import Plugin, Trust
    from .project import Project
    from .records import AbilityPermission, AbilityStatus, Event, Executables, SessionSource

__all__ = ["AbilityOutcome", "AbilityOutput", "Session"]

_T = TypeVar("_T")
_R = TypeVar("_R")

# The call that the code at work was called by: its session, and its id.
_around: ContextVar[tuple[int, str] | None] = ContextVar("samuel_call", default=None)


@dataclass(frozen=True)
class AbilityOutput(Generic[_T]):
    """What an ability returned, with what handlers are told of it.

    Attributes:
        value: The value, for the caller.
        summary: The result in words; handlers are given the first 4 KiB. By
            default the value as text.
        changed_files: The files that the call changed, relative to the project;
            None where that is unknown.
    """

    value: _T
    summary: str | None = None
    changed_files: Iterable[str] | None = None


@dataclass(frozen=True)
class AbilityOutcome(Generic[_T]):
    """What came of a call of an ability.

    Attributes:
        call_id: The id of the call.
        status: How it ended.
        before: What the handlers said before it.
        after: What they said after it; None of a call that was not made, and
            where the session ended first.
        value: What it returned; None where it did not.
        error: What it raised; None where it did not.
        reason: Why it was not made; None where it was.
    """

    call_id: str
    status: Literal["success", "error", "blocked"]
    before: Feedback
    after: Feedback | None = None
    value: _T | None = None
    error: Exception | None = field(default=None, compare=False)
    reason: str | None = None

    def result(self) -> _T:
        """Returns what the ability returned.

        Raises:
            HookError: The call was blocked.
            Exception: What the ability raised.
        """
        if self.error is not None:
            raise self.error
        if self.status == "blocked":
            raise HookError(self.reason or "no reason given", code="E_HOOK_REFUSED")
        return cast(_T, self.value)


class Session(Equipped, SessionRegistering):
    """A session of a project: what the user asks for, each call of an ability, the stop, the end.

    Handlers are registered as with a `Loop`, before the session is opened. As a
    context manager, also of `async with`, it is opened and started, and ended:
    with `completed`, else `error` or `cancelled` by the exception. One that is
    left in another way fires no `session.end`; it can go on elsewhere by its `state`.

    Points fire one after the other, from any thread; abilities run beside each
    other. A handler must not fire points of its own session: it would wait for
    itself. Each method has an `a` form to be awaited. In a session that was opened so, async handlers run on
    the event loop that it was opened on.

    Args:
        project: The project, or its root directory.
        session: The name of the session; by default the project's.
        trust: Whether what the project brings may run; see `Loop`. The
            handlers of this program need nobody's leave.
        env: The environment of hooks; by default this process's.
        binary: The command by which agents call Samuel.
        plugins: Plugins of this program whose handlers run.
        installed_plugins: Whether the handlers of the plugins that samuel.toml
            lists run as well.
        state: What `state` of a session returned that goes on here. Keep it where
            the agent cannot write.
    """

    def __init__(
        self,
        project: Project | str | os.PathLike[str] = ".",
        *,
        session: str | None = None,
        trust: Trust = False,
        env: Mapping[str, str] | None = None,
        binary: str | None = None,
        plugins: Iterable[Plugin] = (),
        installed_plugins: bool = True,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(project, trust, env, plugins, installed_plugins)
        self._options: dict[str, Any] = {"session": session, "binary": binary}
        self._kept = None if state is None else dict(state)
        self._native: _samuel.Session | None = None
        self._home: Home | None = None
        self.started: Feedback | None = None
        """What handlers said at the start of a session that is a context manager."""

    def executables(self) -> Executables:
        """What the session would execute."""
        return self._build(self._loaded()).executables

    aexecutables = awaited(executables)

    def open(self) -> Session:
        """Opens the session, which fires no point yet, and returns it.

        Raises:
            SamuelError: The session is not trusted, a hook file or the handlers of
                a point cannot be used, or what was kept of it cannot be gone on with.
        """
        built, store = self._ready(self._loaded()), self._store()
        trusted = store is None and self._trusts(built)
        opening = built.open(trusted, callable(self._trust), store, self._kept)
        result_of(opening)
        self._native = built
        return self

    async def aopen(self) -> Session:
        """Opens the session; see `open`."""
        at = Home.here()
        built, store = await in_thread(self._ready, await self._aloaded()), self._store()
        trusted = store is None and await self._atrusts(built)
        opening = built.open(trusted, callable(self._trust), store, self._kept)
        await await_result_of(opening)
        self._native, self._home = built, at
        return self

    def start(self, source: SessionSource = "startup") -> Feedback:
        """Fires `session.start`."""
        return self._fire(lambda: self._open().start(source))

    async def astart(self, source: SessionSource = "startup") -> Feedback:
        """Fires `session.start`."""
        return await self._afire(self._open().start(source))

    def submit_prompt(self, text: str, source: str = "user") -> Feedback:
        """Fires `prompt.submit` with what a user asks for.

        From here on stops count anew, and handlers are shown the plan as it is now.
        """
        return self._fire(lambda: self._open().submit_prompt(source, text))

    async def asubmit_prompt(self, text: str, source: str = "user") -> Feedback:
        """Fires `prompt.submit`; see `submit_prompt`."""
        return await self._afire(self._open().submit_prompt(source, text))

    @overload
    def call_ability(
        self, ability_id: str, function: Callable[[Any], AbilityOutput[_R]], input: Any = None, **request: Any
    ) -> AbilityOutcome[_R]: ...

    @overload
    def call_ability(
        self, ability_id: str, function: Callable[[Any], _R], input: Any = None, **request: Any
    ) -> AbilityOutcome[_R]: ...

    def call_ability(
        self,
        ability_id: str,
        function: Callable[[Any], AbilityOutput[_R] | _R],
        input: Any = None,
        **request: Any,
    ) -> AbilityOutcome[_R]:
        """Calls a function as an ability, if the handlers of `ability.before` let it.

        Those of `ability.after` are told how it ended, how long it took, and its
        arguments and its result in short. Calls that the function makes itself in
        the session are told as made from this one.

        Args:
            ability_id: The ability, such as `Bash`.
            function: Is given the arguments as handlers left them; what it returns
                may be an `AbilityOutput`.
            input: The arguments, as JSON has them.
            request: `call_id`, `parent_id`, `operation_key` and `caller`; see `before`.

        Returns:
            How it ended: an `Exception` of the function is a part of it. What is
            none, such as KeyboardInterrupt, is told as cancelled and goes on.
        """
        permission = self.before(ability_id, input, **request)
        if isinstance(permission.decision, ToolBlocked):
            return _blocked(permission)
        call: _Call[_R] = _Call(self, ability_id, permission)
        try:
            with call:
                call.answered(function(permission.decision.input))
        finally:
            after = self._tell(call)
        return call.outcome(after)

    @overload
    async def acall_ability(
        self, ability_id: str, function: Callable[[Any], Awaitable[AbilityOutput[_R]]], input: Any = None, **request: Any
    ) -> AbilityOutcome[_R]: ...

    @overload
    async def acall_ability(
        self, ability_id: str, function: Callable[[Any], Awaitable[_R]], input: Any = None, **request: Any
    ) -> AbilityOutcome[_R]: ...

    async def acall_ability(
        self,
        ability_id: str,
        function: Callable[[Any], Awaitable[AbilityOutput[_R] | _R]],
        input: Any = None,
        **request: Any,
    ) -> AbilityOutcome[_R]:
        """Awaits a function as an ability; see `call_ability`."""
        permission = await self.abefore(ability_id, input, **request)
        if isinstance(permission.decision, ToolBlocked):
            return _blocked(permission)
        call: _Call[_R] = _Call(self, ability_id, permission)
        try:
            with call:
                call.answered(await function(permission.decision.input))
        finally:
            after = await self._atell(call)
        return call.outcome(after)

    def before(
        self,
        ability_id: str,
        input: Any = None,
        *,
        call_id: str | None = None,
        parent_id: str | None = None,
        operation_key: str | None = None,
        caller: str = "session",
    ) -> AbilityPermission:
        """Asks the handlers of `ability.before` about a call that the caller makes itself.

        Args:
            ability_id: The ability, such as `Bash`.
            input: The arguments, as JSON has them; at most 1 MiB.
            call_id: The id of the call; by default one is made.
            parent_id: The id of the call that this one is made from; by default
                the one of `call_ability` around.
            operation_key: What groups calls of one kind, such as `git.push`.
            caller: Who makes the call.

        Returns:
            `decision` says whether it may be made, and with which arguments.
        """
        return self._fire(lambda: self._asked(ability_id, input, call_id, parent_id, operation_key, caller))

    async def abefore(
        self,
        ability_id: str,
        input: Any = None,
        *,
        call_id: str | None = None,
        parent_id: str | None = None,
        operation_key: str | None = None,
        caller: str = "session",
    ) -> AbilityPermission:
        """Asks about a call; see `before`."""
        return await self._afire(self._asked(ability_id, input, call_id, parent_id, operation_key, caller))

    def after(
        self,
        call_id: str,
        status: AbilityStatus = "success",
        output: str | None = None,
        *,
        changed_files: Iterable[str] | None = None,
        duration_ms: int | None = None,
        ability_id: str | None = None,
        input: Any = None,
    ) -> Feedback:
        """Tells the handlers of `ability.after` how a call ended.

        Args:
            call_id: The id of the call.
            status: How it ended.
            output: The result in words; they are given the first 4 KiB.
            changed_files: The files that it changed; None where that is unknown.
            duration_ms: How long it took; by default as long as it was under way.
            ability_id: The ability, where `before` was not asked.
            input: The arguments, where `before` was not asked.
        """
        return self._fire(lambda: self._told(call_id, status, output, changed_files, duration_ms, ability_id, input))

    async def aafter(
        self,
        call_id: str,
        status: AbilityStatus = "success",
        output: str | None = None,
        *,
        changed_files: Iterable[str] | None = None,
        duration_ms: int | None = None,
        ability_id: str | None = None,
        input: Any = None,
    ) -> Feedback:
        """Tells how a call ended; see `after`."""
        told = self._told(call_id, status, output, changed_files, duration_ms, ability_id, input)
        return await self._afire(told)

    def task_completed(self, task_id: str, content: str, actor: str = "agent", provisional: bool = False) -> Feedback:
        """Fires `task.completed`: a title, and the description below it."""
        return self._fire(lambda: self._open().task_completed(_task(task_id, content, actor, provisional)))

    async def atask_completed(
        self, task_id: str, content: str, actor: str = "agent", provisional: bool = False
    ) -> Feedback:
        """Fires `task.completed`; see `task_completed`."""
        return await self._afire(self._open().task_completed(_task(task_id, content, actor, provisional)))

    def iteration_error(self, error: str, class_: str = "error", consec_fails: int = 1) -> Feedback:
        """Fires `iteration.error`: what the caller was at went wrong, so often in a row."""
        return self._fire(lambda: self._open().iteration_error(_error(error, class_, consec_fails)))

    async def aiteration_error(self, error: str, class_: str = "error", consec_fails: int = 1) -> Feedback:
        """Fires `iteration.error`; see `iteration_error`."""
        return await self._afire(self._open().iteration_error(_error(error, class_, consec_fails)))

    def stop(self, reason: str = "completed", changed_files: Iterable[str] | None = None) -> Feedback:
        """Fires `session.stop`: the caller is about to stop.

        A stop that is `blocked` can be tried again once what the reason asks for is
        done; after eight in a row the ninth is not heard (`unheard`).

        Args:
            reason: Why it stops.
            changed_files: The files that the session changed; by default those
                that differ from the commit at its start.
        """
        return self._fire(lambda: self._open().stop(reason, _names(changed_files)))

    async def astop(self, reason: str = "completed", changed_files: Iterable[str] | None = None) -> Feedback:
        """Fires `session.stop`; see `stop`."""
        return await self._afire(self._open().stop(reason, _names(changed_files)))

    def end(self, exit_reason: str = "completed") -> Feedback:
        """Fires `session.end`, once, and closes the session."""
        return self._fire(lambda: self._open().end(exit_reason))

    async def aend(self, exit_reason: str = "completed") -> Feedback:
        """Fires `session.end`; see `end`."""
        return await self._afire(self._open().end(exit_reason))

    @property
    def id(self) -> str:
        """The id that events and the log of hooks carry."""
        return self._open().id

    @property
    def name(self) -> str:
        """The name of the session."""
        return self._open().name

    @property
    def warnings(self) -> list[str]:
        """What is to be known of the hooks, such as entries of hook files that are left out."""
        return self._open().warnings

    @property
    def exceptions(self) -> list[BaseException]:
        """What handlers raised, in order, with their tracebacks; the first 16."""
        return self._open().exceptions()

    def state(self) -> dict[str, Any]:
        """What goes on in another process, as JSON has it."""
        return self._open().state()

    def events(self) -> Iterator[Event]:
        """Yields what happens from the call on, until the session has ended."""
        native = self._open()
        return self._events(native, native.events())

    def _events(self, native: _samuel.Session, stream: _samuel.EventStream) -> Iterator[Event]:
        while batch := wait_for(native, partial(batch_of, stream)):
            yield from batch

    def aevents(self) -> AsyncIterator[Event]:
        """Yields what happens from the call on, until the session has ended."""
        native = self._open()
        return self._aevents(native, native.events())

    async def _aevents(self, native: _samuel.Session, stream: _samuel.EventStream) -> AsyncIterator[Event]:
        while batch := await await_for(native, partial(batch_of, stream)):
            for event in batch:
                yield event

    def __enter__(self) -> Session:
        self.open()
        self.started = self.start(self._source())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(_exit_reason(kind))

    async def __aenter__(self) -> Session:
        await self.aopen()
        self.started = await self.astart(self._source())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aend(_exit_reason(kind))

    def __repr__(self) -> str:
        return f"Session({self.project.root!r}, handlers={len(self._registrations)})"

    def _admit(self) -> None:
        if self._native is not None:
            raise HookError("a session that is open takes no handlers", code="E_USAGE")

    def _source(self) -> SessionSource:
        return "startup" if self._kept is None else "resume"

    def _build(self, plugins: _samuel.LoadedPlugins | None) -> _samuel.Session:
        registrations, options = self._equipment(self._options)
        return _samuel.Session(self.project._native, options, registrations, plugins)

    def _ready(self, plugins: _samuel.LoadedPlugins | None) -> _samuel.Session:
        if self._native is not None:
            raise HookError("the session is open already", code="E_USAGE")
        return self._build(plugins)

    def _open(self) -> _samuel.Session:
        if self._native is None:
            raise HookError("the session is not open", code="E_USAGE", help="Open it, or use it as a context manager.")
        return self._native

    def _fire(self, begin: Callable[[], _samuel.Job[_T]]) -> _T:
        if self._home is not None and self._home.is_here() and self._has_async():
            raise RuntimeError(
                "this would block the event loop that async handlers of the session run on; "
                "await the method of this name that begins with a"
            )
        job = begin()
        return result_of(job)

    async def _afire(self, job: _samuel.Job[_T]) -> _T:
        return await await_result_of(job)

    def _has_async(self) -> bool:
        sources = (self, *self.plugins)
        return any(each.tier == "async" for source in sources for each in source._registrations)

    def _asked(
        self,
        ability_id: str,
        input: Any,
        call_id: str | None,
        parent_id: str | None,
        operation_key: str | None,
        caller: str,
    ) -> _samuel.Job[AbilityPermission]:
        around = _around.get()
        if parent_id is None and around is not None and around[0] == id(self):
            parent_id = around[1]
        return self._open().before(
            {
                "ability_id": ability_id,
                "input": input,
                "call_id": call_id,
                "parent_id": parent_id,
                "operation_key": operation_key,
                "caller": caller,
            }
        )

    def _told(
        self,
        call_id: str,
        status: AbilityStatus,
        output: str | None,
        changed_files: Iterable[str] | None,
        duration_ms: int | None,
        ability_id: str | None,
        input: Any,
        given_up: bool = False,
    ) -> _samuel.Job[Feedback]:
        report = {
            "call_id": call_id,
            "status": status,
            "output_summary": output,
            "changed_files": _names(changed_files),
            "duration_ms": duration_ms,
            "ability_id": ability_id,
            "input": input,
        }
        return self._open().after(report, given_up)

    def _tell(self, call: _Call[Any]) -> Feedback | None:
        """Tells how a call of `call_ability` ended; its outcome is kept where the session ended first."""
        try:
            return self._fire(lambda: call.told())
        except SamuelError:
            return None

    async def _atell(self, call: _Call[Any]) -> Feedback | None:
        try:
            return await self._afire(call.told())
        except SamuelError:
            return None


class _Call(Generic[_R]):
    """A call of `call_ability` that is under way. As a context manager it takes what the function raises."""

    def __init__(self, session: Session, ability_id: str, permission: AbilityPermission) -> None:
        self._session, self._ability_id, self._permission = session, ability_id, permission
        self._status: AbilityStatus = "cancelled"
        self._output: AbilityOutput[_R] | None = None
        self._error: Exception | None = None
        self._took = 0

    def __enter__(self) -> None:
        self._token = _around.set((id(self._session), self._permission.call_id))
        self._stopwatch = _stopwatch()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        _around.reset(self._token)
        self._took = self._stopwatch()
        if isinstance(error, Exception):
            self._status, self._error = "error", error
        return error is None or isinstance(error, Exception)

    def answered(self, value: AbilityOutput[_R] | _R) -> None:
        self._status, self._output = "success", _output(value)

    def told(self) -> _samuel.Job[Feedback]:
        output = self._output if self._error is None else _failure(self._error)
        summary, files = (output.summary, output.changed_files) if output else (None, None)
        given_up = self._status == "cancelled"
        call_id, ability_id = self._permission.call_id, self._ability_id
        return self._session._told(call_id, self._status, summary, files, self._took, ability_id, None, given_up)

    def outcome(self, after: Feedback | None) -> AbilityOutcome[_R]:
        value = self._output.value if self._output else None
        status: Literal["success", "error"] = "error" if self._error else "success"
        before = self._permission.feedback
        return AbilityOutcome(self._permission.call_id, status, before, after, value, error=self._error)


def _blocked(permission: AbilityPermission) -> AbilityOutcome[Any]:
    reason = permission.decision.reason if isinstance(permission.decision, ToolBlocked) else None
    return AbilityOutcome(permission.call_id, "blocked", permission.feedback, reason=reason)


def _stopwatch() -> Callable[[], int]:
    from time import monotonic

    began = monotonic()
    return lambda: int((monotonic() - began) * 1_000)


def _output(value: Any) -> AbilityOutput[Any]:
    output = value if isinstance(value, AbilityOutput) else AbilityOutput(value)
    if output.summary is not None or output.value is None:
        return output
    return AbilityOutput(output.value, str(output.value), output.changed_files)


def _failure(error: Exception) -> AbilityOutput[None]:
    return AbilityOutput(None, f"{type(error).__name__}: {error}")


def _names(files: Iterable[str] | None) -> list[str] | None:
    if isinstance(files, str):
        raise TypeError("changed_files are a list of paths, not one text")
    return None if files is None else list(files)


def _task(task_id: str, content: str, actor: str, provisional: bool) -> dict[str, Any]:
    return {"task_id": task_id, "task_content": content, "actor": actor, "provisional": provisional}


def _error(error: str, class_: str, consec_fails: int) -> dict[str, Any]:
    return {"error": error, "class": class_, "consec_fails": consec_fails}


def _exit_reason(kind: type[BaseException] | None) -> str:
    if kind is None:
        return "completed"
    return "error" if issubclass(kind, Exception) else "cancelled"
