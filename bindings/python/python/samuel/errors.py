"""What can go wrong.

Every exception of Samuel has a stable code, the same as in the command line
and in plugins, and says what to do next.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    Place = tuple[str | PathLike[str], int | None, int | None]

__all__ = [
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
]


class SamuelError(Exception):
    """Something that Samuel could not do.

    Attributes:
        message: What happened, in one line.
        code: A stable name, such as `E_STATE_LOCKED`.
        help: What to do next, one line; empty where there is nothing to say.
        retryable: Whether the same call may work later without a change.
        file: The file it is about, where it is about one.
        line: The line, from 1, where it is known.
        column: The column in characters, from 1, where it is known.
    """

    default_code = "E_INTERNAL"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        help: str = "",
        retryable: bool = False,
        place: Place | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code if code is not None else self.default_code
        self.help = help
        self.retryable = retryable
        self.file: str | None = str(place[0]) if place else None
        self.line: int | None = place[1] if place else None
        self.column: int | None = place[2] if place else None

    def __str__(self) -> str:
        if self.file is None or self.file in self.message:
            return self.message
        position = "".join(f":{part}" for part in (self.line, self.column) if part is not None)
        return f"{self.file}{position}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message), self.__dict__)


class UnlandedWarning(UserWarning):
    """Work that lanes had submitted does not land any more, since its task was settled or given back.

    Attributes:
        task: The task.
        branch: The branch that the work stays on.
    """

    def __init__(self, task: str, branch: str) -> None:
        super().__init__(f"the work that was submitted for {task} does not land; it stays on {branch}")
        self.task = task
        self.branch = branch


class HandlerWarning(UserWarning):
    """A handler is registered that will not be called, or another is not because of it."""


class ConfigError(SamuelError):
    """samuel.toml, a template, the arguments or the PRD cannot be used."""

    default_code = "E_CONFIG_INVALID"


class StateError(SamuelError):
    """The plan cannot be read or changed, or another loop runs."""

    default_code = "E_STATE_IO"


class AgentError(SamuelError):
    """The agent cannot be called."""

    default_code = "E_AGENT_FAILED"


class HookError(SamuelError):
    """A handler broke, or cannot be registered.

    A handler raises it to say in its own words why it cannot answer.
    """

    default_code = "E_HOOK_FAILED"


class PluginError(SamuelError):
    """An installed plugin cannot be loaded, or none can be installed.

    Where its files are not those that were installed (`E_PLUGIN_CHANGED`), the
    notes of the exception say which.
    """

    default_code = "E_PLUGIN_INVALID"


class GateError(SamuelError):
    """A handler said no."""

    default_code = "E_HOOK_REFUSED"


class BudgetError(SamuelError):
    """A run used up what it may consume."""

    default_code = "E_RUN_STOPPED"


class Cancelled(SamuelError):
    """A run was ended before its work was done."""

    default_code = "E_RUN_CANCELLED"


_BY_AREA = {
    "CONFIG": ConfigError,
    "METHODOLOGY": ConfigError,
    "TEMPLATE": ConfigError,
    "SANDBOX": ConfigError,
    "PRD": ConfigError,
    "STATE": StateError,
    "TASK": StateError,
    "QUESTION": StateError,
    "CLAIM": StateError,
    "AGENT": AgentError,
    "HOOK": HookError,
    "PLUGIN": PluginError,
}
_BY_CODE = {
    "E_HOOK_REFUSED": GateError,
    "E_SYNC_REFUSED": GateError,
    "E_RUN_CANCELLED": Cancelled,
    "E_HOOK_CANCELLED": Cancelled,
}


def _make(code: str, message: str, help: str, retryable: bool, place: Place | None) -> SamuelError:
    """Makes the exception that fits a code; called by the native module."""
    area = code.split("_")[1] if code.count("_") >= 2 else ""
    kind = _BY_CODE.get(code) or _BY_AREA.get(area, SamuelError)
    return kind(message, code=code, help=help, retryable=retryable, place=place)


def _warn_of_unlanded(task: str, branch: str) -> None:
    """Warns whoever called the method that made a change; called by the native module."""
    from warnings import warn

    warn(UnlandedWarning(task, branch), stacklevel=3)


def _rebuild(kind: type[SamuelError], message: str) -> SamuelError:
    return kind(message)
