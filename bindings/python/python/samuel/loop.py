"""Driving runs: a loop, its handlers, its plugins and its agent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from . import _samuel
from ._process import Surroundings, environment, supervisor
from ._registering import Registering, Registration, is_async
from ._waiting import await_for, wait_for
from .errors import ConfigError
from .project import Project
from .result import RunResult
from .run import Run

if TYPE_CHECKING:
    from .records import AgentInvokeInput, AgentInvokeOutput, Event, Executables
    from .testing import ScriptedAgent

    AgentFunction = Callable[[_samuel.Call[AgentInvokeInput, AgentInvokeOutput]], Any]

__all__ = ["Loop", "Plugin"]

# The adapter's clocks rule an agent, not the deadline of a handler.
_AGENT_TIMEOUT = 86_400.0


class Plugin(Registering):
    """Handlers under one name, for several loops.

    Args:
        name: Its name, lower-case letters, digits and `-`.
        namespace: Its key in the Plugins group of the prompt context; by
            default the name with `_` for `-`.
    """

    def __init__(self, name: str, *, namespace: str | None = None) -> None:
        super().__init__()
        self.name = name
        self.namespace = namespace or name.replace("-", "_")

    def __repr__(self) -> str:
        return f"Plugin({self.name!r}, handlers={len(self._registrations)})"


class Loop(Registering):
    """A loop over the plan of a project.

    What is not given comes from samuel.toml. A loop can be run several times.

    Args:
        project: The project, or its root directory.
        agent: An agent's name, a function or object that is one, or a
            `samuel.testing.ScriptedAgent`. A function gets the call of
            `agent.invoke` and returns its output.
        trust: Whether what the project brings may run: its agent, its checks
            and its handlers. A function is asked, with what would run; only
            its yes covers control files that the last run left changed
            (`executables.changes`).
        max_iterations: How many iterations a run may make.
        max_consecutive_failures: After how many failures in a row it ends.
        pause: Seconds between two iterations.
        quality_checks: Commands that check the work, or (command, seconds).
        agent_command: The command line of the agent.
        agent_args: Arguments that are added to it.
        max_cost_usd: The cost that ends a run.
        max_tokens: The tokens that end a run.
        max_wall_time: The seconds that end a run.
        rate_limit: What a run does about a usage limit of the agent that lasts
            longer than `rate_limit_wait`: `wait` for its end, or `stop`.
        rate_limit_wait: How many seconds a usage limit is waited for in any case.
        keep_runs: Of how many runs the agent's output is kept, this one
            included; 0 for all.
        keep_bytes: How many bytes of it are kept; 0 for all.
        sandbox: What the agent runs in, such as `host`.
        pilot: Whether the loop looks for tasks by itself.
        env: The environment of agents and checks; by default this process's.
        binary: The command by which agents call Samuel.
        session: The name of the session; by default the project's.
        plugins: Plugins of this program whose handlers run. One that
            samuel.toml lists too need not be installed.
        installed_plugins: Whether the handlers of the plugins that samuel.toml
            lists run as well, as in `samuel run start`.
        log_timings: Whether the time of every handler goes into the progress log.
    """

    def __init__(
        self,
        project: Project | str | os.PathLike[str] = ".",
        *,
        agent: str | AgentFunction | ScriptedAgent | None = None,
        trust: bool | Callable[[Executables], bool] = False,
        max_iterations: int | None = None,
        max_consecutive_failures: int | None = None,
        pause: float | None = None,
        quality_checks: Iterable[str | tuple[str, float]] | None = None,
        agent_command: Iterable[str] | None = None,
        agent_args: Iterable[str] | None = None,
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        max_wall_time: float | None = None,
        rate_limit: Literal["wait", "stop"] | None = None,
        rate_limit_wait: float | None = None,
        keep_runs: int | None = None,
        keep_bytes: int | None = None,
        sandbox: str | None = None,
        pilot: bool | None = None,
        env: Mapping[str, str] | None = None,
        binary: str | None = None,
        session: str | None = None,
        plugins: Iterable[Plugin] = (),
        installed_plugins: bool = True,
        log_timings: bool = False,
    ) -> None:
        super().__init__()
        for name, least in (("max_iterations", max_iterations), ("max_tokens", max_tokens),
                            ("max_consecutive_failures", max_consecutive_failures)):
            if least is not None and least < 1:
                raise ConfigError(f"{name} is at least 1, not {least}")
        for name, amount in (("keep_runs", keep_runs), ("keep_bytes", keep_bytes)):
            if amount is not None and amount < 0:
                raise ConfigError(f"{name} is at least 0, not {amount}")
        if rate_limit not in (None, "wait", "stop"):
            raise ConfigError(f"rate_limit is wait or stop, not {rate_limit}")
        self.project = project if isinstance(project, Project) else Project(project)
        self.plugins: list[Plugin] = list(plugins)
        self._installed_plugins = installed_plugins
        self._trust = trust
        self._agent = agent
        self._options: dict[str, Any] = {
            "max_iterations": max_iterations,
            "max_consecutive_failures": max_consecutive_failures,
            "pause": pause,
            "quality_checks": None if quality_checks is None else [_check(each) for each in quality_checks],
            "agent_command": _listed(agent_command),
            "agent_args": _listed(agent_args),
            "max_cost_usd": max_cost_usd,
            "max_tokens": max_tokens,
            "max_wall_time": max_wall_time,
            "rate_limit": rate_limit,
            "rate_limit_wait": rate_limit_wait,
            "keep_runs": keep_runs,
            "keep_bytes": keep_bytes,
            "sandbox": sandbox,
            "pilot": pilot,
            "binary": binary,
            "session": session,
            "log_timings": log_timings,
        }
        self._env = env

    def use(self, plugin: Plugin) -> Plugin:
        """Adds the handlers of a plugin."""
        self.plugins.append(plugin)
        return plugin

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
        """Runs the loop to its end; cancelling the task stops the run."""
        run = self._begin(await self._aloaded())
        async with run:
            return await run.await_result()

    async def astream(self) -> AsyncIterator[Event]:
        """Runs the loop and yields its events; leaving early stops the run."""
        run = self._begin(await self._aloaded())
        async with run:
            async for event in run.aevents():
                yield event

    def executables(self) -> Executables:
        """What a run would execute."""
        return self._build(self._loaded()).executables

    def _load(self) -> _samuel.Job[_samuel.LoadedPlugins] | None:
        """Begins to load the installed plugins, where there are any."""
        if not self._installed_plugins:
            return None
        brought = [plugin.name for plugin in self.plugins]
        return _samuel.plugins_load(self.project._native, brought, Surroundings(self._env))

    def _loaded(self) -> _samuel.LoadedPlugins | None:
        job = self._load()
        return None if job is None else wait_for(job, job.result)

    async def _aloaded(self) -> _samuel.LoadedPlugins | None:
        job = self._load()
        return None if job is None else await await_for(job, job.result)

    def _begin(self, plugins: _samuel.LoadedPlugins | None) -> Run:
        built = self._build(plugins)
        decided = callable(self._trust)
        trusted = self._trust(built.executables) if callable(self._trust) else self._trust
        return Run(built, bool(trusted), decided)

    def _build(self, plugins: _samuel.LoadedPlugins | None) -> _samuel.Run:
        registrations = [*self._registrations, *self._of_plugins()]
        options = {
            **self._options,
            "env": environment(self._env),
            "supervisor": supervisor(),
            "agent": None,
            "script": None,
            "python_agent": None,
        }
        to_json = getattr(self._agent, "to_json", None)
        if isinstance(self._agent, str):
            options["agent"] = self._agent
        elif to_json is not None:
            options["script"] = to_json()
        elif callable(self._agent):
            options["python_agent"] = name = getattr(self._agent, "__name__", type(self._agent).__name__)
            tier = "async" if is_async(self._agent) else "thread"
            registrations.append(
                Registration("agent.invoke", name, self._agent, timeout=_AGENT_TIMEOUT, tier=tier)
            )
        elif self._agent is not None:
            raise ConfigError(f"an agent is a name or can be called; {self._agent!r} is neither")
        return _samuel.Run(self.project._native, options, registrations, plugins)

    def _of_plugins(self) -> Iterator[Registration]:
        places = self.project._native.listed_plugins
        for number, plugin in enumerate(self.plugins):
            place = places.index(plugin.name) if plugin.name in places else len(places) + number
            for each in plugin._registrations:
                yield Registration(
                    each.point,
                    each.name,
                    each.function,
                    plugin=(plugin.name, plugin.namespace, place),
                    order=each.order,
                    timeout=each.timeout,
                    strict=each.strict,
                    tier=each.tier,
                )

    def __repr__(self) -> str:
        return f"Loop({self.project.root!r}, handlers={len(self._registrations)})"


def _check(check: str | tuple[str, float]) -> dict[str, Any]:
    command, timeout = (check, None) if isinstance(check, str) else check
    return {"command": command, "timeout": timeout}


def _listed(values: Iterable[str] | None) -> list[str] | None:
    if isinstance(values, str):
        raise TypeError(f"expected several arguments, not the text {values!r}")
    return None if values is None else list(values)
