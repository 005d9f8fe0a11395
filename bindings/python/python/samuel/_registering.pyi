# Written by `cargo xtask contract` from `wit/`; do not edit.
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar, overload, type_check_only

from . import records
from ._handler import Handler
from ._registration import Registration
from ._samuel import Call

@type_check_only
class InitBeforeHandler(Protocol):
    def __call__(self, call: Call[records.InitBeforeInput, records.InitBeforeOutput], /) -> (
        records.InitBeforeOutput | None | Awaitable[records.InitBeforeOutput | None]
    ): ...

@type_check_only
class InitAfterHandler(Protocol):
    def __call__(self, call: Call[records.InitAfterInput, records.InitAfterOutput], /) -> (
        records.InitAfterOutput | None | Awaitable[records.InitAfterOutput | None]
    ): ...

@type_check_only
class SyncBeforeHandler(Protocol):
    def __call__(self, call: Call[records.SyncBeforeInput, records.SyncBeforeOutput], /) -> (
        records.SyncBeforeOutput | None | Awaitable[records.SyncBeforeOutput | None]
    ): ...

@type_check_only
class SyncAfterHandler(Protocol):
    def __call__(self, call: Call[records.SyncAfterInput, records.SyncAfterOutput], /) -> (
        records.SyncAfterOutput | None | Awaitable[records.SyncAfterOutput | None]
    ): ...

@type_check_only
class SessionStartHandler(Protocol):
    def __call__(self, call: Call[records.SessionStartInput, records.SessionStartOutput], /) -> (
        records.SessionStartOutput | None | Awaitable[records.SessionStartOutput | None]
    ): ...

@type_check_only
class BeforeLoopHandler(Protocol):
    def __call__(self, call: Call[records.BeforeLoopInput, records.BeforeLoopOutput], /) -> (
        records.BeforeLoopOutput | None | Awaitable[records.BeforeLoopOutput | None]
    ): ...

@type_check_only
class BeforeIterationHandler(Protocol):
    def __call__(self, call: Call[records.BeforeIterationInput, records.BeforeIterationOutput], /) -> (
        records.BeforeIterationOutput | None | Awaitable[records.BeforeIterationOutput | None]
    ): ...

@type_check_only
class IterationGateHandler(Protocol):
    def __call__(self, call: Call[records.IterationGateInput, records.IterationGateOutput], /) -> (
        records.IterationGateOutput | None | Awaitable[records.IterationGateOutput | None]
    ): ...

@type_check_only
class PromptSubmitHandler(Protocol):
    def __call__(self, call: Call[records.PromptSubmitInput, records.PromptSubmitOutput], /) -> (
        records.PromptSubmitOutput | None | Awaitable[records.PromptSubmitOutput | None]
    ): ...

@type_check_only
class ContextSnapshotHandler(Protocol):
    def __call__(self, call: Call[records.ContextSnapshotInput, records.ContextSnapshotOutput], /) -> (
        records.ContextSnapshotOutput | None | Awaitable[records.ContextSnapshotOutput | None]
    ): ...

@type_check_only
class ContextProgressHandler(Protocol):
    def __call__(self, call: Call[records.ContextProgressInput, records.ContextProgressOutput], /) -> (
        records.ContextProgressOutput | None | Awaitable[records.ContextProgressOutput | None]
    ): ...

@type_check_only
class ContextTaskHandler(Protocol):
    def __call__(self, call: Call[records.ContextTaskInput, records.ContextTaskOutput], /) -> (
        records.ContextTaskOutput | None | Awaitable[records.ContextTaskOutput | None]
    ): ...

@type_check_only
class ContextExtraHandler(Protocol):
    def __call__(self, call: Call[records.ContextExtraInput, records.ContextExtraOutput], /) -> (
        records.ContextExtraOutput | None | Awaitable[records.ContextExtraOutput | None]
    ): ...

@type_check_only
class BeforeAgentInvokeHandler(Protocol):
    def __call__(self, call: Call[records.BeforeAgentInvokeInput, records.BeforeAgentInvokeOutput], /) -> (
        records.BeforeAgentInvokeOutput | None | Awaitable[records.BeforeAgentInvokeOutput | None]
    ): ...

@type_check_only
class AgentInvokeHandler(Protocol):
    def __call__(self, call: Call[records.AgentInvokeInput, records.AgentInvokeOutput], /) -> (
        records.AgentInvokeOutput | None | Awaitable[records.AgentInvokeOutput | None]
    ): ...

@type_check_only
class AfterAgentInvokeHandler(Protocol):
    def __call__(self, call: Call[records.AfterAgentInvokeInput, records.AfterAgentInvokeOutput], /) -> (
        records.AfterAgentInvokeOutput | None | Awaitable[records.AfterAgentInvokeOutput | None]
    ): ...

@type_check_only
class QualityCheckHandler(Protocol):
    def __call__(self, call: Call[records.QualityCheckInput, records.QualityCheckOutput], /) -> (
        records.QualityCheckOutput | None | Awaitable[records.QualityCheckOutput | None]
    ): ...

@type_check_only
class AfterIterationHandler(Protocol):
    def __call__(self, call: Call[records.AfterIterationInput, records.AfterIterationOutput], /) -> (
        records.AfterIterationOutput | None | Awaitable[records.AfterIterationOutput | None]
    ): ...

@type_check_only
class IterationErrorHandler(Protocol):
    def __call__(self, call: Call[records.IterationErrorInput, records.IterationErrorOutput], /) -> (
        records.IterationErrorOutput | None | Awaitable[records.IterationErrorOutput | None]
    ): ...

@type_check_only
class TaskCompletedHandler(Protocol):
    def __call__(self, call: Call[records.TaskCompletedInput, records.TaskCompletedOutput], /) -> (
        records.TaskCompletedOutput | None | Awaitable[records.TaskCompletedOutput | None]
    ): ...

@type_check_only
class AbilityBeforeHandler(Protocol):
    def __call__(self, call: Call[records.AbilityBeforeInput, records.AbilityBeforeOutput], /) -> (
        records.AbilityBeforeOutput | None | Awaitable[records.AbilityBeforeOutput | None]
    ): ...

@type_check_only
class AbilityAfterHandler(Protocol):
    def __call__(self, call: Call[records.AbilityAfterInput, records.AbilityAfterOutput], /) -> (
        records.AbilityAfterOutput | None | Awaitable[records.AbilityAfterOutput | None]
    ): ...

@type_check_only
class SessionStopHandler(Protocol):
    def __call__(self, call: Call[records.SessionStopInput, records.SessionStopOutput], /) -> (
        records.SessionStopOutput | None | Awaitable[records.SessionStopOutput | None]
    ): ...

@type_check_only
class AfterLoopHandler(Protocol):
    def __call__(self, call: Call[records.AfterLoopInput, records.AfterLoopOutput], /) -> (
        records.AfterLoopOutput | None | Awaitable[records.AfterLoopOutput | None]
    ): ...

@type_check_only
class SessionEndHandler(Protocol):
    def __call__(self, call: Call[records.SessionEndInput, records.SessionEndOutput], /) -> (
        records.SessionEndOutput | None | Awaitable[records.SessionEndOutput | None]
    ): ...

_InitBefore = TypeVar("_InitBefore", bound=InitBeforeHandler)
_InitAfter = TypeVar("_InitAfter", bound=InitAfterHandler)
_SyncBefore = TypeVar("_SyncBefore", bound=SyncBeforeHandler)
_SyncAfter = TypeVar("_SyncAfter", bound=SyncAfterHandler)
_SessionStart = TypeVar("_SessionStart", bound=SessionStartHandler)
_BeforeLoop = TypeVar("_BeforeLoop", bound=BeforeLoopHandler)
_BeforeIteration = TypeVar("_BeforeIteration", bound=BeforeIterationHandler)
_IterationGate = TypeVar("_IterationGate", bound=IterationGateHandler)
_PromptSubmit = TypeVar("_PromptSubmit", bound=PromptSubmitHandler)
_ContextSnapshot = TypeVar("_ContextSnapshot", bound=ContextSnapshotHandler)
_ContextProgress = TypeVar("_ContextProgress", bound=ContextProgressHandler)
_ContextTask = TypeVar("_ContextTask", bound=ContextTaskHandler)
_ContextExtra = TypeVar("_ContextExtra", bound=ContextExtraHandler)
_BeforeAgentInvoke = TypeVar("_BeforeAgentInvoke", bound=BeforeAgentInvokeHandler)
_AgentInvoke = TypeVar("_AgentInvoke", bound=AgentInvokeHandler)
_AfterAgentInvoke = TypeVar("_AfterAgentInvoke", bound=AfterAgentInvokeHandler)
_QualityCheck = TypeVar("_QualityCheck", bound=QualityCheckHandler)
_AfterIteration = TypeVar("_AfterIteration", bound=AfterIterationHandler)
_IterationError = TypeVar("_IterationError", bound=IterationErrorHandler)
_TaskCompleted = TypeVar("_TaskCompleted", bound=TaskCompletedHandler)
_AbilityBefore = TypeVar("_AbilityBefore", bound=AbilityBeforeHandler)
_AbilityAfter = TypeVar("_AbilityAfter", bound=AbilityAfterHandler)
_SessionStop = TypeVar("_SessionStop", bound=SessionStopHandler)
_AfterLoop = TypeVar("_AfterLoop", bound=AfterLoopHandler)
_SessionEnd = TypeVar("_SessionEnd", bound=SessionEndHandler)

class Registering:
    _registrations: list[Registration]
    def __init__(self) -> None: ...
    @property
    def handlers(self) -> tuple[Handler[Any], ...]:
        """The handlers, in the order they were registered; those of plugins are the plugins'."""
    def _remove(self, registration: Registration) -> None: ...

class PluginRegistering(Registering):
    @overload
    def hook(
        self, point: Literal["init.before"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_InitBefore], Handler[_InitBefore]]:
        """Fires once, before `samuel init` writes anything."""
    @overload
    def hook(
        self, point: Literal["init.after"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_InitAfter], Handler[_InitAfter]]:
        """Fires once, after `samuel init` has written."""
    @overload
    def hook(
        self, point: Literal["sync.before"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SyncBefore], Handler[_SyncBefore]]:
        """Fires once, before `samuel sync` writes anything."""
    @overload
    def hook(
        self, point: Literal["sync.after"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SyncAfter], Handler[_SyncAfter]]:
        """Fires once, after `samuel sync` has written."""
    @overload
    def hook(
        self, point: Literal["session.start"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStart], Handler[_SessionStart]]:
        """Fires once, before the loop."""
    @overload
    def hook(
        self, point: Literal["before:loop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeLoop], Handler[_BeforeLoop]]:
        """Fires once, before the first iteration."""
    @overload
    def hook(
        self, point: Literal["before:iteration"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeIteration], Handler[_BeforeIteration]]:
        """Fires at the start of each iteration."""
    @overload
    def hook(
        self, point: Literal["iteration.gate"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_IterationGate], Handler[_IterationGate]]:
        """Says whether the loop goes on, and in which mode."""
    @overload
    def hook(
        self, point: Literal["prompt.submit"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_PromptSubmit], Handler[_PromptSubmit]]:
        """Fires before a prompt is put together."""
    @overload
    def hook(
        self, point: Literal["context.snapshot"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextSnapshot], Handler[_ContextSnapshot]]:
        """Produces what the agent is told of the project, as TOON."""
    @overload
    def hook(
        self, point: Literal["context.progress"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextProgress], Handler[_ContextProgress]]:
        """Produces what the agent is told of earlier work, as Markdown."""
    @overload
    def hook(
        self, point: Literal["context.task"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextTask], Handler[_ContextTask]]:
        """Produces what the agent is told of its task, as TOON."""
    @overload
    def hook(
        self, point: Literal["context.extra"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextExtra], Handler[_ContextExtra]]:
        """Adds sections of its own to the prompt."""
    @overload
    def hook(
        self, point: Literal["before:agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeAgentInvoke], Handler[_BeforeAgentInvoke]]:
        """Changes what the agent is called with."""
    @overload
    def hook(
        self, point: Literal["agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AgentInvoke], Handler[_AgentInvoke]]:
        """Runs the agent."""
    @overload
    def hook(
        self, point: Literal["after:agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterAgentInvoke], Handler[_AfterAgentInvoke]]:
        """Fires after each agent call."""
    @overload
    def hook(
        self, point: Literal["quality.check"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_QualityCheck], Handler[_QualityCheck]]:
        """Fires after each agent call of an iteration."""
    @overload
    def hook(
        self, point: Literal["after:iteration"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterIteration], Handler[_AfterIteration]]:
        """Fires after each iteration, failed ones included."""
    @overload
    def hook(
        self, point: Literal["iteration.error"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_IterationError], Handler[_IterationError]]:
        """Fires when an iteration failed."""
    @overload
    def hook(
        self, point: Literal["task.completed"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_TaskCompleted], Handler[_TaskCompleted]]:
        """Fires once for each completion, while the agent is still at work."""
    @overload
    def hook(
        self, point: Literal["ability.before"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityBefore], Handler[_AbilityBefore]]:
        """Fires before each tool call of the agent."""
    @overload
    def hook(
        self, point: Literal["ability.after"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityAfter], Handler[_AbilityAfter]]:
        """Fires after each tool call."""
    @overload
    def hook(
        self, point: Literal["session.stop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStop], Handler[_SessionStop]]:
        """Fires when the loop is about to end."""
    @overload
    def hook(
        self, point: Literal["after:loop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterLoop], Handler[_AfterLoop]]:
        """Fires once, after the last iteration."""
    @overload
    def hook(
        self, point: Literal["session.end"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionEnd], Handler[_SessionEnd]]:
        """Fires once, as the last point of a run."""

class LoopRegistering(Registering):
    @overload
    def hook(
        self, point: Literal["session.start"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStart], Handler[_SessionStart]]:
        """Fires once, before the loop."""
    @overload
    def hook(
        self, point: Literal["before:loop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeLoop], Handler[_BeforeLoop]]:
        """Fires once, before the first iteration."""
    @overload
    def hook(
        self, point: Literal["before:iteration"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeIteration], Handler[_BeforeIteration]]:
        """Fires at the start of each iteration."""
    @overload
    def hook(
        self, point: Literal["iteration.gate"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_IterationGate], Handler[_IterationGate]]:
        """Says whether the loop goes on, and in which mode."""
    @overload
    def hook(
        self, point: Literal["prompt.submit"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_PromptSubmit], Handler[_PromptSubmit]]:
        """Fires before a prompt is put together."""
    @overload
    def hook(
        self, point: Literal["context.snapshot"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextSnapshot], Handler[_ContextSnapshot]]:
        """Produces what the agent is told of the project, as TOON."""
    @overload
    def hook(
        self, point: Literal["context.progress"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextProgress], Handler[_ContextProgress]]:
        """Produces what the agent is told of earlier work, as Markdown."""
    @overload
    def hook(
        self, point: Literal["context.task"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextTask], Handler[_ContextTask]]:
        """Produces what the agent is told of its task, as TOON."""
    @overload
    def hook(
        self, point: Literal["context.extra"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_ContextExtra], Handler[_ContextExtra]]:
        """Adds sections of its own to the prompt."""
    @overload
    def hook(
        self, point: Literal["before:agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_BeforeAgentInvoke], Handler[_BeforeAgentInvoke]]:
        """Changes what the agent is called with."""
    @overload
    def hook(
        self, point: Literal["agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AgentInvoke], Handler[_AgentInvoke]]:
        """Runs the agent."""
    @overload
    def hook(
        self, point: Literal["after:agent.invoke"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterAgentInvoke], Handler[_AfterAgentInvoke]]:
        """Fires after each agent call."""
    @overload
    def hook(
        self, point: Literal["quality.check"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_QualityCheck], Handler[_QualityCheck]]:
        """Fires after each agent call of an iteration."""
    @overload
    def hook(
        self, point: Literal["after:iteration"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterIteration], Handler[_AfterIteration]]:
        """Fires after each iteration, failed ones included."""
    @overload
    def hook(
        self, point: Literal["iteration.error"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_IterationError], Handler[_IterationError]]:
        """Fires when an iteration failed."""
    @overload
    def hook(
        self, point: Literal["task.completed"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_TaskCompleted], Handler[_TaskCompleted]]:
        """Fires once for each completion, while the agent is still at work."""
    @overload
    def hook(
        self, point: Literal["ability.before"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityBefore], Handler[_AbilityBefore]]:
        """Fires before each tool call of the agent."""
    @overload
    def hook(
        self, point: Literal["ability.after"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityAfter], Handler[_AbilityAfter]]:
        """Fires after each tool call."""
    @overload
    def hook(
        self, point: Literal["session.stop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStop], Handler[_SessionStop]]:
        """Fires when the loop is about to end."""
    @overload
    def hook(
        self, point: Literal["after:loop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AfterLoop], Handler[_AfterLoop]]:
        """Fires once, after the last iteration."""
    @overload
    def hook(
        self, point: Literal["session.end"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionEnd], Handler[_SessionEnd]]:
        """Fires once, as the last point of a run."""

class SessionRegistering(Registering):
    @overload
    def hook(
        self, point: Literal["session.start"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStart], Handler[_SessionStart]]:
        """Fires once, before the loop."""
    @overload
    def hook(
        self, point: Literal["prompt.submit"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_PromptSubmit], Handler[_PromptSubmit]]:
        """Fires before a prompt is put together."""
    @overload
    def hook(
        self, point: Literal["iteration.error"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_IterationError], Handler[_IterationError]]:
        """Fires when an iteration failed."""
    @overload
    def hook(
        self, point: Literal["task.completed"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_TaskCompleted], Handler[_TaskCompleted]]:
        """Fires once for each completion, while the agent is still at work."""
    @overload
    def hook(
        self, point: Literal["ability.before"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityBefore], Handler[_AbilityBefore]]:
        """Fires before each tool call of the agent."""
    @overload
    def hook(
        self, point: Literal["ability.after"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_AbilityAfter], Handler[_AbilityAfter]]:
        """Fires after each tool call."""
    @overload
    def hook(
        self, point: Literal["session.stop"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionStop], Handler[_SessionStop]]:
        """Fires when the loop is about to end."""
    @overload
    def hook(
        self, point: Literal["session.end"], name: str | None = None, *, order: int | None = None,
        timeout: float | None = None, strict: bool | None = None, inline: bool = False,
        isolate: Literal["process"] | None = None,
    ) -> Callable[[_SessionEnd], Handler[_SessionEnd]]:
        """Fires once, as the last point of a run."""
