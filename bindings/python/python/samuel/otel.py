"""Spans of OpenTelemetry for runs, with the extra `otel` of the package.

    >>> from samuel.otel import instrument
    >>> instrument(loop)
    >>> await loop.arun()

A run is a span, `samuel.run`, below the one that is current where it starts. Below it are its iterations,
below those the calls of the agent and of handlers. What failed has the status `ERROR`, with the words of the
failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from opentelemetry import context, trace

from . import records

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from .loop import Loop

__all__ = ["instrument"]

_NANOSECONDS = 1_000_000_000


def instrument(loop: Loop, tracer_provider: TracerProvider | None = None) -> None:
    """Has the runs of a loop that start from now on recorded as spans.

    Args:
        loop: The loop.
        tracer_provider: What makes the tracer; by default the program's.
    """
    tracer = trace.get_tracer("samuel", tracer_provider=tracer_provider)
    loop._watchers.append(lambda: _Spans(tracer, context.get_current()).tell)


class _Spans:
    """The spans of one run, by its events."""

    def __init__(self, tracer: trace.Tracer, around: context.Context) -> None:
        self._tracer = tracer
        self._around = around
        self._run: Span | None = None
        self._iteration: Span | None = None
        self._agent: Span | None = None

    def tell(self, event: records.Event) -> None:
        """Takes an event, in order."""
        at = _nanoseconds(event.at)
        match event:
            case records.RunStarted(agent=agent, model=model):
                told: dict[str, Any] = {"samuel.run_id": event.run_id, "samuel.agent": agent, "samuel.model": model}
                self._run = self._begin("samuel.run", None, at, told)
            case records.IterationStarted(iteration=number, mode=mode, task=task):
                told = {"samuel.iteration": number, "samuel.mode": mode, "samuel.task": getattr(task, "id", task)}
                self._iteration = self._begin("samuel.iteration", self._run, at, told)
            case records.AgentStarted(agent=agent, model=model):
                told = {"samuel.agent": agent, "samuel.model": model}
                self._agent = self._begin("samuel.agent", self._iteration or self._run, at, told)
            case records.AgentFinished(usage=usage, exit_code=code, failure=failure):
                said = failure.message if failure else None
                _end(self._agent, at, said, {"samuel.exit_code": code, **_consumed(usage)})
                self._agent = None
            case records.HookFired(point=point, outcome=outcome):
                self._handlers(point, outcome, at)
            case records.IterationFinished(outcome=outcome, completed=completed, failure=failure):
                ended: dict[str, Any] = {"samuel.outcome": outcome, "samuel.completed": completed}
                _end(self._iteration, at, failure.message if failure else None, ended)
                self._iteration = None
            case records.RunFinished(exit_reason=reason, detail=detail, completed=completed, usage=usage):
                said = None if reason == "completed" else f"{reason}: {detail}" if detail else reason
                # Where the run was stopped, these are open still.
                _end(self._agent, at, said)
                _end(self._iteration, at, said)
                _end(self._run, at, said, {"samuel.exit_reason": reason, "samuel.completed": completed, **_consumed(usage)})

    def _handlers(self, point: str, outcome: records.HookOutcome, at: int) -> None:
        """Handlers of a point ran one after the other, up to now."""
        parent = self._agent or self._iteration or self._run
        began = at - sum(int(timing.took * _NANOSECONDS) for timing in outcome.timings)
        failed = {broken.handler: broken.failure.message for broken in outcome.broken}
        for timing in outcome.timings:
            told = {"samuel.point": point, "samuel.handler": timing.handler, "samuel.status": timing.status}
            span = self._begin(f"samuel.hook {point}", parent, began, told)
            began += int(timing.took * _NANOSECONDS)
            _end(span, began, failed.get(timing.handler, timing.class_))

    def _begin(self, name: str, parent: Span | None, at: int, told: dict[str, Any]) -> Span:
        around = self._around if parent is None else trace.set_span_in_context(parent, self._around)
        return self._tracer.start_span(name, around, start_time=at, attributes=_known(told))


def _end(span: Span | None, at: int, failure: str | None, told: dict[str, Any] | None = None) -> None:
    if span is None:
        return
    span.set_attributes(_known(told or {}))
    if failure is not None:
        span.set_status(trace.Status(trace.StatusCode.ERROR, failure))
    span.end(at)


def _consumed(usage: records.Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    return {
        "samuel.input_tokens": usage.input_tokens,
        "samuel.output_tokens": usage.output_tokens,
        "samuel.cost_usd": usage.cost_usd,
    }


def _known(told: dict[str, Any]) -> dict[str, Any]:
    """What has a value, in the types that attributes have."""
    return {
        name: list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
        for name, value in told.items()
        if value is not None
    }


def _nanoseconds(at: str) -> int:
    moment = datetime.fromisoformat(at)
    return int(moment.timestamp()) * _NANOSECONDS + moment.microsecond * 1000
