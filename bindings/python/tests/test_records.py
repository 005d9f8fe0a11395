"""Records as others take them: JSON, dataclasses, pydantic, spans."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import samuel
from samuel import records
from samuel._record import Record

MakeLoop = Callable[..., samuel.Loop]


def kinds() -> list[type[Record]]:
    found = [getattr(records, name) for name in records.__all__]
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, Record)]


def failing(loop: samuel.Loop) -> samuel.Loop:
    @loop.hook("after:iteration", "breaks")
    def breaks(call: Any) -> None:
        raise KeyError("x")

    return loop


def test_whatever_a_run_tells_is_json(samuel_loop: MakeLoop) -> None:
    loop = failing(samuel_loop("First"))
    events = list(loop.stream())
    assert json.loads(json.dumps([event.to_dict() for event in events]))[0]["run_id"] == events[0].run_id
    loop.project.reset("1")
    told = json.loads(json.dumps(loop.run().to_dict()))
    assert (told["exit_reason"], told["exceptions"]) == ("completed", ["KeyError: 'x'"])
    with pytest.raises(TypeError, match="object is no JSON"):
        samuel.ToolCall("1", "Bash", {"n": object()}).to_dict()


def test_the_json_of_a_record_of_several_kinds_says_which_one_it_is(samuel_loop: MakeLoop) -> None:
    events = [event.to_dict() for event in samuel_loop("First").stream()]
    assert (events[0]["event"], events[-1]["event"]) == ("run_started", "run_finished")
    assert all(next(iter(event)) == "event" for event in events)
    report = samuel.AgentReported(iteration=1, report=samuel.ToolCall("1", "Bash", {})).to_dict()
    assert (report["event"], report["report"]["type"]) == ("agent", "tool_call")
    tagged = [(kind, kind._tag) for kind in kinds() if kind._tag]
    assert len({tag for _, tag in tagged}) == len(tagged)
    for kind, (key, _) in tagged:
        assert key not in {field.name for field in dataclasses.fields(kind)}, "nothing is written over"


def test_equal_records_have_one_hash_whatever_is_in_them() -> None:
    def call(**given: Any) -> samuel.AgentReported:
        return samuel.AgentReported(iteration=1, report=samuel.ToolCall("1", "Bash", {**given, "env": [{"CI": "1"}]}))

    assert call(a=1, b=[2]) == call(b=[2], a=1)
    assert {call(a=1, b=[2]), call(b=[2], a=1), call(a=1, b=[3])} == {call(a=1, b=[2]), call(a=1, b=[3])}
    # What JSON has not can be in a record that a program made.
    for odd, equal in (({1, 2}, frozenset({2, 1})), ([{1}], [frozenset({1})]), (bytearray(b"x"), b"x")):
        assert call(a=odd) == call(a=equal) and hash(call(a=odd)) == hash(call(a=equal))
    with pytest.raises(TypeError, match="unhashable"):
        hash(call(a=SimpleNamespace()))


def test_records_are_dataclasses_to_those_who_ask() -> None:
    for kind in kinds():
        assert {field.name for field in dataclasses.fields(kind)} >= set(kind.__match_args__)
    check = samuel.CheckFailure("make", "no", 3)
    output = samuel.QualityCheckOutput(ok=False, failures=[check])
    assert dataclasses.asdict(output)["failures"][0]["command"] == "make"
    assert dataclasses.replace(check, exit_code=4) == samuel.CheckFailure("make", "no", 4)
    assert dataclasses.asdict(samuel.Warning("mind", seq=3))["seq"] == 3


def test_pydantic_takes_every_record() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    for kind in [*kinds(), samuel.RunResult]:
        assert pydantic.TypeAdapter(kind).json_schema()["type"] == "object"
    adapter = pydantic.TypeAdapter(samuel.QualityCheckOutput)
    output = samuel.QualityCheckOutput(ok=False, failures=[samuel.CheckFailure("make", "no", 3)])
    assert adapter.validate_python(output) is output
    assert adapter.validate_json(adapter.dump_json(output)) == output
    with pytest.raises(pydantic.ValidationError, match="failures"):
        adapter.validate_python({"failures": 3})


def test_pydantic_reads_what_it_wrote_of_an_agents_reports() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    adapter = pydantic.TypeAdapter(samuel.AgentReported)
    reports: list[samuel.AgentEvent] = [
        samuel.AgentText("I begin"),
        samuel.ToolCall("1", "Bash", {"command": "ls"}),
        samuel.ToolResult("1", "Bash", "success"),
    ]
    for report in reports:
        event = samuel.AgentReported(iteration=1, report=report)
        assert adapter.validate_json(adapter.dump_json(event)) == event
        # So does what was kept as its own JSON, which has the name of the event beside.
        assert adapter.validate_json(json.dumps(event.to_dict())) == event
    # Fields of any type that are absent.
    assert pydantic.TypeAdapter(samuel.AbilityBeforeOutput).validate_python({}).updated_input is None


def test_a_result_goes_through_pydantic_without_its_exceptions(samuel_loop: MakeLoop) -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    result = failing(samuel_loop("First")).run()
    assert result.exceptions
    adapter = pydantic.TypeAdapter(samuel.RunResult)
    assert adapter.validate_python(result) is result
    again = adapter.validate_json(adapter.dump_json(result))
    assert (again.ok, again.completed, again.exceptions) == (True, ("1",), ())


def test_a_run_is_recorded_as_spans(samuel_loop: MakeLoop) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from samuel.otel import instrument

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("service")
    loop = failing(samuel_loop("First"))
    instrument(loop, provider)

    @loop.hook("after:iteration")
    async def after(call: Any) -> None:
        with tracer.start_as_current_span("of the handler"):
            await asyncio.sleep(0)

    async def main() -> None:
        with tracer.start_as_current_span("request"):
            await loop.arun()

    asyncio.run(main())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    ids = {span.context.span_id: span.name for span in spans.values() if span.context}

    def parent(name: str) -> str | None:
        above = spans[name].parent
        return ids[above.span_id] if above else None

    assert [parent(name) for name in ("samuel.run", "samuel.iteration", "samuel.agent", "of the handler")] == [
        "request",
        "samuel.run",
        "samuel.iteration",
        "request",
    ]
    attributes = spans["samuel.run"].attributes or {}
    assert attributes["samuel.exit_reason"] == "completed" and attributes["samuel.completed"] == ("1",)
    broken = [span for span in exporter.get_finished_spans() if (span.attributes or {}).get("samuel.handler") == "api:breaks"]
    assert "KeyError" in (broken[0].status.description or "")
    assert all(span.end_time and span.start_time and span.end_time >= span.start_time for span in spans.values())
