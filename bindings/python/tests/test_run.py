"""Runs: blocking, streaming, on an event loop, and how they end."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel import _exit
from samuel.testing import ScriptedAgent
from conftest import LIMIT, git

MakeLoop = Callable[..., samuel.Loop]


def test_a_run_completes_its_tasks(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    result = loop.run()
    assert (result.exit_reason, result.iterations, result.completed) == ("completed", 2, ("1", "2"))
    assert result.ok and result.check() is result
    assert [task.status for task in loop.project.tasks()] == ["completed", "completed"]


def test_a_run_tells_events_that_can_be_matched(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen = []
    for event in loop.stream():
        match event:
            case samuel.RunStarted(agent=agent):
                seen.append(f"started {agent}")
            case samuel.AgentReported(report=samuel.AgentText(text)):
                seen.append(text)
            case samuel.TaskCompleted(task, title):
                seen.append(f"{task} {title}")
            case samuel.RunFinished(exit_reason=reason):
                seen.append(reason)
    assert seen == ["started scripted", "working", "1 First", "completed"]
    assert event.seq > 0 and event.run_id and event.at.endswith("Z")


def test_a_run_on_an_event_loop_does_not_block_it(samuel_loop: MakeLoop) -> None:
    async def main() -> list[str]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        loop = samuel_loop("First")

        @loop.hook("quality.check")
        async def check(call: Any) -> None:
            await asyncio.sleep(0.05)

        result = await loop.arun()
        names = [type(event).__name__ async for event in samuel_loop("Second").astream()]
        ticking.cancel()
        assert ticks > 5 and result.ok
        return names

    names = asyncio.run(main())
    assert names[0] == "RunStarted" and names[-1] == "RunFinished"


def test_a_cancelled_task_stops_its_run(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call().run("sleep 600")
    loop = samuel_loop("First", agent=agent)

    async def main() -> None:
        task = asyncio.create_task(loop.arun())
        while not loop.project.status().running:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), LIMIT))
    status = loop.project.status()
    assert not status.running and status.tasks.pending == 1


def test_a_run_is_paused_resumed_steered_and_cancelled(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second", "Third")
    prompts = []

    @loop.hook("before:agent.invoke", order=1000)
    def look(call: Any) -> None:
        prompts.append(call.input.prompt)

    paused = threading.Event()
    with loop.start() as run:
        run.pause()
        for event in run.events():
            if isinstance(event, samuel.Paused):
                paused.set()
                run.steer("mind the gap")
                run.resume()
            if isinstance(event, samuel.IterationFinished) and event.iteration == 2:
                run.cancel()
        result = run.wait(LIMIT)
    assert paused.is_set() and any("mind the gap" in prompt for prompt in prompts)
    assert result.exit_reason in ("cancelled", "completed")


def test_leaving_the_block_by_an_exception_stops_the_run(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call().run("sleep 600")
    loop = samuel_loop("First", agent=agent)
    with pytest.raises(ZeroDivisionError), loop.start() as run:
        with pytest.raises(TimeoutError):
            run.wait(0.05)
        raise ZeroDivisionError
    assert run.ended and not loop.project.status().running


def test_a_wait_ends_in_time_also_where_the_agent_never_stops_talking(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    call = agent.call()
    for _ in range(2_000):
        call.say("and another thing").sleep(0.01)
    with pytest.raises(TimeoutError), samuel_loop("First", agent=agent).start() as run:
        reader = threading.Thread(target=lambda: list(run.events()))
        reader.start()
        run.wait(0.3)
    reader.join(LIMIT)
    assert run.ended and not reader.is_alive()


def test_nothing_runs_that_is_not_trusted(samuel_loop: MakeLoop) -> None:
    with pytest.raises(samuel.SamuelError) as caught:
        samuel_loop("First", trust=False).run()
    assert caught.value.code == "E_TRUST_REFUSED"
    asked: list[samuel.Executables] = []
    loop = samuel_loop("First", quality_checks=["true"], trust=lambda what: asked.append(what) or True)
    assert loop.run().ok
    assert [one.command for one in asked[0].entries if one.kind == "quality_check"] == ["true"]


def test_what_was_trusted_runs_until_something_else_would(
    samuel_loop: MakeLoop, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = tmp_path_factory.mktemp("state")
    store = samuel.TrustStore(state / "trust")
    loop = samuel_loop("First", quality_checks=["true"], trust=store)
    assert store.recorded(loop.project.root) is None
    with pytest.raises(samuel.SamuelError) as caught:
        loop.run()
    assert caught.value.code == "E_TRUST_REFUSED"
    loop.record_trust(store)
    assert loop.run().ok
    record = store.recorded(loop.project.root)
    assert record is not None and "true" in [entry.command for entry in record.entries]
    agent = samuel.testing.completes_each_task()
    other = samuel.Loop(loop.project, agent=agent, quality_checks=["true", "ls"], trust=store)
    with pytest.raises(samuel.SamuelError, match="is not what was trusted"):
        other.run()
    assert store.revoke(loop.project.root) and not store.revoke(loop.project.root)
    with pytest.raises(samuel.SamuelError, match="others can write"):
        (state / "open").mkdir()
        (state / "open").chmod(0o777)
        samuel.TrustStore(state / "open")


def test_a_second_loop_and_a_missing_agent_are_errors(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call().sleep(600)
    loop = samuel_loop("First", agent=agent)
    with loop.start() as run:
        with pytest.raises(samuel.StateError) as caught:
            loop.run()
        assert caught.value.code == "E_STATE_LOOP_RUNNING" and caught.value.retryable
        run.stop()
    with pytest.raises(samuel.AgentError) as unknown:
        samuel_loop("First", agent="cluade").run()
    assert unknown.value.code == "E_AGENT_UNKNOWN" and "claude" in unknown.value.help


def test_a_result_that_is_no_success_raises_what_fits(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call(repeat=True).usage(input_tokens=10, cost_usd=2.0).say("hm")
    result = samuel_loop("First", agent=agent, max_cost_usd=1.0).run()
    assert (result.exit_reason, result.cost_usd) == ("budget", 2.0)
    assert result.limit == "session_budget.max_cost_usd"
    with pytest.raises(samuel.BudgetError) as caught:
        result.check()
    assert caught.value.help.endswith("raise max_cost_usd.")
    loop = samuel_loop("First")
    loop.hook("iteration.gate", "stop")(lambda call: samuel.IterationGateOutput(proceed=False, reason="enough"))
    with pytest.raises(samuel.GateError, match="enough"):
        loop.run().check()


def test_an_agent_can_be_a_function(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    def mine(call: samuel.Call[samuel.AgentInvokeInput, samuel.AgentInvokeOutput]) -> samuel.AgentInvokeOutput:
        assert "First" in call.input.prompt
        loop.project.done(call.context.iteration.task_id)
        return samuel.AgentInvokeOutput(exit_code=0, stdout="done", usage=samuel.Usage(output_tokens=7))

    loop._agent = mine
    result = loop.run()
    assert (result.exit_reason, result.usage.output_tokens) == ("completed", 7)


def test_warnings_go_to_the_logger(samuel_loop: MakeLoop, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "samuel")
    loop = samuel_loop("First")

    @loop.hook("after:loop")
    def broken(call: Any) -> None:
        raise ValueError("boom")

    assert loop.run().ok
    assert "ended: completed" in caplog.text
    assert "ValueError: boom" in caplog.text


class Slow(logging.Handler):
    """Takes its time over each line."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(0.05)
        self.lines.append(record.getMessage())


@pytest.mark.parametrize("way", ["run", "arun", "with", "stopped", "exit"])
def test_who_waits_for_the_end_of_a_run_finds_all_of_it_logged(
    samuel_loop: MakeLoop, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, slow = logging.getLogger("samuel"), Slow()
    monkeypatch.setattr(logger, "level", logging.INFO)
    logger.addHandler(slow)
    loop, reason = samuel_loop("First", "Second"), "completed"
    try:
        if way == "run":
            loop.run()
        elif way == "arun":
            asyncio.run(loop.arun())
        elif way == "with":
            with loop.start():
                pass
        elif way == "stopped":
            reason = "cancelled"
            with pytest.raises(KeyError), loop.start():
                raise KeyError
        else:
            loop.start().stop()
            _exit.end_runs()
            reason = "cancelled"
    finally:
        logger.removeHandler(slow)
    assert slow.lines[-1].endswith(f"ended: {reason}")


def test_a_log_handler_that_hangs_or_asks_for_the_result_keeps_no_run_from_its_end(samuel_loop: MakeLoop) -> None:
    logger, release = logging.getLogger("samuel"), threading.Event()
    run: samuel.Run | None = None

    class Hangs(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if run is not None:
                run.wait(LIMIT)
            release.wait(LIMIT)

    hangs = Hangs()
    logger.addHandler(hangs)
    try:
        began = time.monotonic()
        with samuel_loop("First").start() as run:
            assert run.wait().ok
        assert time.monotonic() - began < LIMIT
    finally:
        release.set()
        logger.removeHandler(hangs)


def test_a_run_stops_at_a_usage_limit_where_it_is_told_to(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent.from_toml(
        "[[calls]]\nrepeat = true\n"
        "steps = [{ rate_limit = { message = 'usage limit', resets_at = '2100-01-01T00:00:00Z' } }]\n"
    )
    loop = samuel_loop("First", agent=agent, rate_limit="stop", rate_limit_wait=1)
    assert loop.run().exit_reason == "rate-limited"
    with pytest.raises(samuel.ConfigError, match=r"rate_limit: unknown rate_limit \"later\""):
        samuel_loop("First", rate_limit="later")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0], ids=str)
def test_a_budget_or_a_pause_that_is_no_amount_is_refused(samuel_loop: MakeLoop, number: float) -> None:
    with pytest.raises(samuel.ConfigError, match=r"session_budget.max_cost_usd: .* expected a number above 0"):
        samuel_loop("First", max_cost_usd=number)
    with pytest.raises(samuel.ConfigError, match="pause: "):
        samuel_loop("First", pause=number)


def test_a_sandbox_that_there_is_not_is_refused_at_its_place(samuel_loop: MakeLoop) -> None:
    with pytest.raises(samuel.ConfigError, match='unknown sandbox "hots"') as caught:
        samuel_loop("First", sandbox="hots").run()
    assert caught.value.help == 'Did you mean "host"?'
    loop = samuel_loop("First")
    config = Path(loop.project.root) / "samuel.toml"
    config.write_text('version = "2"\n[methodology.ralph]\nsandbox = "mine"\n')
    with pytest.raises(samuel.ConfigError, match='methodology.ralph.sandbox: unknown sandbox "mine"') as placed:
        samuel.Loop(loop.project.root, agent="scripted", trust=True).run()
    assert (placed.value.file, placed.value.line) == (str(config), 3)


def test_the_output_of_old_runs_is_kept_as_long_as_asked_for(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", keep_runs=1, keep_bytes=0)
    logs = Path(loop.project.root) / ".samuel/run/logs"
    for _ in range(3):
        loop.project.reset("1")
        assert loop.run().ok
    assert len(list(logs.iterdir())) == 1
    for number in (2**63, 99999999999999999999, 10**400):
        with pytest.raises(samuel.ConfigError, match="is out of range, expected a whole number of at most 4294967295"):
            samuel_loop("First", max_iterations=number)
    with pytest.raises(samuel.ConfigError, match="keep_runs: -1 is out of range, expected a whole number of at least 0"):
        samuel_loop("First", keep_runs=-1)


def test_a_check_is_text_a_table_or_a_pair_with_its_timeout(samuel_loop: MakeLoop) -> None:
    checks: list[Any] = ["true", {"command": "true", "timeout": "1m"}, {"command": "true"}, ("true", 60.5)]
    result = samuel_loop("First", quality_checks=checks, trust=True).run()
    assert (result.exit_reason, result.completed) == ("completed", ("1",))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"comand": "true"}, r"quality_checks\[0\].*missing"),
        ({"command": "true", "timeout": "soon"}, r"quality_checks\[0\]\.timeout: \"soon\" is not a duration"),
        (("true", 5, 6), r"quality_checks\[0\]: expected text"),
        (4, r"quality_checks\[0\]: expected text"),
    ],
)
def test_a_check_of_another_form_is_refused_in_words(samuel_loop: MakeLoop, check: Any, said: str) -> None:
    with pytest.raises(samuel.ConfigError, match=said):
        samuel_loop("First", quality_checks=[check])


def test_a_loop_says_what_its_next_prompt_consists_of(samuel_loop: MakeLoop) -> None:
    trusted = samuel_loop("First")
    called: list[str] = []

    def notes(call: Any) -> samuel.ContextExtraOutput:
        called.append(call.header.run_id)
        return samuel.ContextExtraOutput(extras=[samuel.Extra("Notes", "read me")])

    trusted.hook("context.extra")(notes)
    stats = trusted.prompt_stats()
    assert stats is not None and stats.method == "characters/4"
    titles = [section.title for section in stats.sections]
    assert {"", "One task: 1 First", "Task context", "Notes"} <= set(titles)
    assert sum(section.characters for section in stats.sections) == stats.characters
    assert stats.sections[titles.index("Notes")].quotations[0].source == "hook at context.extra"
    assert [task.status for task in trusted.project.tasks()] == ["pending"]

    careful = samuel.Loop(trusted.project)
    careful.hook("context.extra")(notes)
    without = careful.prompt_stats()
    assert without is not None and "Notes" not in [section.title for section in without.sections]
    assert len(called) == 1

    trusted.project.done("1")
    assert trusted.prompt_stats() is None


def test_an_agent_in_a_clone_reaches_the_branch_with_its_commits(samuel_loop: MakeLoop) -> None:
    seen = []

    def agent(call: Any) -> samuel.AgentInvokeOutput:
        workspace = Path(dict(call.input.env)["SAMUEL_WORKSPACE"])
        seen.append((workspace / "made.txt").exists())
        (workspace / "made.txt").write_text("made")
        loop.project.done("1")
        return samuel.AgentInvokeOutput(exit_code=0)

    loop = samuel_loop("First", agent=agent, workspace="clone")
    root = Path(loop.project.root)

    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Start")
    result = loop.run()
    assert (result.exit_reason, seen) == ("completed", [False])
    assert git(root, "log", "--format=%s") == "First\nStart"
    assert (root / "made.txt").read_text() == "made"


def test_a_workspace_that_there_is_not_is_refused(samuel_loop: MakeLoop) -> None:
    with pytest.raises(ValueError, match="there are in-place and clone"):
        samuel_loop("First", workspace="cloud").run()


def test_containers_take_the_engine_and_the_guest_that_a_program_names(
    samuel_loop: MakeLoop, tmp_path: Path
) -> None:
    root = samuel_loop("First").project.root
    text = f'[sandbox]\nimage = "a@sha256:{"0" * 64}"\n'
    Path(root, "samuel.toml").write_text(f'version = "2"\n{text}')
    git(Path(root), "init", "--quiet")
    git(Path(root), "commit", "--quiet", "--allow-empty", "--message", "Start")
    loop = samuel.Loop(
        root,
        agent="scripted",
        trust=True,
        sandbox="oci",
        guest="/no/such/guest",
        socket_dir=tmp_path / "s",
        env={**os.environ, "SAMUEL_RUNTIME": "crio"},
    )
    with pytest.raises(samuel.SamuelError, match='SAMUEL_RUNTIME is "crio"') as refused:
        loop.run()
    assert refused.value.code == "E_SANDBOX_UNAVAILABLE"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_guest_that_the_program_names_comes_before_that_of_the_environment(
    samuel_loop: MakeLoop, tmp_path: Path
) -> None:
    loop = samuel_loop(
        "First",
        sandbox="bwrap",
        guest="/no/such/guest",
        socket_dir=tmp_path / "s",
        env={**os.environ, "SAMUEL_GUEST": "/another/guest"},
    )
    git(Path(loop.project.root), "init", "--quiet")
    git(Path(loop.project.root), "commit", "--quiet", "--allow-empty", "--message", "Start")
    with pytest.raises(samuel.SamuelError, match="/no/such/guest"):
        loop.run()


def test_a_guest_without_a_place_for_sockets_is_refused(samuel_loop: MakeLoop) -> None:
    with pytest.raises(ValueError, match="guest takes socket_dir as well"):
        samuel_loop("First", guest="/no/such/guest").run()
