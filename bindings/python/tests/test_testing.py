"""The doubles that tests of handlers have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import samuel
from samuel.testing import ScriptedAgent, adispatch, dispatch, handler

MakeLoop = Callable[..., samuel.Loop]
MakeProject = Callable[..., samuel.Project]


def broken(call: Any) -> None:
    raise KeyError("x")


def test_what_a_handler_raises_is_raised() -> None:
    with pytest.raises(KeyError, match="x") as raised:
        dispatch("quality.check", broken)
    assert raised.traceback[-1].name == "broken"
    shown = dispatch("quality.check", broken, check=False)
    assert not shown.ok and shown.failures[0].class_ == "failed"
    assert isinstance(shown.exceptions[0], KeyError)


def test_what_breaks_without_an_exception_is_one_here() -> None:
    async def waits(call: Any) -> None:
        await asyncio.Event().wait()

    with pytest.raises(samuel.HookError, match="api:waits.*timeout"):
        dispatch("quality.check", handler(waits, timeout=0.05))
    with pytest.raises(samuel.HookError, match="QualityCheckOutput"):
        dispatch("quality.check", lambda call: 7)
    with pytest.raises(samuel.HookError, match="KeyError") as told:
        dispatch("quality.check", handler(broken, isolate="process"))
    assert any("raise KeyError" in note for note in told.value.__notes__)


def test_an_exception_is_the_end_of_what_is_repeated_and_of_its_own_handler() -> None:
    calls: list[Any] = []

    def breaks_once(call: Any) -> None:
        calls.append(call)
        if len(calls) == 1:
            raise ValueError("only now")

    got = dispatch("quality.check", breaks_once, repeat=3, check=False)
    assert not got.ok and len(calls) == 1 and [str(error) for error in got.exceptions] == ["only now"]
    assert dispatch("quality.check", breaks_once, repeat=3).ok and len(calls) == 4
    calls.clear()
    # What another handler raises afterwards is not the first one's.
    with pytest.raises(samuel.HookError, match="api:broken: KeyError"):
        dispatch("after:iteration", handler(broken, isolate="process"), breaks_once)
    assert len(calls) == 1


def test_a_no_is_not_ok_and_no_exception() -> None:
    got = dispatch("quality.check", lambda call: samuel.QualityCheckOutput(ok=False, reason="no tests"))
    assert not got.ok and got.check() is got and got.output.reason == "no tests"
    assert dispatch("quality.check", lambda call: None).ok


def test_a_test_says_what_the_context_holds() -> None:
    seen: list[Any] = []

    def look(call: Any) -> None:
        seen.append((call.context.iteration.number, call.context.iteration.task_id, call.iteration))
        seen.append((call.context.config.quality_checks, call.context.plugins))

    context: dict[str, Any] = {
        "iteration": {"number": 4, "task_id": "1.2"},
        "config": {"quality_checks": ["make"]},
        "plugins": {"lint": {"count": 2}},
    }
    assert dispatch("quality.check", look, context=context).ok
    assert seen == [(4, "1.2", 4), (("make",), {"lint": {"count": 2}})]
    with pytest.raises(TypeError, match="no group 'iterations'"):
        dispatch("quality.check", look, context={"iterations": {}})
    with pytest.raises(TypeError, match="IterationVars has no field 'task'"):
        dispatch("quality.check", look, context={"iteration": {"task": "1"}})


def test_a_project_is_in_the_context(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second", config="[methodology.ralph]\n")
    project.done("1")
    seen: list[Any] = []

    def look(call: Any) -> None:
        context = call.context
        seen.append((context.project.root, context.paths.run_dir, context.iteration.task_id))
        seen.append((context.state.total_tasks, context.state.completed_tasks, context.state.next_task.title))

    assert dispatch("quality.check", look, project=project, context={"iteration": {"number": 2}}).ok
    assert seen == [(project.root, project.run_dir, "2"), (2, 1, "Second")]


def test_a_dispatch_can_be_awaited_on_the_loop_of_the_test() -> None:
    async def main() -> None:
        here = asyncio.get_running_loop()

        async def look(call: Any) -> None:
            assert asyncio.get_running_loop() is here

        assert (await adispatch("quality.check", look)).ok
        with pytest.raises(KeyError):
            await adispatch("quality.check", broken)

    asyncio.run(main())


def test_an_agent_that_is_called_more_often_than_scripted_fails(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call().say("I look around")
    result = samuel_loop("First", agent=agent, max_consecutive_failures=2, max_iterations=5).run()
    assert result.exit_reason == "consecutive-failures"
    assert "nothing is scripted" in result.failures[-1].message
    # So does one for which nothing was ever scripted.
    result = samuel_loop("First", agent=ScriptedAgent(), max_iterations=1).run()
    assert "nothing is scripted" in result.failures[0].message
    agent = ScriptedAgent()
    agent.call().say("I look around")
    agent.otherwise().write("made.txt", "x").done()
    assert samuel_loop("First", agent=agent).run().ok


def test_a_mistyped_field_of_an_input_is_refused_and_another_way_to_isolate() -> None:
    def check(call: Any) -> None: ...

    with pytest.raises(TypeError, match="QualityCheckInput has no field 'command'; there are commands, changed_files"):
        dispatch("quality.check", check, input={"command": ["make"]})
    with pytest.raises(samuel.ConfigError, match='isolate is None or "process", not \'thread\''):
        handler(check, isolate="thread")
    with pytest.raises(samuel.ConfigError, match='isolate="process" runs it in a process of its own: leave inline out'):
        handler(check, inline=True, isolate="process")


@pytest.mark.parametrize("number", [-1, 0, 2**32])
def test_a_number_of_calls_that_is_none_is_refused_with_its_range(number: int) -> None:
    with pytest.raises(ValueError, match=f"^repeat is a whole number from 1 to 4294967295, not {number}$"):
        dispatch("quality.check", broken, repeat=number)
