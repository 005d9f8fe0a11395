"""What loops and sessions have in common: a project, handlers, plugins, and who trusts them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from . import _samuel
from ._home import home, in_thread
from ._process import Surroundings, environment, supervisor
from ._registering import PluginRegistering, Registering
from ._registration import Registration, of_plugins
from ._waiting import await_result_of, result_of
from .project import Project

if TYPE_CHECKING:
    from ._samuel import TrustStore
    from .records import Executables

    Trust = bool | Callable[[Executables], bool | Awaitable[bool]] | TrustStore

    class Built(Protocol):
        """What is built and says what it would execute."""

        @property
        def executables(self) -> Executables: ...
        def is_trusted(self, store: TrustStore) -> bool: ...


class Plugin(PluginRegistering):
    """Handlers under one name, for several loops and sessions.

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


class Equipped(Registering):
    """Something that has a project, handlers and plugins."""

    def __init__(
        self,
        project: Project | str | os.PathLike[str],
        trust: Trust,
        env: Mapping[str, str] | None,
        plugins: Iterable[Plugin],
        installed_plugins: bool,
    ) -> None:
        super().__init__()
        self.project = project if isinstance(project, Project) else Project(project)
        self.plugins: list[Plugin] = list(plugins)
        self._installed_plugins = installed_plugins
        self._trust = trust
        self._env = env

    def use(self, plugin: Plugin) -> Plugin:
        """Adds the handlers of a plugin."""
        self.plugins.append(plugin)
        return plugin

    def _trusts(self, built: Built) -> bool:
        if isinstance(self._trust, _samuel.TrustStore):
            return built.is_trusted(self._trust)
        says = self._trust(built.executables) if callable(self._trust) else self._trust
        if isinstance(says, Awaitable):
            _drop(says)
            raise TypeError("trust is an async function, which only what is awaited can ask, such as Loop.arun")
        return bool(says)

    async def _atrusts(self, built: Built) -> bool:
        """Asks on the event loop, where the function of the program may be async."""
        if not callable(self._trust):
            return await in_thread(self._trusts, built)
        says = self._trust(built.executables)
        return bool(await says if isinstance(says, Awaitable) else says)

    def _load(self, native: _samuel.Project | None = None) -> _samuel.Job[_samuel.LoadedPlugins] | None:
        """Begins to load the installed plugins, where there are any."""
        if not self._installed_plugins:
            return None
        brought = [plugin.name for plugin in self.plugins]
        return _samuel.plugins_load(native or self.project._native, brought, Surroundings(self._env))

    def _loaded(self, native: _samuel.Project | None = None) -> _samuel.LoadedPlugins | None:
        job = self._load(native)
        return None if job is None else result_of(job)

    async def _aloaded(self, native: _samuel.Project | None = None) -> _samuel.LoadedPlugins | None:
        job = self._load(native)
        return None if job is None else await await_result_of(job)

    def _store(self) -> TrustStore | None:
        """The store that decides, where one does."""
        return self._trust if isinstance(self._trust, _samuel.TrustStore) else None

    def _equipment(self, own: Mapping[str, Any]) -> tuple[list[Registration], dict[str, Any]]:
        """The handlers, and the options with what everybody has; the native module knows the others' defaults."""
        at = home()
        given = (*self._registrations, *of_plugins(self.project._native, self.plugins))
        registrations = [at.settle(each) for each in given]
        options = {"settings": {}, "env": environment(self._env), "supervisor": supervisor(), **own}
        return registrations, options


def _drop(coroutine: Any) -> None:
    """Lets go of a coroutine that nobody awaits, without a warning."""
    if hasattr(coroutine, "close"):
        coroutine.close()
