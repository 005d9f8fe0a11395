"""Loops that are given their tasks, without a project."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel


def test_a_loop_works_on_tasks_in_a_project_that_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[Any] = []

    def agent(call: Any) -> None:
        root = Path(call.context.project.root)
        seen.append((call.context.state.next_task or call.input.task).title)
        (root / f"made-{call.context.iteration.task_id}.txt").write_text("hello")

    def no_empty_files(call: Any) -> samuel.QualityCheckOutput:
        return samuel.QualityCheckOutput(ok=all(path.stat().st_size for path in Path(loop.project.root).glob("*.txt")))

    tasks: list[Any] = ["Greet", {"title": "Say goodbye", "depends_on": ["1"], "priority": "high"}]
    loop = samuel.Loop(tasks=tasks, checks=["ls made-*.txt", ("true", 60), no_empty_files], agent=agent, pause=0)
    result = loop.run()
    assert result.check().completed == ("1", "2") and seen == ["Greet", "Say goodbye"]
    assert list(tmp_path.iterdir()) == []
    root = Path(loop.project.root)
    assert root.exists()
    del loop, no_empty_files
    gc.collect()
    assert not root.exists()


def test_an_agent_that_fails_completes_nothing() -> None:
    def raises(call: Any) -> None:
        raise ValueError("no idea")

    options: dict[str, Any] = {"pause": 0, "max_consecutive_failures": 1, "max_iterations": 1}
    result = samuel.Loop(tasks=["Greet"], agent=raises, **options).run()
    assert (result.completed, [str(error) for error in result.exceptions]) == ((), ["no idea"])
    gives_up = samuel.Loop(tasks=["Greet"], agent=lambda call: samuel.AgentInvokeOutput(exit_code=3), **options)
    assert gives_up.run().completed == ()


def test_what_is_no_answer_completes_nothing() -> None:
    def run(agent: Any) -> samuel.RunResult:
        return samuel.Loop(tasks=["Greet"], agent=agent, pause=0, max_iterations=1).run()

    async def is_async(call: Any) -> Any:
        return 0

    wrong: list[Any] = [lambda call: "done", lambda call: {}, is_async]
    for agent in wrong:
        result = run(agent)
        assert (result.exit_reason, result.completed) == ("max-iterations", ())
        assert "bad_output" in result.failures[0].message
    assert run(lambda call: {"exit_code": 0}).ok


def test_no_tasks_at_all_are_not_all_tasks(samuel_project: Callable[..., samuel.Project]) -> None:
    project = samuel_project("First")
    for given in (project, None):
        with pytest.raises(samuel.ConfigError, match="tasks is empty") as caught:
            samuel.Loop(given, tasks=[], agent=lambda call: None, trust=True)
        assert caught.value.help.startswith("Name tasks, or leave tasks out")


def test_a_check_that_fails_sends_the_task_back() -> None:
    tries: list[str] = []

    async def agent(call: Any) -> None:
        tries.append(call.context.iteration.task_id)
        Path(call.context.project.root, "tries").write_text(str(len(tries)))

    loop = samuel.Loop(tasks=["Greet"], checks=["grep -q 2 tries"], agent=agent, pause=0)
    assert asyncio.run(loop.arun()).ok
    assert tries == ["1", "1"]


def test_an_async_agents_task_is_completed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    done = samuel.Project.done

    def noted(self: samuel.Project, *args: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return done(self, *args, **options)

    monkeypatch.setattr(samuel.Project, "done", noted)

    async def agent(call: Any) -> None:
        assert threading.current_thread() is threading.main_thread()

    assert asyncio.run(samuel.Loop(tasks=["Greet"], agent=agent, pause=0).arun()).ok
    assert len(threads) == 1 and threads[0] != threading.get_ident()


def test_tasks_that_can_only_be_ids_want_their_project_named(tmp_path: Path) -> None:
    with pytest.raises(samuel.ConfigError, match="these are ids") as refused:
        samuel.Loop(tasks=["3", "1.2"])
    assert 'Loop(".", tasks=' in refused.value.help
    with pytest.raises(TypeError, match="by their ids"):
        samuel.Loop(tmp_path, tasks=[{"title": "Greet"}])
    with pytest.raises(TypeError, match="a list"):
        samuel.Loop(tasks=["Greet"], checks="make")


def test_a_mistyped_field_of_a_task_is_named_with_those_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(TypeError, match="^a task has no field 'prio'; there are title, id, description, priority, "):
        samuel.Loop(tasks=["Greet", {"title": "Say goodbye", "prio": "high"}])
    with pytest.raises(TypeError, match="^a task has a title, and {'priority': 'high'} has none$"):
        samuel.Loop(tasks=[{"priority": "high"}])
    wrong: Any = 3
    with pytest.raises(TypeError, match="^a task is a title or a mapping, not 3$"):
        samuel.Loop(tasks=["Greet", wrong])
    assert list(tmp_path.iterdir()) == [], "no project is made"
