"""The run of a project that is under way in another process."""

from __future__ import annotations

from functools import partial

from ._home import awaited
from ._waiting import await_for, wait_for
from .project import Project
from .run import batch_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from types import TracebackType

    from . import _samuel
    from .records import Event, LiveState

__all__ = ["Attached", "LiveRun"]


class LiveRun:
    """Speaks to the run of a project that is under way in another process.

    Each call finds the run by the lock of its loop and asks it, within seconds. Inside
    a run nothing is found: what a run starts does not command it.

    Args:
        project: The project, or its directory.

    Every method but `attach` returns what the run does, as it was when the call came, and has a form
    to be awaited, with an `a` before its name.

    Raises:
        SamuelError: No loop runs (`E_CONTROL_NO_LOOP`), it cannot be reached
            (`E_CONTROL_UNREACHABLE`), it refuses, or the caller is a part of a run
            (`E_CONTROL_DENIED`).
    """

    def __init__(self, project: Project | str | os.PathLike[str] = ".") -> None:
        self._project = project if isinstance(project, Project) else Project(project)

    def look(self) -> LiveState:
        """Says what the run does, and which tool calls wait for a person."""
        return self._ask("look")

    def pause(self) -> LiveState:
        """Has it hold before its next iteration."""
        return self._ask("pause")

    def resume(self, text: str | None = None) -> LiveState:
        """Lets it go on if it holds; the agent is told the text with its next prompt."""
        return self._ask("resume", text)

    def steer(self, text: str) -> LiveState:
        """Has the agent told something with its next prompt."""
        return self._ask("steer", text)

    def cancel(self) -> LiveState:
        """Ends it after the iteration under way."""
        return self._ask("cancel")

    def stop(self) -> LiveState:
        """Ends it now: the agent and its processes are stopped."""
        return self._ask("stop")

    def approve(self, call: int | None = None, text: str | None = None) -> LiveState:
        """Has a tool call made that waits; where none is named, lets a run that holds go on."""
        return self._ask("approve", text, call)

    def deny(self, call: int, text: str | None = None) -> LiveState:
        """Keeps a tool call back that waits; the agent reads the text."""
        return self._ask("deny", text, call)

    def attach(self) -> Attached:
        """Begins to watch it: yields the events from now on.

            >>> with samuel.LiveRun("path/to/project").attach() as watched:  # doctest: +SKIP
            ...     for event in watched:
            ...         print(event)
        """
        return Attached(self._project._native.attach())

    alook = awaited(look)
    apause = awaited(pause)
    aresume = awaited(resume)
    asteer = awaited(steer)
    acancel = awaited(cancel)
    astop = awaited(stop)
    aapprove = awaited(approve)
    adeny = awaited(deny)

    def _ask(self, verb: str, text: str | None = None, call: int | None = None) -> LiveState:
        return self._project._native.command(verb, text, call)


class Attached:
    """The events of a run of another process, as they happen; leaving it leaves the run alone.

    It is an iterator, also an asynchronous one, that ends with the run. A reader that is slow
    loses what the agent says, which a `Lagged` tells, and never a change of state. It raises
    SamuelError where the run is gone without having told that it ended.
    """

    def __init__(self, native: _samuel.Watching) -> None:
        self._native: _samuel.Watching | None = native
        self._state = native.state
        self._batch: list[Event] = []

    @property
    def state(self) -> LiveState:
        """What the run did when the watching began."""
        return self._state

    def close(self) -> None:
        """Leaves the run, which goes on."""
        self._native, self._batch = None, []

    def __iter__(self) -> Attached:
        return self

    def __next__(self) -> Event:
        if not self._batch and self._native is not None:
            self._take(wait_for(self._native, partial(batch_of, self._native)))
        if not self._batch:
            raise StopIteration
        return self._batch.pop()

    def __aiter__(self) -> Attached:
        return self

    async def __anext__(self) -> Event:
        if not self._batch and self._native is not None:
            self._take(await await_for(self._native, partial(batch_of, self._native)))
        if not self._batch:
            raise StopAsyncIteration
        return self._batch.pop()

    def _take(self, batch: list[Event]) -> None:
        if not batch:
            self.close()
        # The last of a list is taken at no cost.
        self._batch = batch[::-1]

    def __enter__(self) -> Attached:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
