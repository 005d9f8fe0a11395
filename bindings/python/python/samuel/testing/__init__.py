"""Doubles for tests of handlers and of loops.

`dispatch` calls handlers as a loop would, without one. `ScriptedAgent` plays
what it is told, without network. With pytest, the fixtures `samuel_project`
and `samuel_loop` make a project of its own for each test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _samuel
from .._process import environment, supervisor
from .._record import Record
from .._registration import Registration, is_async, target_of
from .._waiting import wait_for

if TYPE_CHECKING:
    from ..records import HookOutcome, HookPointId, Mode, Turn

__all__ = ["Dispatched", "ScriptedAgent", "ScriptedCall", "completes_each_task", "dispatch", "handler"]


class ScriptedCall:
    """What a scripted agent does in one call; each method adds a step."""

    def __init__(self, **conditions: Any) -> None:
        self._data = {name: value for name, value in conditions.items() if value is not None}
        self._data["steps"] = []

    def _step(self, name: str, value: Any) -> ScriptedCall:
        self._data["steps"].append({name: value})
        return self

    def say(self, text: str) -> ScriptedCall:
        """Says something."""
        return self._step("say", text)

    def write(self, path: str, content: str) -> ScriptedCall:
        """Writes a file."""
        return self._step("write", {"path": path, "content": content})

    def edit(self, path: str, old: str, new: str) -> ScriptedCall:
        """Replaces a text that a file holds exactly once."""
        return self._step("edit", {"path": path, "old": old, "new": new})

    def delete(self, path: str) -> ScriptedCall:
        """Deletes a file."""
        return self._step("delete", {"path": path})

    def run(self, command: str, *, allow_failure: bool = False) -> ScriptedCall:
        """Runs a command line in the project."""
        return self._step("run", {"command": command, "allow_failure": allow_failure})

    def done(self, task: str = "{{task_id}}", *, commit_sha: str | None = None) -> ScriptedCall:
        """Completes a task; the call's by default."""
        return self._step("done", {"task": task, "commit_sha": commit_sha})

    def skip(self, task: str = "{{task_id}}", *, reason: str | None = None) -> ScriptedCall:
        """Leaves a task out; the call's by default."""
        return self._step("skip", {"task": task, "reason": reason})

    def enqueue(self, title: str) -> ScriptedCall:
        """Adds a task."""
        return self._step("enqueue", {"title": title})

    def usage(self, *, input_tokens: int = 0, output_tokens: int = 0, cost_usd: float | None = None) -> ScriptedCall:
        """Reports what this step consumed."""
        usage = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cost_usd": cost_usd}
        return self._step("usage", usage)

    def sleep(self, seconds: float) -> ScriptedCall:
        """Does nothing for a while."""
        return self._step("sleep", {"ms": int(seconds * 1000)})

    def fail(self, message: str) -> ScriptedCall:
        """Ends the call with a failure."""
        return self._step("fail", {"message": message})

    def exit(self, code: int) -> ScriptedCall:
        """Ends the call with an exit code."""
        return self._step("exit", {"code": code})


class ScriptedAgent:
    """An agent that plays a script.

        >>> agent = ScriptedAgent()
        >>> agent.call(task="1").write("greet.txt", "hello").done()
        >>> loop = samuel.Loop(project, agent=agent, trust=True)

    In texts `{{task_id}}`, `{{task_title}}`, `{{iteration}}` and `{{head}}`
    stand for those of the call.
    """

    def __init__(self) -> None:
        self._calls: list[ScriptedCall] = []

    def call(
        self,
        *,
        task: str | None = None,
        iteration: int | None = None,
        turn: Turn | None = None,
        repeat: bool = False,
    ) -> ScriptedCall:
        """Adds what is done in a call that fits; the first that fits is played.

        Args:
            task: Fits calls about this task.
            iteration: Fits this iteration.
            turn: Fits this turn.
            repeat: Whether it is played more than once.
        """
        call = ScriptedCall(task=task, iteration=iteration, turn=turn, repeat=repeat)
        self._calls.append(call)
        return call

    @classmethod
    def from_toml(cls, text: str) -> ScriptedAgent:
        """Reads a script, as the command line's scripted agent has it."""
        import tomllib

        agent = cls()
        for data in tomllib.loads(text).get("calls", []):
            call = ScriptedCall()
            call._data = data
            agent._calls.append(call)
        return agent

    def to_json(self) -> str:
        """Returns the script as JSON."""
        return json.dumps({"calls": [call._data for call in self._calls]})


def completes_each_task() -> ScriptedAgent:
    """An agent that writes `made.txt` and completes its task in every call."""
    agent = ScriptedAgent()
    agent.call(repeat=True).say("working").write("made.txt", "{{task_id}}").done()
    return agent


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What came of a dispatch.

    Attributes:
        output: The outputs of all handlers, folded.
        outcome: What it means: refusals, broken handlers, warnings, timings.
        plugins: What handlers contributed, by namespace.
        notices: Warnings about the chain.
        skipped: Handlers that did not run, and why.
        seconds: How long it took.
    """

    output: Any
    outcome: HookOutcome
    plugins: Mapping[str, Mapping[str, Any]]
    notices: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    seconds: float = 0.0


def handler(
    function: Callable[..., Any],
    id: str | None = None,
    *,
    order: int | None = None,
    timeout: float | None = None,
    strict: bool | None = None,
    inline: bool = False,
    isolate: str | None = None,
    place: int = 0,
) -> Registration:
    """Makes a handler for `dispatch`.

    Args:
        id: `default`, `<plugin>:<name>` or a name; by default the function's.
        place: The place of its plugin in samuel.toml.
    """
    tier = "process" if isolate else "async" if is_async(function) else "inline" if inline else "thread"
    named = id if id is not None else str(getattr(function, "__name__", "handler"))
    owner, _, name = named.rpartition(":")
    plugin = None if owner in ("", "api") else (owner, owner.replace("-", "_"), place)
    target = target_of(function) if isolate else None
    return Registration("", name, function, plugin, order, timeout, strict, tier, target)


def dispatch(
    point: HookPointId,
    *handlers: Callable[..., Any] | Registration,
    input: Record | Mapping[str, Any] | None = None,
    config: str = "",
    cancelled: bool = False,
    repeat: int = 1,
    session: str = "test",
    mode: Mode = "implementation",
) -> Dispatched:
    """Calls handlers at a hook point as a loop would.

    Args:
        point: The id of the point.
        handlers: The handlers, in the order they are registered.
        input: What they are given; what a dict leaves out has its default.
        config: The text of samuel.toml, whose chain the point has.
        cancelled: Whether the run is being stopped.
        repeat: How often they are called; the last time counts.
        session: The name of the session.
        mode: What the iteration is for.
    """
    made = (each if isinstance(each, Registration) else handler(each) for each in handlers)
    registered = [each._replace(point=point) for each in made]
    given = {} if input is None else input if isinstance(input, Record) else dict(input)
    job = _samuel.dispatch(
        point, registered, config, given, cancelled, repeat, session, mode, environment(None), supervisor()
    )
    return Dispatched(**wait_for(job, job.result))
