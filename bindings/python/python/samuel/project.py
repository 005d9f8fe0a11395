"""A project: its plan, and the changes to it.

Every change is the one that `samuel run done` and its siblings make: atomic,
safe beside a running loop and other processes, and written to the journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from . import _samuel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .records import (
        Complexity,
        ConvertedPrd,
        Initialised,
        Priority,
        ProjectStatus,
        Source,
        Task,
    )

__all__ = ["Project"]


class Project:
    """A project on disk.

    Args:
        path: Its root directory.
        methodology: The methodology whose plan is meant; by default the
            project's.
    """

    def __init__(self, path: str | os.PathLike[str] = ".", *, methodology: str | None = None) -> None:
        self._native = _samuel.Project(os.path.abspath(path), methodology)
        # A change from within a loop is the agent's, as with the command.
        self._actor = "agent" if "SAMUEL_RUN_ID" in os.environ else "user"

    @classmethod
    def find(cls, path: str | os.PathLike[str] = ".", *, methodology: str | None = None) -> Project:
        """Opens the project that a directory belongs to, else the directory."""
        root = _samuel.Project.find_root(os.path.abspath(path))
        return cls(path if root is None else root, methodology=methodology)

    @property
    def root(self) -> str:
        """The root directory, absolute."""
        return str(self._native.root)

    @property
    def name(self) -> str:
        """The name, from samuel.toml or the directory."""
        return self._native.name

    @property
    def methodology(self) -> str:
        """The methodology, such as `ralph`."""
        return self._native.methodology

    @property
    def run_dir(self) -> str:
        """The directory that holds plan, log and journal."""
        return str(self._native.run_dir)

    def init(self, prd: str | os.PathLike[str] | None = None, *, force: bool = False) -> Initialised:
        """Writes samuel.toml and a plan, from a PRD if one is given.

        Args:
            prd: The PRD, a Markdown file.
            force: Whether a plan that has tasks is replaced; a backup is kept.
        """
        return self._native.init(None if prd is None else os.path.join(self.root, prd), force)

    def convert(self, prd: str | os.PathLike[str], *, force: bool = False) -> ConvertedPrd:
        """Makes the plan of a PRD; see `init`."""
        return self._native.convert(os.path.join(self.root, prd), force)

    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order they were added."""
        return self._native.tasks()

    def task(self, id: str) -> Task:
        """The task with an id; StateError if there is none."""
        return self._native.task(id)

    def status(self) -> ProjectStatus:
        """Where the project stands."""
        return self._native.status()

    def progress(self) -> list[str]:
        """The entries of the progress log, one line each."""
        return self._native.progress()

    def done(self, id: str, *, commit_sha: str | None = None, iteration: int | None = None) -> Task:
        """Records that a task is done."""
        return self._native.done(self._actor, id, commit_sha, iteration)

    def skip(self, id: str, *, reason: str | None = None) -> Task:
        """Leaves a task out."""
        return self._native.skip(self._actor, id, reason)

    def reset(self, id: str) -> Task:
        """Makes a task pending again."""
        return self._native.reset(self._actor, id)

    def enqueue(
        self,
        title: str,
        *,
        id: str | None = None,
        description: str = "",
        priority: Priority = "medium",
        complexity: Complexity = "medium",
        source: Source = "manual",
        parent_id: str | None = None,
        depends_on: Iterable[str] = (),
        files_to_create: Iterable[str] = (),
        files_to_modify: Iterable[str] = (),
        guardrails: Iterable[str] = (),
        acceptance: Iterable[str] = (),
    ) -> Task:
        """Adds a task.

        Args:
            title: One line.
            id: Its id; by default the next free number.
            parent_id: The task it is a part of; only with an id of its own.
        """
        task = {
            "id": id,
            "title": title,
            "description": description,
            "priority": priority,
            "complexity": complexity,
            "source": source,
            "parent_id": parent_id,
            "depends_on": list(depends_on),
            "files_to_create": list(files_to_create),
            "files_to_modify": list(files_to_modify),
            "guardrails": list(guardrails),
            "acceptance": list(acceptance),
        }
        return self._native.enqueue(self._actor, task)

    def __repr__(self) -> str:
        return f"Project({self.root!r})"
