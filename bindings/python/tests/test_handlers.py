"""Handlers: what they are given, what they may answer, and how they break."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel import testing
from samuel.testing import handler

MakeLoop = Callable[..., samuel.Loop]

# What breaks is looked at here, not raised.
dispatch = partial(testing.dispatch, check=False)


def isolated_check(call: Any) -> samuel.QualityCheckOutput:
    """A handler that a process of its own finds."""
    print("goes to standard error")
    call.contribute("seen", list(call.input.commands))
    return samuel.QualityCheckOutput(
        ok=False, reason=call.header.handler_id, failures=[samuel.CheckFailure("a", "b", 3)]
    )


async def isolated_async(call: Any) -> None:
    await asyncio.sleep(0)


def isolated_spin(call: Any) -> None:
    import ctypes

    # Holds the interpreter's lock: no other thread could end it.
    ctypes.PyDLL(None).sleep(600)


def isolated_raise(call: Any) -> None:
    raise KeyError("x")


@pytest.mark.parametrize("options", [{}, {"inline": True}, {"isolate": "process"}], ids=str)
def test_a_handler_answers_wherever_it_runs(options: dict[str, Any]) -> None:
    got = dispatch("quality.check", handler(isolated_check, **options), input={"commands": ["make"]})
    assert got.outcome.broken == ()
    assert got.output == samuel.QualityCheckOutput(
        ok=False, reason="api:isolated_check", failures=[samuel.CheckFailure("a", "b", 3)]
    )
    assert got.plugins == {"api": {"seen": ["make"]}}


def isolated_raise_half(call: Any) -> None:
    raise ValueError("half \ud800 of it")


@pytest.mark.parametrize("options", [{}, {"inline": True}, {"isolate": "process"}], ids=str)
def test_an_exception_with_half_of_a_surrogate_pair_is_told(options: dict[str, Any]) -> None:
    got = dispatch("context.extra", handler(isolated_raise_half, **options))
    failure = got.outcome.broken[0].failure
    assert (failure.class_, failure.message) == ("failed", "ValueError: half \\ud800 of it")
    assert failure.details


def isolated_nan(call: Any) -> None:
    port, nan, wrong = call.port, float("nan"), 5
    for report, value in [
        (port.before_ability, samuel.ToolCall("1", "Bash", {"n": nan})),
        (port.before_ability, samuel.ToolCall("1", "Bash", {"n": [float("inf")]})),
        (port.before_ability, samuel.ToolCall(wrong, "Bash", {})),  # type: ignore[arg-type]
        (port.before_ability, "text"),
        (port.after_ability, samuel.ToolResult("1", "Bash", "fine")),  # type: ignore[arg-type]
        (port.emit, samuel.AgentUsage(cost_usd=nan)),
        (port.emit, "text"),
    ]:
        with pytest.raises(TypeError):
            report(value)


@pytest.mark.parametrize("options", [{}, {"isolate": "process"}], ids=str)
def test_what_json_lacks_and_what_is_no_report_is_refused_before_anybody_is_asked(
    options: dict[str, Any],
) -> None:
    got = dispatch("agent.invoke", handler(isolated_nan, timeout=20, **options))
    assert got.outcome.broken == ()


def isolated_gate(call: Any) -> samuel.AbilityBeforeOutput:
    return samuel.AbilityBeforeOutput(updated_input={"n": float("nan")})


@pytest.mark.parametrize("options", [{}, {"inline": True}, {"isolate": "process"}], ids=str)
def test_a_gate_cannot_change_arguments_into_what_json_lacks(options: dict[str, Any]) -> None:
    got = dispatch("ability.before", handler(isolated_gate, **options))
    assert got.outcome.broken[0].failure.class_ == "bad_output"


@pytest.mark.parametrize("options", [{}, {"inline": True}, {"isolate": "process"}], ids=str)
def test_an_exception_is_a_failure_with_its_traceback(options: dict[str, Any]) -> None:
    got = dispatch("context.extra", handler(isolated_raise, **options))
    failure = got.outcome.broken[0].failure
    assert (failure.class_, failure.message) == ("failed", "KeyError: 'x'")
    assert any('raise KeyError("x")' in line for line in failure.details)


def test_an_isolated_handler_is_ended_whatever_it_does() -> None:
    got = dispatch("context.extra", handler(isolated_spin, isolate="process", timeout=3), isolated_async)
    assert [each.class_ or each.status for each in got.outcome.timings] == ["timeout", "ok"]
    assert got.seconds < 30 and not got.outcome.broken[0].abandoned


@pytest.mark.parametrize("wrong", [3, "text", samuel.ContextExtraOutput(), {"failures": 3}, {"ok": "yes"}], ids=repr)
def test_a_wrong_answer_is_a_failure(wrong: Any) -> None:
    got = dispatch("quality.check", handler(lambda call: wrong, "wrong"))
    failure = got.outcome.broken[0].failure
    assert failure.class_ == "bad_output" and "QualityCheckOutput" in failure.message


def test_a_handler_reads_the_context_and_sees_earlier_answers(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", quality_checks=["true"])
    seen: list[Any] = []

    @loop.hook("context.extra", "one", order=10)
    def one(call: Any) -> samuel.ContextExtraOutput:
        call.contribute("venv", {"path": ".venv", "versions": [3, 11]})
        return samuel.ContextExtraOutput(extras=[samuel.Extra("Notes", "read me")])

    @loop.hook("context.extra", "two", order=20)
    async def two(call: Any) -> None:
        context = call.context
        seen.append((call.previous.extras[0].name, context.plugins["api"]["venv"]["versions"]))
        seen.append((context.iteration.number, context.iteration.task_id, context.state.next_task.title))
        seen.append((context.config.quality_checks, context.hooks.registered["context.extra"]))
        seen.append((context.samuel.version, call.header.deadline_ms, call.point, call.cancelled))

    assert loop.run().ok
    assert seen == [
        ("Notes", [3, 11]),
        (1, "1", "First"),
        (("true",), ["api:one", "api:two"]),
        (samuel.__version__, 300_000, "context.extra", False),
    ]


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        (float("nan"), "order: expected a whole number, found a number with a fraction"),
        (1.5, "order: expected a whole number, found a number with a fraction"),
        ("10", "order: expected a whole number, found text"),
        (True, "order: expected a whole number, found true or false"),
        (3_000_000_000, "order: 3000000000 is out of range, expected a whole number of at most 2147483647"),
        (-3_000_000_000, "order: -3000000000 is out of range, expected a whole number of at least -2147483648"),
    ],
)
def test_an_order_that_is_none_is_refused_as_in_samuel_toml(
    samuel_loop: MakeLoop, order: Any, problem: str
) -> None:
    loop = samuel_loop("First")
    with pytest.raises(samuel.ConfigError) as refused:
        loop.hook("context.extra", order=order)(lambda call: None)
    assert str(refused.value).startswith(problem)


def test_strictness_and_timeout_are_what_a_handler_asks_for(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", max_consecutive_failures=1)

    @loop.hook("context.extra", strict=True)
    def broken(call: Any) -> None:
        raise ValueError("no")

    result = loop.run()
    assert result.exit_reason == "consecutive-failures"
    assert [str(error) for error in result.exceptions] == ["no"]
    with pytest.raises(samuel.AgentError) as caught:
        result.check()
    assert isinstance(caught.value.__cause__, ValueError) and caught.value.__cause__.__traceback__ is not None
    lenient = dispatch("quality.check", handler(broken, strict=False))
    assert lenient.outcome.abort is None and lenient.outcome.broken


def test_a_plugin_brings_handlers_in_its_own_namespace(samuel_loop: MakeLoop) -> None:
    plugin = samuel.Plugin("samuel-lint")

    @plugin.hook("quality.check")
    def check(call: Any) -> samuel.QualityCheckOutput:
        call.contribute("count", 2)
        return samuel.QualityCheckOutput()

    loop = samuel_loop("First", plugins=[plugin])
    fired = [event for event in loop.stream() if isinstance(event, samuel.HookFired)]
    timings = [timing.handler for event in fired for timing in event.outcome.timings]
    assert "samuel-lint:check" in timings


def test_mistakes_are_found_when_a_handler_is_registered(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    with pytest.raises(samuel.HookError) as caught:
        loop.hook("quality.chek")  # type: ignore[call-overload]
    assert "quality.check" in caught.value.help
    with pytest.raises(TypeError):
        loop.hook("quality.check")(3)  # type: ignore[type-var]
    with pytest.raises(samuel.ConfigError):
        loop.hook("quality.check", timeout=0)(isolated_check)
    with pytest.raises(samuel.ConfigError, match="inline runs a handler on the engine's own thread, and isolate="):
        loop.hook("quality.check", inline=True, isolate="process")(isolated_check)

    async def waits(call: Any) -> None: ...

    with pytest.raises(samuel.ConfigError, match="an async function runs on an event loop: leave inline out"):
        loop.hook("quality.check", inline=True)(waits)
    assert not loop.handlers


def test_a_handler_that_misses_its_deadline_is_left_behind_and_its_worker_never_used_again() -> None:
    import threading

    # The system's ids: Python's own is an address, which the next thread may get.
    used: list[int] = []

    def sleeps(call: Any) -> None:
        used.append(threading.get_native_id())
        time.sleep(600)

    def spins(call: Any) -> None:
        used.append(threading.get_native_id())
        while True:
            pass

    def answers(call: Any) -> None:
        used.append(threading.get_native_id())

    got = dispatch(
        "context.extra", handler(sleeps, timeout=0.2), handler(spins, timeout=0.2), handler(answers)
    )
    assert [each.class_ or each.status for each in got.outcome.timings] == ["timeout", "timeout", "ok"]
    assert all(broken.abandoned for broken in got.outcome.broken)
    assert len(set(used)) == 3


def test_an_event_loop_that_a_handler_blocks_is_replaced() -> None:
    async def blocks(call: Any) -> None:
        time.sleep(20)

    async def waits(call: Any) -> None:
        await asyncio.sleep(600)

    async def answers(call: Any) -> None:
        await asyncio.sleep(0)

    got = dispatch(
        "context.extra", handler(waits, timeout=0.2), handler(blocks, timeout=0.2), handler(answers)
    )
    assert [each.class_ or each.status for each in got.outcome.timings] == ["timeout", "timeout", "ok"]


def isolated_agent(call: Any) -> samuel.AgentInvokeOutput:
    port = call.port
    port.emit(samuel.AgentText("I begin"))
    port.emit(samuel.AgentUsage(input_tokens=7))
    call.warn("mind the gap")
    decision = port.before_ability(samuel.ToolCall("1", "Bash", {"command": "ls"}))
    if isinstance(decision, samuel.ToolBlocked):
        return samuel.AgentInvokeOutput(exit_code=3, stdout=decision.reason)
    told = port.after_ability(samuel.ToolResult("1", "Bash", "success", takes_text=True))
    for text in told:
        port.emit(samuel.AgentText(text))
    return samuel.AgentInvokeOutput(stdout=str(decision.input))


async def async_agent(call: Any) -> samuel.AgentInvokeOutput:
    port = call.port
    port.emit(samuel.AgentText("I begin"))
    port.emit(samuel.AgentUsage(input_tokens=7))
    call.warn("mind the gap")
    with pytest.raises(RuntimeError, match="awaits"):
        port.before_ability(samuel.ToolCall("1", "Bash", {}))
    decision = await port.abefore_ability(samuel.ToolCall("1", "Bash", {"command": "ls"}))
    if isinstance(decision, samuel.ToolBlocked):
        return samuel.AgentInvokeOutput(exit_code=3, stdout=decision.reason)
    told = await port.aafter_ability(samuel.ToolResult("1", "Bash", "success", takes_text=True))
    for text in told:
        port.emit(samuel.AgentText(text))
    return samuel.AgentInvokeOutput(stdout=str(decision.input))


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("place", ["thread", "async", "process"])
def test_a_handler_in_the_agents_place_reports_and_asks(
    place: str, blocks: bool, samuel_loop: MakeLoop
) -> None:
    loop = samuel_loop("First", max_iterations=1)
    options: dict[str, Any] = {"isolate": "process"} if place == "process" else {}
    loop.hook("agent.invoke", "agent", **options)(async_agent if place == "async" else isolated_agent)
    asked, ended = [], []

    @loop.hook("ability.before", "gate")
    def gate(call: Any) -> samuel.AbilityBeforeOutput:
        asked.append((call.input.ability_id, call.input.input, call.input.enforced))
        return samuel.AbilityBeforeOutput(block=blocks, reason="not today" if blocks else None)

    @loop.hook("ability.after", "after")
    def after(call: Any) -> samuel.AbilityAfterOutput:
        ended.append((call.input.status, call.input.input_summary, call.input.changed_files))
        return samuel.AbilityAfterOutput(text=[samuel.TextItem("look at it")])

    events = list(loop.stream())
    reports = [event.report for event in events if isinstance(event, samuel.AgentReported)]
    told = [report.text for report in reports if isinstance(report, samuel.AgentText) and "look at it" in report.text]
    assert ["hook api:after at ability.after]" in text for text in told] == ([] if blocks else [True])
    assert samuel.AgentText("I begin") in reports and samuel.AgentUsage(input_tokens=7) in reports
    assert asked == [("Bash", {"command": "ls"}, True)]
    assert ended == ([] if blocks else [("success", '{"command":"ls"}', None)])
    fired = [event for event in events if isinstance(event, samuel.HookFired) and event.point == "agent.invoke"]
    warnings = [(each.handler, each.message) for each in fired[0].outcome.warnings]
    assert warnings == [("api:agent", "mind the gap")]
    failures = [event.failure for event in events if isinstance(event, samuel.IterationFinished) and event.failure]
    said = [failure.message for failure in failures if failure.class_ == "agent-exit"]
    assert said == (["scripted ended with exit code 3: not today"] if blocks else [])


def test_what_handlers_report_is_in_the_event_with_who_tells_the_user(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", max_iterations=1)

    @loop.hook("session.start", "greeter")
    def greeter(call: Any) -> samuel.SessionStartOutput:
        results = samuel.HookResults(messages_to_user=["hello"], logs=["greeted"], new_intent={"topic": "x"})
        return samuel.SessionStartOutput(results=results)

    events = list(loop.stream())
    fired = next(e for e in events if isinstance(e, samuel.HookFired) and e.point == "session.start")
    results = fired.outcome.results
    assert results is not None
    assert (tuple(results.logs), results.new_intent) == (("greeted",), {"topic": "x"})
    said = [(said.handler, said.speaker, said.item.content) for said in fired.outcome.said]
    assert said == [("api:greeter", "to_user", "hello")]


def test_the_agent_that_the_documentation_shows_works(samuel_loop: MakeLoop) -> None:
    page = Path(__file__).parents[3] / "docs/python.md"
    if not page.exists():
        pytest.skip("the documentation is not here")
    shown = page.read_text(encoding="utf-8").split("```python\ndef agent(")[1].split("```")[0]
    names: dict[str, Any] = {"samuel": samuel}
    exec("def agent(" + shown, names)
    loop = samuel_loop("First", max_iterations=1)
    loop.hook("agent.invoke", "agent")(names["agent"])
    reports = [event.report for event in loop.stream() if isinstance(event, samuel.AgentReported)]
    texts = [report.text for report in reports if isinstance(report, samuel.AgentText)]
    assert texts == ["I begin", "I call it with {'command': 'ls'}"]


def test_a_port_that_is_kept_is_closed_with_its_call(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", max_iterations=1)
    kept: list[samuel.AgentPort] = []

    @loop.hook("agent.invoke", "agent")
    def agent(call: Any) -> None:
        kept.append(call.port)

    @loop.hook("after:agent.invoke", "late")
    def late(call: Any) -> None:
        assert call.port is None
        kept[0].emit(samuel.AgentText("too late"))
        decision = kept[0].before_ability(samuel.ToolCall("1", "Bash", {}))
        assert decision == samuel.ToolBlocked("the call of the agent has ended")

    events = list(loop.stream())
    assert not [event for event in events if isinstance(event, samuel.AgentReported)]
    broken = [event.outcome.broken for event in events if isinstance(event, samuel.HookFired)]
    assert not any(broken), broken


def test_a_handler_that_is_inline_reports_and_does_not_wait() -> None:
    def agent(call: Any) -> None:
        call.port.emit(samuel.AgentText("fine"))
        with pytest.raises(TypeError):
            call.port.emit("text")
        call.port.before_ability(samuel.ToolCall("1", "Bash", {}))

    got = dispatch("agent.invoke", handler(agent, inline=True))
    assert "cannot wait" in got.outcome.broken[0].failure.message
