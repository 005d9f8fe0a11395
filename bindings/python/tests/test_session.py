"""Sessions without a loop: abilities, stops, the end, and going on elsewhere."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from conftest import LIMIT

MakeProject = Callable[..., samuel.Project]


@pytest.fixture
def session(samuel_project: MakeProject) -> samuel.Session:
    return samuel.Session(samuel_project("First"), session="test", trust=True)


def no_pushes(call: Any) -> samuel.AbilityBeforeOutput | None:
    if "push" in json.dumps(call.input.input):
        return samuel.AbilityBeforeOutput(block=True, reason="pushes are the maintainers'")
    return None


def test_a_session_fires_its_points_around_a_block(session: samuel.Session) -> None:
    fired: list[tuple[str, Any]] = []
    for point in ("session.start", "prompt.submit", "session.stop", "session.end"):
        session.hook(point, "note")(lambda call: fired.append((call.point, call.input)))
    with session:
        assert (session.name, session.warnings) == ("test", [])
        session.submit_prompt("Write the docs", "chat")
        assert session.stop("done", ["a.py"]).blocked is None
    assert [point for point, _ in fired] == ["session.start", "prompt.submit", "session.stop", "session.end"]
    inputs = [given for _, given in fired]
    assert (inputs[0].session, inputs[0].source) == ("test", "startup")
    assert (inputs[1].source, inputs[1].user_raw_input) == ("chat", "Write the docs")
    assert (inputs[2].reason, inputs[2].changed_files, inputs[3].exit_reason) == ("done", ("a.py",), "completed")
    assert session.end("again") == session.end(), "it fires once"
    assert len(fired) == 4
    with pytest.raises(samuel.SamuelError, match="has ended"):
        session.submit_prompt("more")


def test_an_exception_ends_the_session_for_that_reason(samuel_project: MakeProject) -> None:
    project, reasons = samuel_project("First"), []
    for error, expected in ((ValueError, "error"), (KeyboardInterrupt, "cancelled")):
        session = samuel.Session(project)

        @session.hook("session.end")
        def end(call: Any) -> None:
            reasons.append(call.input.exit_reason)

        with pytest.raises(error), session:
            raise error
        assert reasons.pop() == expected


def test_an_ability_is_called_with_what_handlers_left_and_told_of(session: samuel.Session) -> None:
    told: list[Any] = []

    @session.hook("ability.before")
    def rewrite(call: Any) -> samuel.AbilityBeforeOutput:
        assert call.input.enforced and call.input.operation_key == "list"
        results = samuel.HookResults(messages_to_user=["with -a"])
        return samuel.AbilityBeforeOutput(updated_input={"command": "ls -a"}, results=results)

    @session.hook("ability.after")
    def after(call: Any) -> samuel.AbilityAfterOutput:
        told.append(call.input)
        return samuel.AbilityAfterOutput(text=[samuel.TextItem("tidy up")])

    with session:
        called = session.call_ability(
            "Bash", lambda given: given["command"], {"command": "ls"}, operation_key="list"
        )
    assert (called.status, called.value, called.result()) == ("success", "ls -a", "ls -a")
    assert called.before.results.messages_to_user == ("with -a",)
    assert called.after is not None
    assert [(each.handler, each.item.content) for each in called.after.text] == [("api:after", "tidy up")]
    (given,) = told
    assert (given.ability_id, given.call_id, given.operation_key) == ("Bash", called.call_id, "list")
    assert (given.status, given.input_summary, given.output_summary) == ("success", '{"command":"ls -a"}', "ls -a")


def test_a_blocked_call_is_not_made_and_says_why(session: samuel.Session) -> None:
    session.hook("ability.before")(no_pushes)
    with session:
        called = session.call_ability("Bash", pytest.fail, {"command": "git push"})
        assert (called.status, called.reason, called.after) == ("blocked", "pushes are the maintainers'", None)
        with pytest.raises(samuel.HookError, match="maintainers"):
            called.result()


def test_how_an_ability_fails_is_told_and_its_exception_is_kept(session: samuel.Session) -> None:
    told: list[Any] = []
    session.hook("ability.after", "note")(lambda call: told.append(call.input))

    def fails(given: Any) -> None:
        raise OSError("no disk")

    def interrupted(given: Any) -> None:
        raise KeyboardInterrupt

    with session:
        called = session.call_ability("Write", fails)
        assert called.status == "error"
        with pytest.raises(OSError, match="no disk"):
            called.result()
        with pytest.raises(KeyboardInterrupt):
            session.call_ability("Write", interrupted)
    assert [each.status for each in told] == ["error", "cancelled"]
    assert told[0].output_summary == "OSError: no disk"


def test_what_an_ability_came_to_is_kept_where_the_session_ends_first(samuel_project: MakeProject) -> None:
    def ends(session: samuel.Session, value: object) -> object:
        session.end("completed")
        if isinstance(value, Exception):
            raise value
        return value

    for value, error in ((7, None), (None, ValueError("no"))):
        session = samuel.Session(samuel_project(), trust=True).open()
        outcome = session.call_ability("Bash", lambda _, s=session: ends(s, error or value))
        assert (outcome.value, outcome.error, outcome.after) == (value, error, None)

    async def awaited() -> samuel.AbilityOutcome[int]:
        session = await samuel.Session(samuel_project(), trust=True).aopen()

        async def ability(_: object) -> int:
            await session.aend()
            return 7

        return await session.acall_ability("Bash", ability)

    assert asyncio.run(awaited()).value == 7


def test_calls_within_a_call_name_it_and_files_are_told(session: samuel.Session) -> None:
    told: list[Any] = []
    session.hook("ability.after", "note")(lambda call: told.append(call.input))

    def task(given: Any) -> str:
        written = samuel.AbilityOutput(7, summary="written", changed_files=["a.py"])
        return str(session.call_ability("Write", lambda given: written).value)

    with session:
        outer = session.call_ability("Task", task)
        assert outer.value == "7"
    assert [each.tool_call_path for each in told] == [(outer.call_id,), ()]
    assert (told[0].changed_files, told[0].output_summary) == (("a.py",), "written")


def test_a_session_can_be_awaited_and_calls_of_it_run_beside_each_other(session: samuel.Session) -> None:
    @session.hook("ability.before")
    async def before(call: Any) -> None:
        await asyncio.sleep(0)

    async def main() -> list[int | None]:
        met = asyncio.Barrier(2)

        async def ability(given: Any) -> int:
            await met.wait()
            return int(given) * 2

        async with session:
            await session.asubmit_prompt("go")
            calls = [session.acall_ability("Double", ability, number) for number in (1, 2)]
            done = await asyncio.gather(*calls)
            assert (await session.astop()).blocked is None
            permission = await session.abefore("Bash", {})
            await session.aafter(permission.call_id, "error", "no shell")
            await session.atask_completed("1", "First")
            await session.aiteration_error("the tests fail")
        return [each.value for each in done]

    assert asyncio.run(asyncio.wait_for(main(), LIMIT)) == [2, 4]


def test_a_cancelled_task_tells_of_its_call_and_of_the_end(session: samuel.Session) -> None:
    told: list[Any] = []
    session.hook("ability.after", "note")(lambda call: told.append(call.input.status))
    session.hook("session.end", "note")(lambda call: told.append(call.input.exit_reason))

    async def main() -> None:
        began = asyncio.Event()

        async def hangs(given: Any) -> None:
            began.set()
            await asyncio.Event().wait()

        async def work() -> None:
            async with session:
                await session.acall_ability("Wait", hangs)

        task = asyncio.create_task(work())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), LIMIT))
    assert told == ["cancelled", "cancelled"]


def test_a_session_goes_on_in_another_process(samuel_project: MakeProject) -> None:
    project, counts = samuel_project("First"), []

    def opened(**options: Any) -> samuel.Session:
        session = samuel.Session(project, **options)

        @session.hook("session.stop")
        def guard(call: Any) -> samuel.SessionStopOutput:
            counts.append(call.input.stop_block_count)
            return samuel.SessionStopOutput(block=True, reason="no changelog")

        return session.open()

    first = opened(session="review")
    assert first.stop().blocked == "no changelog"
    permission = first.before("Bash", {"command": "ls"})
    kept = json.dumps(first.state())
    second = opened(state=json.loads(kept))
    assert (second.id, second.name) == (first.id, "review")
    second.after(permission.call_id)
    for _ in range(7):
        assert second.stop().blocked == "no changelog"
    ninth = second.stop()
    assert (ninth.blocked, ninth.unheard) == (None, "no changelog")
    assert counts == list(range(9))
    with pytest.raises(samuel.SamuelError, match="version 7"):
        opened(state={**json.loads(kept), "version": 7})


def test_nothing_of_a_project_runs_before_it_is_trusted(samuel_project: MakeProject) -> None:
    project = samuel_project("First")
    root = Path(project.root)
    hooks = "version: 1\nhooks:\n  session_start:\n    - command: echo started > started\n"
    (root / ".samuel/hooks.yml").write_text(hooks)
    with pytest.raises(samuel.SamuelError, match="nobody has allowed"):
        samuel.Session(project).open()
    seen: list[str] = []

    def asked(executables: Any) -> bool:
        seen.extend(str(each.command) for each in executables.entries)
        return True

    with samuel.Session(project, trust=asked):
        assert (root / "started").read_text() == "started\n"
    assert seen == ["echo started > started"]


def test_events_are_those_of_a_run_and_end_with_the_session(session: samuel.Session) -> None:
    session.hook("ability.before")(no_pushes)
    session.open()
    events, names = session.events(), []
    watching = threading.Thread(target=lambda: names.extend(type(event).__name__ for event in events))
    watching.start()
    session.call_ability("Bash", str, {"command": "git push"})
    session.end()
    watching.join(LIMIT)
    assert names == ["AgentReported", "HookFired", "AbilityBlocked", "HookFired"]


def test_a_handler_that_raises_is_a_warning_with_its_exception(session: samuel.Session) -> None:
    @session.hook("session.start")
    def breaks(call: Any) -> None:
        raise ValueError("no network")

    with session:
        assert session.started is not None
        assert [each.message for each in session.started.warnings] == ["ValueError: no network"]
        assert [type(each) for each in session.exceptions] == [ValueError]


def test_what_cannot_be_is_refused_in_words(session: samuel.Session) -> None:
    with pytest.raises(samuel.HookError, match="not open"):
        session.stop()
    with session:
        with pytest.raises(samuel.HookError, match="takes no handlers"):
            session.hook("session.end")(print)
        with pytest.raises(TypeError, match="one text"):
            session.stop("done", "a.py")
        with pytest.raises(TypeError, match="the call"):
            session.before("Bash", object())
        with pytest.raises(samuel.SamuelError, match="at most 1048576"):
            session.submit_prompt("x" * (1 << 20) + "y")
