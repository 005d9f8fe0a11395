"""What people ask of a run of elsewhere, at once and to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel.testing import ScriptedAgent

MakeLoop = Callable[..., samuel.Loop]


def gated(samuel_loop: MakeLoop, tmp_path: Path) -> samuel.Loop:
    """A loop of two tasks that listens, and of which each command waits for a person."""
    (tmp_path / "sockets").mkdir(mode=0o700)
    agent = ScriptedAgent()
    agent.call(repeat=True).run("echo $SAMUEL_TASK_ID >> made").done()
    loop = samuel_loop("First", "Second", agent=agent, socket_dir=tmp_path / "sockets", ask_timeout="1h")

    @loop.hook("ability.before")
    def gate(call: Any) -> samuel.AbilityBeforeOutput:
        return samuel.AbilityBeforeOutput(ask=call.input.ability_id == "Bash", reason="a command")

    return loop


async def each_verb(loop: samuel.Loop, awaited: bool) -> list[str]:
    """Pauses a run in each iteration and asks all there is to ask; returns the commands that it told of."""
    live = samuel.LiveRun(loop.project)

    async def ask(verb: str, *args: object) -> samuel.LiveState:
        if awaited:
            return await getattr(live, f"a{verb}")(*args)
        return await asyncio.to_thread(getattr(live, verb), *args)

    told, denied = [], False
    async with await loop.astart() as run:
        async for event in run.aevents():
            match event:
                case samuel.ApprovalAsked():
                    (waiting,) = (await ask("look")).approvals
                    assert waiting.call == event.call and waiting.reason == "a command"
                    with pytest.raises(samuel.SamuelError) as unknown:
                        await ask("deny", event.call + 1)
                    assert unknown.value.code == "E_CONTROL_NOTHING_WAITS"
                    await ask("pause")
                    if denied:
                        await ask("approve", event.call)
                    else:
                        await ask("deny", event.call, "not that one")
                    denied = True
                case samuel.Paused():
                    state = await ask("look")
                    assert state.doing == "paused"
                    if state.workers[0].iteration == 1:
                        await ask("steer", "mind the gap")
                        await ask("resume", "and go")
                    else:
                        # A run that is paused ends with that.
                        await ask("cancel")
                case samuel.Commanded():
                    told.append(event.command)
        assert (await run).exit_reason == "cancelled"
    with pytest.raises(samuel.SamuelError) as gone:
        await ask("stop")
    assert gone.value.code == "E_CONTROL_NO_LOOP"
    return told


@pytest.mark.parametrize("awaited", [False, True])
def test_a_paused_run_is_asked_all_there_is(samuel_loop: MakeLoop, tmp_path: Path, awaited: bool) -> None:
    loop = gated(samuel_loop, tmp_path)
    told = asyncio.run(each_verb(loop, awaited))
    # A text is told apart from the word that lets it go on.
    assert told == ["pause", "deny", "steer", "steer", "resume", "pause", "approve", "cancel"]
    # The first command was denied.
    assert Path(loop.project.root, "made").read_text() == "2\n"
    assert [task.status for task in loop.project.tasks()] == ["completed", "completed"]


def test_a_run_of_elsewhere_is_stopped_at_once(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    loop = gated(samuel_loop, tmp_path)

    async def stop() -> samuel.RunResult:
        async with await loop.astart() as run:
            async for event in run.aevents():
                if isinstance(event, samuel.ApprovalAsked):
                    await samuel.LiveRun(loop.project).astop()
            return await run

    assert asyncio.run(stop()).exit_reason == "cancelled"
    assert [task.status for task in loop.project.tasks()] == ["pending", "pending"]


def test_what_happened_is_read_without_blocking_as_it_is_at_once(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    assert loop.run().ok
    project = loop.project
    run = project.runs().runs[0].run

    async def reads() -> None:
        assert await project.aruns() == project.runs()
        assert await project.arun_history(run) == project.run_history(run)
        for question in [("run", run), ("task", "1"), ("check",), ("next",)]:
            assert await project.awhy(*question) == project.why(*question)
        assert await project.aactivity() == project.activity()
        assert (await project.arun_page(run)).tasks == project.run_page(run).tasks
        assert await project.arun_report(run) == project.run_report(run)
        assert [event async for event in project.arun_log(run, task="2")] == list(project.run_log(run, task="2"))

    asyncio.run(reads())


def test_a_question_is_asked_and_answered_without_blocking(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    project = loop.project

    async def asks() -> None:
        asked = await project.aask("1", "Which colour?", options=["red", "blue"])
        assert asked.status == "blocked"
        (open_question,) = (await project.astatus()).questions
        assert open_question.question == "Which colour?"
        assert (await loop.arun()).exit_reason == "blocked"
        assert (await project.aanswer("1", "blue")).status == "pending"
        assert (await loop.arun()).ok

    asyncio.run(asks())
