"""What came of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ._record import items
from .errors import AgentError, BudgetError, Cancelled, GateError, HookError, SamuelError
from .records import *
from .records import IterationFailure, RunReport

__all__ = ["RunResult"]

_set = object.__setattr__


class RunResult(RunReport):
    """What came of a run: its report, and how handlers and iterations failed.

    Attributes:
        failures: How iterations failed, in order.
        exceptions: What handlers raised, in order, with their tracebacks; the
            first 16.
    """

    __slots__ = ("failures", "exceptions")
    __match_args__ = (*RunReport.__match_args__, "failures", "exceptions")
    failures: tuple[IterationFailure, ...]
    exceptions: tuple[BaseException, ...]

    def __init__(
        self,
        *report: Any,
        failures: Iterable[IterationFailure] = (),
        exceptions: Iterable[BaseException] = (),
        **fields: Any,
    ) -> None:
        super().__init__(*report, **fields)
        _set(self, "failures", items(failures))
        _set(self, "exceptions", items(exceptions))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """To pydantic a result is its report, as `to_dict` writes it: exceptions have no JSON."""
        from pydantic_core import core_schema

        report = core_schema.no_info_after_validator_function(cls._of_report, handler.generate_schema(RunReport))
        given = core_schema.union_schema([core_schema.is_instance_schema(cls), report], mode="left_to_right")
        written = core_schema.plain_serializer_function_ser_schema(cls.to_dict)
        return core_schema.json_or_python_schema(report, given, serialization=written)

    @classmethod
    def _of_report(cls, report: RunReport) -> RunResult:
        return cls(**report._values())

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
        help = "Read .samuel/run/progress.md, then run the loop again."
        if self.limit:
            help += f" To let a run go further, raise {self.limit.rsplit('.')[-1]}."
        raised = self.exceptions[-1] if self.exceptions else None
        raise kind(
            f"the run ended before the plan was done: {self.exit_reason}{detail}",
            code=self.fault.code if self.fault else codes.get(self.exit_reason, "E_RUN_STOPPED"),
            help=help,
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
