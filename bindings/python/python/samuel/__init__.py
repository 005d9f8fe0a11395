"""Autonomous coding loops with typed hooks.

    >>> import samuel
    >>> loop = samuel.Loop("path/to/project", trust=True, max_iterations=5)
    >>> @loop.hook("quality.check")
    ... def lint(call):
    ...     return samuel.QualityCheckOutput(ok=False, reason="no tests")
    >>> result = loop.run()
    >>> result.exit_reason
    'completed'

`Loop` drives runs, `Project` is the plan and its changes, `toon` the codec.
The records that handlers get and give are in `samuel.records` and here, under
the same names. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from ._samuel import HOOK_POINTS, Call, PromptContext, __version__
from .errors import (
    AgentError,
    BudgetError,
    Cancelled,
    ConfigError,
    GateError,
    HookError,
    SamuelError,
    StateError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import records as records
    from . import testing as testing
    from . import toon as toon
    from .loop import Loop as Loop
    from .loop import Plugin as Plugin
    from .project import Project as Project
    from .records import *
    from .run import Run as Run
    from .run import RunResult as RunResult

_HOMES = {
    "Loop": "loop",
    "Plugin": "loop",
    "Project": "project",
    "Run": "run",
    "RunResult": "run",
}
_MODULES = ("records", "testing", "toon")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOMES.get(name, 'records')}", __name__)
    try:
        value = getattr(home, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from . import records

    return sorted({*globals(), *_HOMES, *_MODULES, *records.__all__})


class HookPoint:
    """The ids of the hook points, by the names of their types."""


for _id in HOOK_POINTS:
    setattr(HookPoint, _id.replace(":", "_").replace(".", "_").upper(), _id)
del _id
