"""Doubles for tests of handlers and of loops.

`dispatch` calls handlers as a loop would, without one, and raises what they raise. `ScriptedAgent`
plays what it is told, without network. With pytest, the fixtures `samuel_project`
and `samuel_loop` make a project of its own for each test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _samuel
from .._handler import function_of
from .._home import Home, home
from .._process import environment, supervisor
from .._record import Record
from .._registration import Registration, tier_of
from .._waiting import await_result_of, result_of
from .._within import within
from ..errors import HookError
from ._context import context_of, input_of

if TYPE_CHECKING:
    from ..project import Project
    from ..records import HookFailure, HookOutcome, HookPointId, Mode, Turn

__all__ = [
    "Dispatched",
    "ScriptedAgent",
    "ScriptedCall",
    "adispatch",
    "completes_each_task",
    "dispatch",
    "handler",
]


# What an agent says that is called more often than it is scripted.
_EXHAUSTED = "nothing is scripted for this call; see ScriptedAgent.otherwise"

# How often the handlers of one dispatch can be called.
_MOST_REPEATS = 2**32 - 1


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
    stand for those of the call. A call for which nothing is scripted any more fails,
    unless `otherwise` says what is done then.
    """

    def __init__(self) -> None:
        self._calls: list[ScriptedCall] = []
        self._otherwise: ScriptedCall | None = None

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

    def otherwise(self) -> ScriptedCall:
        """Says what is done in a call that fits none that was added, or all of whose were played."""
        self._otherwise = ScriptedCall()
        return self._otherwise

    @classmethod
    def from_toml(cls, text: str) -> ScriptedAgent:
        """Reads a script, as the command line's scripted agent has it."""
        import tomllib

        agent, script = cls(), tomllib.loads(text)
        for data in script.get("calls", []):
            call = ScriptedCall()
            call._data = data
            agent._calls.append(call)
        if "otherwise" in script:
            agent.otherwise()._data["steps"] = script["otherwise"]
        return agent

    def to_json(self) -> str:
        """Returns the script as JSON."""
        script: dict[str, Any] = {"calls": [call._data for call in self._calls]}
        if self._otherwise is not None:
            script["otherwise"] = self._otherwise._data["steps"]
        else:
            script["otherwise"] = [{"fail": {"message": _EXHAUSTED}}]
        return json.dumps(script)


def completes_each_task() -> ScriptedAgent:
    """An agent that writes `made.txt` and completes its task in every call."""
    agent = ScriptedAgent()
    agent.call(repeat=True).say("working").write("made.txt", "{{task_id}}").done()
    return agent


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What came of a dispatch.

    Attributes:
        output: The outputs of all handlers, folded. One that broke has said nothing.
        outcome: What it means: refusals, broken handlers, warnings, timings.
        plugins: What handlers contributed, by namespace.
        notices: Warnings about the chain.
        skipped: Handlers that did not run, and why.
        exceptions: What handlers raised, with their tracebacks; not those of a process of its own.
        seconds: How long it took.
    """

    output: Any
    outcome: HookOutcome
    plugins: Mapping[str, Mapping[str, Any]]
    notices: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    exceptions: tuple[BaseException, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether no handler broke, and none said no."""
        return not self.outcome.broken and self.outcome.refused is None

    @property
    def failures(self) -> tuple[HookFailure, ...]:
        """How handlers broke, in order."""
        return tuple(broken.failure for broken in self.outcome.broken)

    def check(self) -> Dispatched:
        """Returns the same where no handler broke.

        Raises:
            Exception: What the first handler raised that did.
            HookError: It broke in another way, such as by its deadline.
        """
        if not self.outcome.broken:
            return self
        broken = self.outcome.broken[0]
        raised = next((each for each in self.exceptions if _is_told(each, broken.failure)), None)
        if isinstance(raised, Exception):
            raise raised
        error = HookError(f"{broken.handler}: {broken.failure.message} ({broken.failure.class_})")
        for line in broken.failure.details:
            error.add_note(line)
        raise error from raised


def _is_told(error: BaseException, failure: HookFailure) -> bool:
    """Whether a failure is what became of an exception: another handler may have raised it."""
    from .._workers import describe

    if failure.class_ not in ("failed", "panicked"):
        return False
    try:
        _, _, lines = describe(error)
    except Exception:
        return False
    # The traceback above the last line grows where it is raised again.
    return lines[-1:] == list(failure.details[-1:])


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

    Raises:
        ConfigError: `isolate` is neither None nor `process`, or `inline` does not go with it or with an async function.
    """
    function = function_of(function)
    tier = tier_of(function, inline, isolate)
    named = id if id is not None else str(getattr(function, "__name__", "handler"))
    owner, _, name = named.rpartition(":")
    plugin = None if owner in ("", "api") else (owner, owner.replace("-", "_"), place)
    target = None
    if isolate:
        from .._sending import target_of

        target = target_of(function)
    return Registration("", name, function, plugin, order, timeout, strict, tier, target)


def dispatch(
    point: HookPointId,
    *handlers: Callable[..., Any] | Registration,
    input: Record | Mapping[str, Any] | None = None,
    context: Mapping[str, Record | Mapping[str, Any]] | None = None,
    project: Project | None = None,
    config: str | None = None,
    cancelled: bool = False,
    repeat: int = 1,
    session: str = "test",
    mode: Mode = "implementation",
    check: bool = True,
) -> Dispatched:
    """Calls handlers at a hook point as a loop would.

    Args:
        point: The id of the point.
        handlers: The handlers, in the order they are registered.
        input: What they are given; what a dict leaves out has its default.
        context: What `call.context` holds, by group, such as `{"iteration": {"task_id": "1"}}`; a group is
            a record or a mapping of what is not its default.
        project: The project that the context describes: its root, its directories, its plan and its next task.
            What `context` says goes before that.
        config: The text of samuel.toml, whose chain the point has; by default the project's.
        cancelled: Whether the run is being stopped.
        repeat: How often they are called, from 1 to 4294967295; the last time counts, which is the one in which a
            handler raises.
        session: The name of the session.
        mode: What the iteration is for.
        check: Whether a handler that breaks is an exception here: its own, or a `HookError`. Otherwise
            `Dispatched.failures` has it.

    Raises:
        ValueError: `repeat` is beyond its range.
    """
    job = _begun(home(), point, handlers, input, context, project, config, cancelled, repeat, session, mode)
    dispatched = Dispatched(**result_of(job))
    return dispatched.check() if check else dispatched


async def adispatch(
    point: HookPointId,
    *handlers: Callable[..., Any] | Registration,
    input: Record | Mapping[str, Any] | None = None,
    context: Mapping[str, Record | Mapping[str, Any]] | None = None,
    project: Project | None = None,
    config: str | None = None,
    cancelled: bool = False,
    repeat: int = 1,
    session: str = "test",
    mode: Mode = "implementation",
    check: bool = True,
) -> Dispatched:
    """The same as `dispatch`, to be awaited: async handlers run on the event loop of the caller."""
    job = _begun(Home.here(), point, handlers, input, context, project, config, cancelled, repeat, session, mode)
    dispatched = Dispatched(**await await_result_of(job))
    return dispatched.check() if check else dispatched


def _begun(
    at: Home,
    point: HookPointId,
    handlers: tuple[Callable[..., Any] | Registration, ...],
    input: Record | Mapping[str, Any] | None,
    context: Mapping[str, Record | Mapping[str, Any]] | None,
    project: Project | None,
    config: str | None,
    cancelled: bool,
    repeat: int,
    session: str,
    mode: Mode,
) -> _samuel.Job[dict[str, Any]]:
    repeat = within("repeat", repeat, 1, _MOST_REPEATS)
    made = (each if isinstance(each, Registration) else handler(each) for each in handlers)
    registered = [at.settle(each._replace(point=point)) for each in made]
    given = input if isinstance(input, Record) else input_of(point, input or {})
    groups = context_of(context or {}, project)
    if config is None:
        config = "" if project is None else _config_of(project)
    return _samuel.dispatch(
        point, registered, config, given, groups, cancelled, repeat, session, mode, environment(None), supervisor()
    )


def _config_of(project: Project) -> str:
    try:
        return (Path(project.root) / "samuel.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
