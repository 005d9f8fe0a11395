"""Driving runs: a loop, its handlers, its plugins and its agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _samuel
from ._equipped import Equipped, Plugin
from ._home import Home, awaited, home, in_thread
from ._registering import LoopRegistering
from ._registration import Registration, is_async
from ._waiting import await_result_of, result_of
from .errors import ConfigError
from .project import Project
from .result import RunResult
from .run import Run
from .settings import TABLE_OF

if TYPE_CHECKING:
    from typing import Unpack

    from ._equipped import Trust
    from ._samuel import TrustStore
    from .records import (
        AgentInvokeInput,
        AgentInvokeOutput,
        CleanedLanes,
        Event,
        Executables,
        HookFiring,
        HookList,
        HookTrial,
        LandReport,
        LaneList,
        MergeReport,
        PromptStats,
        QualityCheckInput,
        QualityCheckOutput,
    )
    from .settings import Settings
    from .testing import ScriptedAgent

    AgentFunction = Callable[
        [_samuel.Call[AgentInvokeInput, AgentInvokeOutput]],
        AgentInvokeOutput | None | Awaitable[AgentInvokeOutput | None],
    ]
    CheckFunction = Callable[
        [_samuel.Call[QualityCheckInput, QualityCheckOutput]],
        QualityCheckOutput | None | Awaitable[QualityCheckOutput | None],
    ]
    Check = str | tuple[str, float | str] | Mapping[str, Any] | CheckFunction

__all__ = ["Loop", "Plugin"]

# The adapter's clocks rule an agent, not the deadline of a handler.
_AGENT_TIMEOUT = 86_400.0


class Loop(Equipped, LoopRegistering):
    """A loop over the plan of a project, or over tasks that it is given.

    What is not given comes from samuel.toml. A loop can be run several times.

    Args:
        project: The project, or its root directory; by default the directory at hand, or
            where there are `tasks` a temporary one, which goes with the loop.
        agent: An agent's name, a function or object that is one, or a
            `samuel.testing.ScriptedAgent`. A function gets the call of
            `agent.invoke` and returns its output. In a temporary project its return
            completes its task, unless with another exit code than 0.
        checks: Quality checks: commands, as the setting `quality_checks` has them, and
            functions, which are handlers of `quality.check`.
        trust: Whether what the project brings may run: its agent, its checks
            and its handlers; a temporary one brings nothing but what it is given, and runs. A
            function is asked, with what would run, and may be async where the loop is awaited; only
            its yes covers control files that the last run left changed
            (`executables.changes`). A `TrustStore` allows what was recorded
            there, and nothing else.
        env: The environment of agents and checks; by default this process's.
        binary: The command by which agents call Samuel.
        session: The name of the session; by default the project's.
        tasks: The ids of tasks of the project to work on alone, with what they depend on; a
            group stands for its parts. By default all, or those of the run
            before where that was cut off. Without a project they are the plan: titles, or
            mappings of what `Project.enqueue` takes. None at all are a mistake, and not all of them.
        plugins: Plugins of this program whose handlers run. One that
            samuel.toml lists too need not be installed.
        installed_plugins: Whether the handlers of the plugins that samuel.toml
            lists run as well, as in `samuel run start`.
        discover_only: Whether the run looks for tasks and works on none. Between other
            iterations it does with the setting ``pilot``.
        log_timings: Whether the time of every handler goes into the progress log.
        socket_dir: The directory that the run listens in, for other processes; it is
            made this user's alone, and its path has to be short. By default
            nothing reaches the run.
        guest: The program `samuel-guest` (`cargo xtask guest` builds it), the first process of
            the sandboxes `oci` and `bwrap`; it takes `socket_dir` as well. The engine of
            containers is the one that `SAMUEL_RUNTIME` of `env` names, else podman or docker.
            Plugins that are images take the guest that `SAMUEL_GUEST` of `env` names.
        bridge: The command by which an agent's own hooks ask the run about its tool
            calls, such as `["samuel", "hooks", "bridge"]`; it takes `socket_dir` as
            well. Without it tool calls of real agents are seen and not prevented.
        workspace: Where the agent and the checks work, whatever samuel.toml says below
            `[sandbox]`: `in-place` or `clone`. An agent that is a function finds the clone
            as `SAMUEL_WORKSPACE` in the environment of its call.
        settings: What stands in place of a setting of samuel.toml; see
            `samuel.settings.Settings`. Durations are seconds, also
            parts of one such as 0.5, or text of whole ones such as "5m".

    Raises:
        ConfigError: A setting is unknown, or breaks its rule, or `tasks` is empty.
    """

    def __init__(
        self,
        project: Project | str | os.PathLike[str] | None = None,
        *,
        agent: str | AgentFunction | ScriptedAgent | None = None,
        checks: Iterable[Check] = (),
        trust: Trust = False,
        env: Mapping[str, str] | None = None,
        binary: str | None = None,
        session: str | None = None,
        tasks: Iterable[str | Mapping[str, Any]] | None = None,
        plugins: Iterable[Plugin] = (),
        installed_plugins: bool = True,
        discover_only: bool = False,
        log_timings: bool = False,
        socket_dir: str | os.PathLike[str] | None = None,
        guest: str | os.PathLike[str] | None = None,
        bridge: Iterable[str] = (),
        workspace: Literal["in-place", "clone"] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        commands, functions = _checks(checks)
        own = given(settings)
        if commands:
            own["quality_checks"] = [*own.get("quality_checks", ()), *commands]
        _samuel.check_settings(own)
        if tasks is not None and not isinstance(tasks, (str, Mapping)) and not (tasks := list(tasks)):
            raise ConfigError("tasks is empty", help="Name tasks, or leave tasks out to work on all of the project's.")
        if project is None and tasks is not None:
            from ._scratch import ScratchProject, completing

            project, tasks, trust = ScratchProject(tasks), None, trust or True
            if callable(agent) and not hasattr(agent, "to_json"):
                agent = completing(project, agent)
        super().__init__("." if project is None else project, trust, env, plugins, installed_plugins)
        for function in functions:
            self.hook("quality.check")(function)
        self._agent = agent
        # What makes somebody for each run who is told its events.
        self._watchers: list[Callable[[], Callable[[Event], object]]] = []
        self._options: dict[str, Any] = {
            "settings": own,
            "binary": binary,
            "session": session,
            "tasks": [] if tasks is None else _ids(tasks),
            "discover_only": discover_only,
            "log_timings": log_timings,
            "socket_dir": None if socket_dir is None else os.fspath(socket_dir),
            "guest": None if guest is None else os.fspath(guest),
            "bridge": list(bridge),
            "workspace": workspace,
        }

    def run(self) -> RunResult:
        """Runs the loop to its end.

        Ctrl-C ends the run: the agent and its processes are stopped, state is
        saved, and KeyboardInterrupt goes on.

        Raises:
            PluginError: An installed plugin cannot be loaded.
            SamuelError: The run could not start. However it ends is a result.
        """
        with self.start() as run:
            return run.wait()

    def start(self) -> Run:
        """Starts a run and returns it.

        As a context manager the run is waited for at the end, and stopped where
        an exception goes through.
        """
        run = self._begin(self._loaded())
        run._wait_for_start()
        return run

    def stream(self) -> Iterator[Event]:
        """Runs the loop and yields its events; leaving early stops the run."""
        with self.start() as run:
            yield from run.events()

    async def arun(self) -> RunResult:
        """Runs the loop to its end; cancelling the task stops the run.

        Async handlers run on the event loop of the caller, all handlers but those that are inline or in a
        process of their own with its context variables.
        """
        async with await self.astart() as run:
            return await run

    async def astart(self) -> Run:
        """Starts a run and returns it, without blocking the event loop: see `start` and `arun`.

        `await run` is its result, `run.aevents()` its events. As an async context manager the run is waited
        for at the end, and stopped where an exception goes through.
        """
        run = await self._abegin()
        await run._await_start()
        return run

    start_async = astart

    async def astream(self) -> AsyncIterator[Event]:
        """Runs the loop and yields its events; leaving early stops the run."""
        async with await self._abegin() as run:
            async for event in run.aevents():
                yield event

    def executables(self) -> Executables:
        """What a run would execute."""
        return self._build(self._loaded()).executables

    def record_trust(self, store: TrustStore) -> None:
        """Keeps in `store` that what the loop would execute now is trusted.

        What the last run left changed is not accepted with it.

        Raises:
            SamuelError: The store cannot be written, or lies within the project.
        """
        self._build(self._loaded()).record_trust(store)

    def prompt_stats(self) -> PromptStats | None:
        """What the next prompt consists of: its sections, and the tokens of each as an estimate.

        None where no iteration would be made. No agent is called and nothing is
        written. Handlers that are not built in are called where the loop is
        trusted; otherwise the prompt is the one without them.

        Raises:
            PluginError: An installed plugin cannot be loaded.
            SamuelError: The plan cannot be read, or a handler breaks that the prompt depends on.
        """
        built = self._build(self._loaded())
        job = built.prompt_stats(self._trusts(built))
        (stats,) = result_of(job)
        return stats

    async def aprompt_stats(self) -> PromptStats | None:
        """The same as `prompt_stats`, to be awaited."""
        built = await self._abuilt()
        job = built.prompt_stats(await self._atrusts(built))
        (stats,) = await await_result_of(job)
        return stats

    def lanes(self) -> LaneList:
        """What lanes have and left: clones, branches and kept work, and what of it has landed.

        Raises:
            SamuelError: The plan or the repository cannot be read.
        """
        job = self._build(None).lanes()
        return result_of(job)

    def clean(self) -> CleanedLanes:
        """Removes workspaces and branches whose work is merged, and says what stays and why.

        Raises:
            StateError: A loop is at work (`E_LOOP_RUNNING`).
            SamuelError: The plan or the repository cannot be read.
        """
        job = self._build(None).clean()
        return result_of(job)

    def merge(self, branch: str | None = None) -> MergeReport:
        """Merges the work of a run into what is checked out, then removes what is merged.

        Args:
            branch: The branch; by default the one with work that is not merged.

        Raises:
            TrustError: What the checks execute is not trusted.
            StateError: A loop is at work (`E_LOOP_RUNNING`).
            SamuelError: The branch has conflicts or fails the checks (`E_MERGE_REFUSED`), or files
                are in the way (`E_MERGE_HELD`).
        """
        built = self._build(self._loaded())
        job = built.merge(branch, self._trusts(built))
        return result_of(job)

    async def amerge(self, branch: str | None = None) -> MergeReport:
        """The same as `merge`, to be awaited."""
        built = await self._abuilt()
        job = built.merge(branch, await self._atrusts(built))
        return await await_result_of(job)

    def land(self) -> LandReport:
        """Lands what lanes have submitted, without calling an agent, and settles a landing that was cut off.

        Raises:
            TrustError: What the checks execute is not trusted.
            StateError: A loop is at work (`E_LOOP_RUNNING`).
            SamuelError: Nothing can be landed here.
        """
        built = self._build(self._loaded())
        job = built.land(self._trusts(built))
        return result_of(job)

    async def aland(self) -> LandReport:
        """The same as `land`, to be awaited."""
        built = await self._abuilt()
        job = built.land(await self._atrusts(built))
        return await await_result_of(job)

    def hooks(self) -> HookList:
        """The hooks of the loop: every handler that is not built in, with what a hook file says of it.

        Raises:
            PluginError: An installed plugin cannot be loaded.
            ConfigError: A hook file cannot be used.
        """
        return self._build(self._loaded()).hooks()

    def test_hook(
        self, id: str, event: Mapping[str, Any] | None = None, *, point: str | None = None
    ) -> HookTrial:
        """Calls one hook with one event, beside the state of any run.

        Args:
            id: The hook, as `hooks` names it.
            event: What it is given; what it lacks is as in a sample of the event.
            point: The hook point, of a hook that answers at several.

        Returns:
            All that went in and came out. A hook that breaks is no error.

        Raises:
            SamuelError: The loop is not trusted, there is no such hook, or the event is not its
                input.
        """
        native = self.project._native.in_memory()
        built = self._build(self._loaded(native), native)
        job = built.test_hook(id, point, None if event is None else dict(event), self._trusts(built))
        return result_of(job)

    async def atest_hook(
        self, id: str, event: Mapping[str, Any] | None = None, *, point: str | None = None
    ) -> HookTrial:
        """The same as `test_hook`, to be awaited."""
        built = await self._abuilt(await in_thread(self.project._native.in_memory))
        job = built.test_hook(id, point, None if event is None else dict(event), await self._atrusts(built))
        return await await_result_of(job)

    def fire_hooks(
        self, point: str, event: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> HookFiring:
        """Calls all handlers of a hook point as a run does, beside the state of any run.

        Args:
            point: The hook point. `agent.invoke` is fired only where a handler is in the agent's
                place.
            event: What they are given; what it lacks is as in a sample of the event, but for
                quality checks, which are those of a run.
            dry_run: Calls nothing, and says which handlers would run, and why others would not.

        Returns:
            What they answered and did. A hook that breaks is no error.

        Raises:
            SamuelError: The loop is not trusted, there is no such point, or the event is not its
                input or names another quality check than those that are configured.
        """
        native = self.project._native.in_memory()
        built = self._build(self._loaded(native), native)
        given = None if event is None else dict(event)
        job = built.fire_hooks(point, given, dry_run, not dry_run and self._trusts(built))
        return result_of(job)

    async def afire_hooks(
        self, point: str, event: Mapping[str, Any] | None = None, *, dry_run: bool = False
    ) -> HookFiring:
        """The same as `fire_hooks`, to be awaited."""
        built = await self._abuilt(await in_thread(self.project._native.in_memory))
        given = None if event is None else dict(event)
        job = built.fire_hooks(point, given, dry_run, not dry_run and await self._atrusts(built))
        return await await_result_of(job)

    aexecutables = awaited(executables)
    arecord_trust = awaited(record_trust)
    alanes = awaited(lanes)
    aclean = awaited(clean)
    ahooks = awaited(hooks)

    async def _abuilt(self, native: _samuel.Project | None = None) -> _samuel.Run:
        """What calls handlers beside a run: no thread is held while they run on the event loop."""
        return await in_thread(self._build, await self._aloaded(native), native)

    def _begin(self, plugins: _samuel.LoadedPlugins | None) -> Run:
        built, store = self._ready(plugins), self._store()
        trusted = store is None and self._trusts(built)
        return Run(built, trusted, callable(self._trust), store, watchers=self._watching())

    async def _abegin(self) -> Run:
        at = Home.here()
        built, store = await in_thread(self._ready, await self._aloaded()), self._store()
        trusted = store is None and await self._atrusts(built)
        return Run(built, trusted, callable(self._trust), store, at, self._watching())

    def _watching(self) -> list[Callable[[Event], object]]:
        return [make() for make in self._watchers]

    def _ready(self, plugins: _samuel.LoadedPlugins | None) -> _samuel.Run:
        built = self._build(plugins)
        if callable(self._trust):
            # Without the agent nothing would come of a yes.
            built.check_agent()
        return built

    def _build(
        self, plugins: _samuel.LoadedPlugins | None, native: _samuel.Project | None = None
    ) -> _samuel.Run:
        registrations, options = self._equipment(self._options)
        to_json = getattr(self._agent, "to_json", None)
        if isinstance(self._agent, str):
            options["agent"] = self._agent
        elif to_json is not None:
            options["script"] = to_json()
        elif callable(self._agent):
            options["python_agent"] = name = getattr(self._agent, "__name__", type(self._agent).__name__)
            tier = "async" if is_async(self._agent) else "thread"
            registered = Registration("agent.invoke", name, self._agent, timeout=_AGENT_TIMEOUT, tier=tier)
            registrations.append(home().settle(registered))
        elif self._agent is not None:
            raise ConfigError(f"an agent is a name or can be called; {self._agent!r} is neither")
        return _samuel.Run(native or self.project._native, options, registrations, plugins)

    def __repr__(self) -> str:
        return f"Loop({self.project.root!r}, handlers={len(self._registrations)})"


def _ids(tasks: Iterable[Any]) -> list[str]:
    """Ids in a list; a single one is no list of its letters."""
    if isinstance(tasks, str):
        raise TypeError("tasks are a list of ids, such as [\"1.2\"], not one text")
    ids = list(tasks)
    for task in ids:
        if not isinstance(task, str):
            raise TypeError(f"the tasks of a project are given by their ids, such as \"1.2\", not by {task!r}")
    return ids


def _checks(checks: Iterable[Check]) -> tuple[list[Any], list[CheckFunction]]:
    """Commands, and functions."""
    if isinstance(checks, str):
        raise TypeError("checks are a list, such as [\"pytest\"], not one text")
    commands, functions = [], []
    for check in checks:
        if callable(check):
            functions.append(check)
        else:
            commands.append(_check(check))
    return commands, functions


def given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value, in the tables that samuel.toml has them in."""
    tables: dict[str, Any] = {}
    for key, value in settings.items():
        if value is None:
            continue
        table = TABLE_OF.get(key)
        inner = tables if table is None else tables.setdefault(table, {})
        listed = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
        inner[key] = [_check(each) for each in value] if listed else value
    return tables


def _check(check: Any) -> Any:
    """A quality check in a pair with its timeout is a table; the rest is held against the rule."""
    match check:
        case (command, timeout):
            return {"command": command, "timeout": timeout}
        case Mapping():
            return dict(check)
    return check
