"""The run of a project that is under way in another process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from .records import LiveState

from ._home import awaited
from .project import Project


class LiveRun:
    """Speaks to the run of a project that is under way in another process.

    Each call finds the run by the lock of its loop and asks it, within seconds. Inside
    a run nothing is found: what a run starts does not command it.

    Args:
        project: The project, or its directory.

    Every method returns what the run does, as it was when the call came, and has a form
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
