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
from ._home import in_thread
from ._process import environment
from ._registration import is_async
from .errors import ConfigError
from .project import Project
from .records import AgentInvokeOutput

if TYPE_CHECKING:
    from .records import AgentInvokeInput

    Call = _samuel.Call[AgentInvokeInput, AgentInvokeOutput]

_ID = re.compile(r"\d+(\.\d+)*")


class ScratchProject(Project):
    """A project in a temporary directory, which goes when nobody holds the project any more.

    Args:
        tasks: Titles, or mappings of what `Project.enqueue` takes.

    Raises:
        ConfigError: All of the tasks are ids: those of a plan that is not named.
        TypeError: A task is neither, has no title, or something that `Project.enqueue` does not take.
    """

    def __init__(self, tasks: Iterable[str | Mapping[str, Any]]) -> None:
        tasks = [tasks] if isinstance(tasks, (str, Mapping)) else list(tasks)
        if all(isinstance(task, str) and _ID.fullmatch(task) for task in tasks):
            raise ConfigError(
                "tasks without a project are titles, and these are ids",
                help='To work on tasks of the project here alone, name it: Loop(".", tasks=[...]).',
            )
        given = [_fields_of(task) for task in tasks]
        root = tempfile.mkdtemp(prefix="samuel-")
        weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        super().__init__(root)
        self.init()
        for fields in given:
            self.enqueue(**fields)

    def _open(self, root: str) -> _samuel.Project:
        # No plan is kept outside of what goes away.
        return _samuel.Project(root, None, [], None, environment())


def _fields_of(task: str | Mapping[str, Any]) -> dict[str, Any]:
    """What `Project.enqueue` is given of a task."""
    if isinstance(task, str):
        return {"title": task}
    if not isinstance(task, Mapping):
        raise TypeError(f"a task is a title or a mapping, not {task!r}")
    takes = ("title", *(Project.enqueue.__kwdefaults__ or ()))
    for field in task:
        if field not in takes:
            raise TypeError(f"a task has no field {field!r}; there are {', '.join(takes)}")
    if "title" not in task:
        raise TypeError(f"a task has a title, and {dict(task)!r} has none")
    return dict(task)


def completing(project: Project, agent: Callable[[Call], Any]) -> Callable[[Call], Any]:
    """An agent whose return says that its task is done, unless it returns another exit code than 0."""
    if is_async(agent):

        @wraps(agent)
        async def acall(call: Call) -> Any:
            output = await agent(call)
            # It waits for the disk, and for others who change the plan.
            await in_thread(_complete, project, call, output)
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
    if task and _succeeded(output) and project.task(task).status == "in_progress":
        project.done(task)


def _succeeded(output: Any) -> bool:
    """Whether it is an answer that tells of success; what is none fails the call."""
    if isinstance(output, dict):
        return output.get("exit_code") == 0
    return output is None or isinstance(output, AgentInvokeOutput) and not output.exit_code
