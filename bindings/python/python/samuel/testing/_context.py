"""The prompt context of a dispatch: what a test says, over what a project is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import records
from .._record import Record

if TYPE_CHECKING:
    from ..project import Project

_GROUPS: dict[str, type[Record]] = {
    "samuel": records.SamuelVars,
    "project": records.ProjectVars,
    "methodology": records.MethodologyVars,
    "iteration": records.IterationVars,
    "config": records.ConfigVars,
    "guardrails": records.GuardrailVars,
    "paths": records.PathVars,
    "state": records.StateVars,
    "mode": records.ModeVars,
    "hooks": records.HookVars,
}


def context_of(given: Mapping[str, Record | Mapping[str, Any]], project: Project | None) -> dict[str, Any]:
    """Puts the groups together, under the names that templates have for them.

    Raises:
        TypeError: There is no such group, or no such field in it.
    """
    groups: dict[str, dict[str, Any]] = {} if project is None else _groups_of(project)
    for name, group in given.items():
        if name == "plugins":
            groups[name] = dict(group.items()) if isinstance(group, Mapping) else {}
            continue
        if name not in _GROUPS:
            raise TypeError(f"the context has no group {name!r}; there are {', '.join([*_GROUPS, 'plugins'])}")
        fields = group._values() if isinstance(group, Record) else dict(group)
        groups.setdefault(name, {}).update(fields)
    return {name.capitalize(): _wired(name, fields) for name, fields in groups.items()}


def _wired(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    if name == "plugins":
        return dict(fields)
    kind = _GROUPS[name]
    wires = {field: wire for wire, field in kind._wire.items()}
    for field in fields:
        if field not in kind.__match_args__:
            raise TypeError(f"{kind.__name__} has no field {field!r}; there are {', '.join(kind.__match_args__)}")
    return {wires.get(field, field): value for field, value in fields.items()}


def input_of(point: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a point is given.

    Raises:
        TypeError: Its input has no such field.
    """
    kind = getattr(records, "".join(map(str.capitalize, re.split("[.:]", point))) + "Input", None)
    # What is no point is refused as one.
    if kind is not None:
        for field in given:
            if field not in kind.__match_args__ and field not in kind._wire:
                raise TypeError(f"{kind.__name__} has no field {field!r}; there are {', '.join(kind.__match_args__)}")
    return dict(given)


def _groups_of(project: Project) -> dict[str, dict[str, Any]]:
    status = project.status()
    tasks = project.tasks()
    state: dict[str, Any] = {"total_tasks": len(tasks)}
    for word in ("pending", "completed", "in_progress", "blocked", "skipped"):
        state[f"{word}_tasks"] = sum(task.status == word for task in tasks)
    groups: dict[str, dict[str, Any]] = {
        "project": {"name": project.name, "root": project.root},
        "methodology": {"name": project.methodology},
        "paths": {"run_dir": project.run_dir},
        "state": state,
    }
    if isinstance(status.next, records.NextTask):
        task = status.next.task
        state["next_task"] = records.TaskVars(
            **{name: getattr(task, name) for name in records.TaskVars.__match_args__}
        )
        groups["iteration"] = {"number": 1, "task_id": task.id}
    return groups
