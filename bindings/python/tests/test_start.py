"""Which tasks a run is for, and whether its agent is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import samuel

MakeLoop = Callable[..., samuel.Loop]


def test_a_loop_works_on_some_tasks_alone(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second", "Third", tasks=["3"])
    started = [event for event in loop.stream() if isinstance(event, samuel.RunStarted)]
    assert [event.tasks for event in started] == [("3",)]
    assert [task.status for task in loop.project.tasks()] == ["pending", "pending", "completed"]
    with pytest.raises(samuel.SamuelError, match="the plan has no task 33") as caught:
        samuel_loop("First", "Second", "Third", tasks=["33"]).run()
    assert caught.value.code == "E_TASK_NOT_FOUND" and caught.value.help.startswith("Did you mean 3?")
    with pytest.raises(TypeError, match="not one text"):
        samuel_loop("First", tasks="1")


def test_no_iterations_is_no_limit(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop(*(f"Task {number}" for number in range(22)), max_iterations=0)
    seen = []
    loop.hook("before:loop", "look")(lambda call: seen.append(call.input.max_iterations))
    assert loop.run().iterations == 22
    assert seen == [None]


def test_an_agent_that_is_missing_is_told_before_trust_is_asked_for(samuel_loop: MakeLoop) -> None:
    asked: list[Any] = []
    trust = lambda executables: asked.append(executables) or True  # noqa: E731
    with pytest.raises(samuel.AgentError, match='needs the program "claude"') as caught:
        samuel_loop("First", agent="claude", env={"PATH": "/nowhere"}, trust=trust).run()
    assert (caught.value.code, asked) == ("E_AGENT_NOT_FOUND", [])

    loop = samuel_loop("First", agent="claude", env={"PATH": "/nowhere"}, trust=trust, max_iterations=1)
    loop.hook("agent.invoke", "mine")(lambda call: samuel.AgentInvokeOutput())
    assert loop.run().iterations == 1
    assert [entry.id for entry in asked[0].entries if entry.kind == "agent"] == []


def test_a_loop_that_only_discovers_works_on_no_task(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", discover_only=True, max_iterations=1)
    started = [event for event in loop.stream() if isinstance(event, samuel.IterationStarted)]
    assert [(event.mode, event.task) for event in started] == [("discovery", None)]
    assert [task.status for task in loop.project.tasks()] == ["pending"]
