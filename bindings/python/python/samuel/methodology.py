"""Methodologies: what a loop does at each of its hook points by default.

    >>> class Terse(samuel.Methodology):
    ...     name = "terse"
    ...     templates = {"prompt.md.tmpl": "Do {{ .Iteration.TaskID }}.\\n"}
    ...
    ...     def register(self, kit, registry):
    ...         registry.built_in()
    ...
    ...         @registry.hook("context.task")
    ...         def task(call):
    ...             return samuel.ContextTaskOutput()
    >>> project = samuel.Project("path/to/project", methodology=Terse())

A program brings one of its own, or one of a package that it imports. samuel.toml
configures it as `[methodology.terse]`, and `.samuel/templates/terse/` replaces its templates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

from ._handler import Handler
from ._home import home
from ._registering import PluginRegistering
from ._registration import Registration, is_async
from .errors import ConfigError, HookError, SamuelError

if TYPE_CHECKING:
    from .records import GuardrailVars
    from .settings import Settings

__all__ = ["Defaults", "Kit", "Methodology"]


class Methodology(Protocol):
    """What a loop does by default.

    Any object that has these is one; what this class says of the others holds
    where they are missing.
    """

    @property
    def name(self) -> str:
        """Its name, as `[methodology.<name>]` has it: 1 to 64 of `a-z`, `0-9` and `-`."""
        ...

    @property
    def aliases(self) -> Sequence[str]:
        """Other names for it."""
        return ()

    @property
    def settings(self) -> Settings:
        """The settings that samuel.toml goes over."""
        return {}

    @property
    def templates(self) -> Mapping[str, str]:
        """Its templates by file name, which files of the project replace."""
        return {}

    def register(self, kit: Kit, registry: Defaults) -> None:
        """Registers what a run does by default; called when one is built.

        An exception keeps the run from being built.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What a run gives its methodology.

    Attributes:
        project_root: The project's root.
        run_dir: The directory that holds plan, log and journal.
        run_id: The run's id.
        binary: The command by which agents call Samuel.
        settings: The settings the run was frozen with; durations are seconds.
        guardrails: What samuel.toml asks of the code.
        env: The environment of which agents and checks get parts.
    """

    project_root: str
    run_dir: str
    run_id: str
    binary: str
    settings: Mapping[str, Any]
    guardrails: GuardrailVars
    env: Mapping[str, str]


class Defaults(PluginRegistering):
    """What a methodology registers handlers with.

    `hook` says what a point does by default, in place of what was said before. It takes
    neither a name nor an order: what is the default is called so, and is at 100.
    """

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[Registration | None] = []

    def built_in(self) -> None:
        """Registers what the methodology does that is built in."""
        self._steps.extend([*self._registrations, None])
        self._registrations.clear()

    if not TYPE_CHECKING:

        def hook(self, point: str, **options: Any) -> Callable[[Any], Handler[Any]]:
            """Registers the decorated function as what a point does by default."""
            if "order" in options or "name" in options:
                raise TypeError("a default has neither a name nor an order of its own")
            return super().hook(point, "default", **options)


def about(
    methodology: Any, known_templates: Sequence[str]
) -> tuple[str, list[str], list[tuple[str, str]], dict[str, Any]]:
    """What a methodology says of itself; called by the native module."""
    if isinstance(methodology, type):
        kind = methodology.__name__
        raise ConfigError(
            f"the methodology {kind} is a class, not an object of it", help=f"Pass an object, such as `{kind}()`."
        )
    name, register = getattr(methodology, "name", None), getattr(methodology, "register", None)
    if not isinstance(name, str) or not callable(register) or is_async(register):
        raise TypeError(f"a methodology is a name, or has one and a function `register`; {methodology!r} is neither")
    says = _Says(methodology, name)
    says.check("name", _is_text(name), name, "text without halves of surrogate pairs")
    return name, says.aliases(), says.templates(known_templates), says.settings()


class _Says:
    """Reads what a methodology says of itself, and names the attribute that is wrong."""

    def __init__(self, methodology: Any, name: str) -> None:
        self._methodology = methodology
        self._name = name

    def check(self, attribute: str, is_right: bool, value: Any, expected: str) -> None:
        if not is_right:
            help = f"Correct the attribute `{attribute}` of the class that the methodology is of."
            raise ConfigError(self._wrong(attribute, f"expected {expected}, got {value!a:.200}"), help=help)

    def _wrong(self, attribute: str, problem: object) -> str:
        return f"the methodology {json.dumps(self._name)} has wrong {attribute}: {problem}"

    def _attribute(self, attribute: str, default: Any) -> Any:
        try:
            return getattr(self._methodology, attribute, default)
        except Exception as error:
            raise ConfigError(self._wrong(attribute, f"{type(error).__name__}: {error}")) from error

    def aliases(self) -> list[str]:
        given = self._attribute("aliases", ())
        is_right = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping))
        aliases = list(given) if is_right else []
        self.check("aliases", is_right and all(map(_is_text, aliases)), given, "a list of names")
        return aliases

    def templates(self, known: Sequence[str]) -> list[tuple[str, str]]:
        given = self._attribute("templates", {})
        is_right = isinstance(given, Mapping) and all(map(_is_text, [*given.keys(), *given.values()]))
        self.check("templates", is_right, given, "a mapping of file names to text")
        for file in given:
            if file not in known:
                near = get_close_matches(file, known, 1, 0.0)[0]
                problem = f"no template is called {json.dumps(file)}"
                help = f'Did you mean "{near}"? Templates there are: {", ".join(known)}.'
                raise ConfigError(self._wrong("templates", problem), help=help)
        return list(given.items())

    def settings(self) -> dict[str, Any]:
        from ._samuel import check_settings
        from .loop import given

        settings = self._attribute("settings", {})
        self.check("settings", isinstance(settings, Mapping), settings, "`samuel.settings.Settings`")
        try:
            said = given(settings)
            check_settings(said)
        except (SamuelError, TypeError, AttributeError) as error:
            help = getattr(error, "help", "") or "Correct the attribute `settings` of the methodology."
            raise ConfigError(self._wrong("settings", error), help=help) from error
        return said


def _is_text(value: Any) -> bool:
    """Whether it is text that other languages take, too."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def collect(methodology: Methodology, kit: Mapping[str, Any]) -> list[Registration | None]:
    """What a methodology registers, in order; None is what is built in. Called by the native module."""
    registry = Defaults()
    try:
        methodology.register(Kit(**kit), registry)
    except Exception as error:
        from ._workers import describe

        message = f'the methodology "{methodology.name}" cannot register its handlers: {describe(error)[1]}'
        code, help = getattr(error, "code", None), getattr(error, "help", "")
        raise HookError(message, code=code, help=help) from error
    at = home()
    steps = [*registry._steps, *registry._registrations]
    return [step and at.settle(step) for step in steps]
