"""Projects: the plan and its changes, beside other processes."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import samuel

MakeProject = Callable[..., samuel.Project]


def test_tasks_are_added_done_skipped_and_reset(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    assert [(task.id, task.status) for task in project.tasks()] == [("1", "pending"), ("2", "pending")]
    assert project.done("1", commit_sha="abcd").commit_sha == "abcd"
    assert project.skip("2", reason="not now").skip_reason == "not now"
    assert project.status().next == samuel.AllDone()
    assert project.reset("2").status == "pending"
    match project.status().next:
        case samuel.NextTask(task):
            assert task.id == "2"
        case other:
            raise AssertionError(other)
    added = project.enqueue("Third", id="2.1", priority="high", depends_on=["1"], acceptance=["it works"])
    assert (added.id, added.parent_id, added.priority, added.acceptance) == ("2.1", "2", "high", ("it works",))


def test_a_prd_becomes_the_plan(tmp_path: Path) -> None:
    (tmp_path / "prd.md").write_text("# Greeter\n\n## Tasks\n\n- [ ] Greet the world\n- [ ] Greet by name\n")
    project = samuel.Project(tmp_path)
    made = project.init("prd.md")
    assert made.converted is not None and made.converted.tasks == 2
    with pytest.raises(samuel.StateError) as caught:
        project.init("prd.md")
    assert caught.value.code == "E_STATE_EXISTS" and caught.value.help
    assert project.init("prd.md", force=True).backup is not None
    (tmp_path / "inner").mkdir()
    assert samuel.Project.find(tmp_path / "inner").root == str(tmp_path)


def test_a_plan_that_is_lost_comes_back(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    [kept] = project.kept_plans()
    assert (kept.number, kept.tasks, kept.current) == (1, 2, True)
    shutil.rmtree(project.run_dir)
    restored = project.restore()
    assert (restored.kept.number, restored.backup) == (1, None)
    assert [task.title for task in project.tasks()] == ["First", "Second"]
    with pytest.raises(samuel.StateError) as caught:
        project.restore(9)
    assert caught.value.code == "E_STATE_NOT_KEPT"


def test_errors_have_classes_codes_and_places(samuel_project: MakeProject, tmp_path: Path) -> None:
    project = samuel_project("First")
    with pytest.raises(samuel.StateError) as caught:
        project.done("9")
    assert caught.value.code == "E_TASK_NOT_FOUND"
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "samuel.toml").write_text("version = '2'\nagnet = 'x'\n")
    with pytest.raises(samuel.ConfigError) as config:
        samuel.Project(broken)
    assert config.value.line == 2 and config.value.file == str(broken / "samuel.toml")
    again = pickle.loads(pickle.dumps(config.value))
    assert (type(again), str(again), again.code, again.line) == (samuel.ConfigError, str(config.value), "E_CONFIG_INVALID", 2)
    assert all(issubclass(kind, samuel.SamuelError) for kind in (samuel.AgentError, samuel.GateError, samuel.Cancelled))


def test_changes_of_many_processes_are_all_kept(samuel_project: MakeProject) -> None:
    project = samuel_project()
    program = "import samuel, sys\nproject = samuel.Project(sys.argv[1])\nfor n in range(10): project.enqueue(f'{n}')"
    writers = [subprocess.Popen([sys.executable, "-c", program, project.root]) for _ in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert len(project.tasks()) == 40


def test_records_are_immutable_values(samuel_project: MakeProject) -> None:
    task = samuel_project("First").tasks()[0]
    with pytest.raises(AttributeError, match="immutable"):
        task.title = "other"  # type: ignore[misc]
    assert task.replace(title="other").title == "other"
    assert copy.deepcopy(task) == task == pickle.loads(pickle.dumps(task))
    assert hash(task) == hash(copy.copy(task))
    assert task.to_dict()["id"] == "1" and "title='First'" in repr(task)
    with pytest.raises(TypeError):
        samuel.QualityCheckOutput(failures="text")  # type: ignore[arg-type]
