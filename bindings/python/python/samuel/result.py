"""What came of a run."""

from __future__ import annotations

from ._record import Record, items
from .errors import AgentError, BudgetError, Cancelled, GateError, HookError, SamuelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .records import ExitReason, IterationFailure, RunFault, Usage

__all__ = ["RunResult"]

_set = object.__setattr__


class RunResult(Record):
    """What came of a run.

    Attributes:
        exit_reason: Why it ended, such as `completed`.
        detail: What led to it, in one line.
        iterations: How many iterations it made.
        failed_iterations: How many of them failed.
        completed: The ids of the tasks that it completed.
        usage: What it consumed.
        failures: How iterations failed, in order.
        exceptions: What handlers raised, in order, with their tracebacks; the
            first 16.
        fault: The error that ended it, where one did.
        swept: Whether all processes are gone that it started. If not, an event
            `swept` told which may be left.
        skipped: The ids of tasks that were skipped.
        left: The ids of tasks that were neither completed nor skipped at the end.
        unrecorded: The ids of tasks that an agent worked on, ending well, and that
            nobody recorded as done.
        undelivered: How many texts waited for the agent and did not reach it any more.
        settled: Whether every task was completed or skipped at the end, whatever
            the reason is.
    """

    __slots__ = ("exit_reason", "detail", "iterations", "failed_iterations", "completed", "usage",
                 "failures", "exceptions", "fault", "swept",
                 "skipped", "left", "unrecorded", "undelivered", "settled")
    __match_args__ = ("exit_reason", "detail", "iterations", "failed_iterations", "completed", "usage",
                 "failures", "exceptions", "fault", "swept",
                 "skipped", "left", "unrecorded", "undelivered", "settled")
    exit_reason: ExitReason
    detail: str | None
    iterations: int
    failed_iterations: int
    completed: tuple[str, ...]
    usage: Usage
    failures: tuple[IterationFailure, ...]
    exceptions: tuple[BaseException, ...]
    fault: RunFault | None
    swept: bool
    skipped: tuple[str, ...]
    left: tuple[str, ...]
    unrecorded: tuple[str, ...]
    undelivered: int
    settled: bool

    def __init__(
        self,
        exit_reason: ExitReason,
        detail: str | None,
        iterations: int,
        failed_iterations: int,
        completed: tuple[str, ...],
        usage: Usage,
        failures: tuple[IterationFailure, ...] = (),
        exceptions: tuple[BaseException, ...] = (),
        fault: RunFault | None = None,
        swept: bool = True,
        skipped: tuple[str, ...] = (),
        left: tuple[str, ...] = (),
        unrecorded: tuple[str, ...] = (),
        undelivered: int = 0,
        settled: bool = False,
    ) -> None:
        _set(self, "exit_reason", exit_reason)
        _set(self, "detail", detail)
        _set(self, "iterations", iterations)
        _set(self, "failed_iterations", failed_iterations)
        _set(self, "completed", items(completed))
        _set(self, "usage", usage)
        _set(self, "failures", items(failures))
        _set(self, "exceptions", items(exceptions))
        _set(self, "fault", fault)
        _set(self, "swept", swept)
        _set(self, "skipped", items(skipped))
        _set(self, "left", items(left))
        _set(self, "unrecorded", items(unrecorded))
        _set(self, "undelivered", undelivered)
        _set(self, "settled", settled)

    @property
    def ok(self) -> bool:
        """Whether the plan is done."""
        return self.exit_reason == "completed"

    @property
    def cost_usd(self) -> float | None:
        """What the run cost in US dollars; None where the agent does not say."""
        return self.usage.cost_usd

    def check(self) -> RunResult:
        """Returns the result of a run that did all its work.

        Raises:
            BudgetError: Money, tokens or time were used up.
            GateError: A handler said stop.
            HookError: A handler broke where that ends the loop; its exception
                is the cause.
            Cancelled: Somebody ended the run.
            SamuelError: The work is not done for another reason.
        """
        if self.ok:
            return self
        kind = _BY_REASON.get(self.exit_reason, SamuelError)
        detail = f": {self.detail}" if self.detail else ""
        codes = {"blocked": "E_RUN_BLOCKED", "cancelled": "E_RUN_CANCELLED", "error": "E_RUN_FAILED"}
        place = self.fault.location if self.fault else None
        raised = self.exceptions[-1] if self.exceptions else None
        raise kind(
            f"the run ended before the plan was done: {self.exit_reason}{detail}",
            code=self.fault.code if self.fault else codes.get(self.exit_reason, "E_RUN_STOPPED"),
            help="Read .samuel/run/progress.md, then run the loop again.",
            retryable=True,
            place=(place.file, place.line, place.column) if place else None,
        ) from raised


_BY_REASON: dict[str, type[SamuelError]] = {
    "budget": BudgetError,
    "wall-clock": BudgetError,
    "gate-stop": GateError,
    "stop-blocked": GateError,
    "strict-hook": HookError,
    "consecutive-failures": AgentError,
    "cancelled": Cancelled,
}
