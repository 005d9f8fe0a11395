"""A project that lasts as long as the program needs it, for a loop that is given its tasks."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from . import _samuel
from ._process import environment
from ._registration import is_async
from .errors import ConfigError
from .project import Project

if TYPE_CHECKING:
    from .records import AgentInvokeInput, AgentInvokeOutput

    Call = _samuel.Call[AgentInvokeInput, AgentInvokeOutput]

_ID = re.compile(r"\d+(\.\d+)*")


class ScratchProject(Project):
    """A project in a temporary directory, which goes when nobody holds the project any more.

    Args:
        tasks: Titles, or mappings of what `Project.enqueue` takes.

    Raises:
        ConfigError: All of the tasks are ids: those of a plan that is not named.
        TypeError: A task is neither.
    """

    def __init__(self, tasks: Iterable[str | Mapping[str, Any]]) -> None:
        tasks = [tasks] if isinstance(tasks, (str, Mapping)) else list(tasks)
        if all(isinstance(task, str) and _ID.fullmatch(task) for task in tasks):
            raise ConfigError(
                "tasks without a project are titles, and these are ids",
                help='To work on tasks of the project here alone, name it: Loop(".", tasks=[...]).',
            )
        root = tempfile.mkdtemp(prefix="samuel-")
        weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        super().__init__(root)
        self.init()
        for task in tasks:
            if isinstance(task, str):
                self.enqueue(task)
            elif isinstance(task, Mapping):
                self.enqueue(**task)
            else:
                raise TypeError(f"a task is a title or a mapping, not {task!r}")

    def _open(self, root: str) -> _samuel.Project:
        # No plan is kept outside of what goes away.
        return _samuel.Project(root, None, [], None, environment())


def completing(project: Project, agent: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """An agent whose return says that its task is done, unless it returns another exit code than 0."""
    if is_async(agent):

        @wraps(agent)
        async def acall(call: Call) -> Any:
            output = await agent(call)
            _complete(project, call, output)
            return output

        return acall

    @wraps(agent)
    def call(call: Call) -> Any:
        output = agent(call)
        _complete(project, call, output)
        return output

    return call


def _complete(project: Project, call: Call, output: Any) -> None:
    task = call.context.iteration.task_id
    # One that the agent has left out or completed itself stays as it is.
    if task and not getattr(output, "exit_code", 0) and project.task(task).status == "in_progress":
        project.done(task)
