"""What happened in runs, read from their records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import samuel
from conftest import LIMIT
from samuel.testing import ScriptedAgent

MakeLoop = Callable[..., samuel.Loop]


def test_a_run_is_read_back_and_explained(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    result = loop.run()
    project = loop.project
    (run,) = project.runs().runs
    assert (run.state, run.exit_reason, run.iterations) == ("ended", "completed", 2)
    assert run.completed == result.completed
    history = project.run_history()
    assert all(iteration.lost_its_task is False for iteration in history.iterations)
    assert [iteration.task for iteration in history.iterations] == ["1", "2"]
    assert history.report is not None and history.report.exit_reason == "completed"
    events = list(project.run_log(run.run))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(events[-1], samuel.RunFinished)
    of_second = list(project.run_log(run.run, task="2", iteration=2))
    assert of_second and isinstance(of_second[0], samuel.IterationStarted)
    why = project.why("run", run.run)
    assert why.answer == "it ended as completed"
    assert why.reasons[-1].events[0].event == "run_finished"
    assert project.why("task", "1").answer.startswith("it is completed")
    assert project.activity().runs == 1
    assert project.run_page().tasks[0].completed
    assert project.run_report(format="html").startswith("<!doctype html>")
    assert "- [x] 1 First" in project.run_report()


def test_what_happened_is_told_without_samuel_toml(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    loop.run()
    root = Path(loop.project.root)
    assert samuel.Project.open_to_look(root).problem is None
    (root / "samuel.toml").write_text("evil\n")
    with pytest.raises(samuel.ConfigError):
        samuel.Project(root)
    project = samuel.Project.open_to_look(root)
    assert project.problem is not None and "key with no value" in project.problem
    (run,) = project.runs().runs
    assert project.why("run").answer == "it ended as completed"
    assert [event.seq for event in project.run_log(run.run)][0] == 1
    assert "- [x] 1 First" in project.run_report()
    with pytest.raises(samuel.ConfigError):
        samuel.Loop(project, agent=ScriptedAgent()).run()
    with pytest.raises(samuel.SamuelError):
        samuel.Project.open_to_look(root, methodology="ralf")


def test_what_is_not_recorded_is_an_error_with_its_code(samuel_loop: MakeLoop) -> None:
    project = samuel_loop("First").project
    assert project.runs().runs == ()
    with pytest.raises(samuel.SamuelError) as caught:
        project.run_history()
    assert caught.value.code == "E_RECORD_NOT_FOUND"
    with pytest.raises(ValueError, match="about is one of"):
        project.why("weather")  # type: ignore[arg-type]


def held(samuel_loop: MakeLoop, tmp_path: Path) -> tuple[samuel.Loop, Path]:
    """A loop that listens, whose agent waits for a file before it completes its task."""
    (tmp_path / "sockets").mkdir(mode=0o700)
    go = tmp_path / "go"
    agent = ScriptedAgent()
    agent.call(repeat=True).run(f"touch '{tmp_path}'/up; until [ -e '{go}' ]; do sleep 0.02; done").done()
    return samuel_loop("First", agent=agent, socket_dir=tmp_path / "sockets"), go


def up(tmp_path: Path) -> None:
    deadline = time.monotonic() + LIMIT
    while not (tmp_path / "up").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_of_elsewhere_is_watched_to_its_end_and_left_alone(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    loop, go = held(samuel_loop, tmp_path)
    with loop.start() as run:
        up(tmp_path)
        live = samuel.LiveRun(loop.project)
        with live.attach() as leaves:
            assert (leaves.state.doing, leaves.state.workers[0].task) == ("working", "1")
        assert list(leaves) == []
        watched = live.attach()
        live.pause()
        live.resume()
        go.touch()
        seen = list(watched)
        assert [event.seq for event in seen] == sorted(event.seq for event in seen)
        assert {samuel.Commanded, samuel.TaskCompleted, samuel.RunFinished} <= {type(event) for event in seen}
        assert isinstance(seen[-1], samuel.RunFinished) and seen[-1].run_id == run.run_id
        # Nothing comes after the end.
        assert next(watched, None) is None
    with pytest.raises(samuel.SamuelError) as refused:
        live.attach()
    assert refused.value.code == "E_CONTROL_NO_LOOP"


def test_a_run_of_elsewhere_is_watched_without_blocking_the_event_loop(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    loop, go = held(samuel_loop, tmp_path)

    async def watch() -> list[str]:
        watched = samuel.LiveRun(loop.project).attach()

        async def release() -> None:
            go.touch()

        releasing = asyncio.ensure_future(release())
        seen = [type(event).__name__ async for event in watched]
        await releasing
        return seen

    with loop.start():
        up(tmp_path)
        assert asyncio.run(watch())[-1] == "RunFinished"


def test_the_record_of_a_run_is_followed_to_its_end(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    loop, go = held(samuel_loop, tmp_path)
    project = loop.project

    async def follow(run: str) -> list[samuel.Event]:
        seen = []
        async for event in project.arun_log(run, tail=True):
            seen.append(event)
            go.touch()
        return seen

    with loop.start() as run:
        up(tmp_path)
        followed = project.run_log(run.run_id, tail=True)
        assert isinstance(next(followed), samuel.RunStarted)
        of_task = project.run_log(run.run_id, task="1", tail=True)
        events = asyncio.run(follow(run.run_id))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert isinstance(events[-1], samuel.RunFinished)
        assert list(followed) == events[1:]
        assert list(of_task) == list(project.run_log(run.run_id, task="1"))
    # One that has ended is told, and nothing is waited for.
    assert list(project.run_log(tail=True)) == events
    with pytest.raises(samuel.SamuelError) as unknown:
        project.run_log("20200101T000000Z-00000000", tail=True)
    assert unknown.value.code == "E_RECORD_NOT_FOUND"


def test_a_record_of_which_nothing_can_be_read_is_an_error(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    loop.run()
    (run,) = loop.project.runs().runs
    record = Path(loop.project.run_dir) / "logs" / run.run / "run.jsonl"
    record.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(samuel.SamuelError) as caught:
        list(loop.project.run_log(run.run))
    assert caught.value.code == "E_RECORD_NOT_FOUND"
    later = record.read_text(encoding="utf-8").replace("nothing", '{"schema_version":9,"event":"run_started"}')
    record.write_text(later, encoding="utf-8")
    (unread,) = loop.project.why("task", "1").unread
    assert (unread.run, "version 9" in unread.problem) == (run.run, True)
    assert loop.project.activity().unread_runs == 1
