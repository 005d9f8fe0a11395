"""Autonomous coding loops with typed hooks.

    >>> import samuel
    >>> loop = samuel.Loop("path/to/project", trust=True, max_iterations=5)
    >>> @loop.hook("quality.check")
    ... def lint(call):
    ...     return samuel.QualityCheckOutput(ok=False, reason="no tests")
    >>> result = loop.run()
    >>> result.exit_reason
    'completed'

`Loop` drives runs, `Session` fires hooks for any other orchestrator, `Project` is the plan and its changes, `toon` the codec.
The records that handlers get and give are in `samuel.records` and here, under
the same names. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import broker as broker
    from . import records as records
    from . import settings as settings
    from . import testing as testing
    from . import toon as toon
    from ._samuel import HOOK_POINTS as HOOK_POINTS
    from ._samuel import AgentPort as AgentPort
    from ._samuel import Call as Call
    from ._samuel import FetchedPlugin as FetchedPlugin
    from ._samuel import PromptContext as PromptContext
    from ._samuel import TrustStore as TrustStore
    from ._samuel import __version__ as __version__
    from ._handler import Handler as Handler
    from .errors import *
    from .live import Attached as Attached
    from .live import LiveRun as LiveRun
    from .loop import Loop as Loop
    from .loop import Plugin as Plugin
    from .methodology import Defaults as Defaults
    from .methodology import Kit as Kit
    from .methodology import Methodology as Methodology
    from .project import Project as Project
    from .records import *
    from .result import RunResult as RunResult
    from .run import Run as Run
    from .session import AbilityOutcome as AbilityOutcome
    from .session import AbilityOutput as AbilityOutput
    from .session import Session as Session

# Where names are found that are not records.
_HOMES = {
    "_samuel": ("AgentPort", "HOOK_POINTS", "Call", "FetchedPlugin", "PromptContext", "TrustStore", "__version__"),
    "_handler": ("Handler",),
    "errors": (
        "AgentError",
        "BudgetError",
        "Cancelled",
        "ConfigError",
        "GateError",
        "HandlerWarning",
        "HookError",
        "PluginError",
        "SamuelError",
        "StateError",
        "UnlandedWarning",
    ),
    "live": ("Attached", "LiveRun"),
    "loop": ("Loop", "Plugin"),
    "methodology": ("Defaults", "Kit", "Methodology"),
    "project": ("Project",),
    "result": ("RunResult",),
    "run": ("Run",),
    "session": ("AbilityOutcome", "AbilityOutput", "Session"),
}
_MODULES = ("broker", "errors", "records", "settings", "testing", "toon")


if not TYPE_CHECKING:
    # For type checkers every name would exist.
    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f".{name}", __name__)
        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None and name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = import_module(f".{home or 'records'}", __name__)
        try:
            value = getattr(found, name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    from . import records

    named = {name for names in _HOMES.values() for name in names}
    return sorted({*globals(), *named, *_MODULES, *records.__all__})
