"""What happened in runs, read from their records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import samuel

MakeLoop = Callable[..., samuel.Loop]


def test_a_run_is_read_back_explained_and_replayed(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    result = loop.run()
    project = loop.project
    (run,) = project.runs().runs
    assert (run.state, run.exit_reason, run.iterations) == ("ended", "completed", 2)
    assert run.completed == result.completed
    history = project.run_history()
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
    assert project.replay(run.run).equal


def test_what_is_not_recorded_is_an_error_with_its_code(samuel_loop: MakeLoop) -> None:
    project = samuel_loop("First").project
    assert project.runs().runs == ()
    with pytest.raises(samuel.SamuelError) as caught:
        project.run_history()
    assert caught.value.code == "E_RECORD_NOT_FOUND"
    with pytest.raises(ValueError, match="about is one of"):
        project.why("weather")  # type: ignore[arg-type]
