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


def test_a_question_is_asked_answered_and_refused_where_it_is_none(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    asked = project.ask("1", "Which one?", options=["this", "that"])
    assert asked.status == "blocked" and asked.question is not None
    assert asked.question.options == ("this", "that")
    assert [question.task for question in project.status().questions] == ["1"]
    answered = project.answer("1", "that")
    assert answered.status == "pending" and answered.question is not None
    assert answered.question.answer == "that"
    for change, code in (
        (lambda: project.answer("2", "a"), "E_QUESTION_NOT_OPEN"),
        (lambda: project.ask("1", "again?"), "E_QUESTION_REFUSED"),
        (lambda: project.ask("2", "x" * (1 << 20)), "E_QUESTION_INVALID"),
        (lambda: project.ask("2", "\x1b[2J"), "E_QUESTION_INVALID"),
    ):
        with pytest.raises(samuel.StateError) as refused:
            change()
        assert refused.value.code == code


def test_without_a_loop_nothing_is_asked_of_one(samuel_project: MakeProject) -> None:
    run = samuel.LiveRun(samuel_project("First"))
    for verb in (run.look, run.pause, run.resume, run.cancel, run.stop, run.approve):
        with pytest.raises(samuel.SamuelError) as refused:
            verb()
        assert refused.value.code == "E_CONTROL_NO_LOOP"


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
    numbered = project.enqueue("Fourth", parent_id="2")
    assert (numbered.id, numbered.parent_id) == ("3", "2")
    for change in (
        lambda: project.edit("1", priority="urgent"),  # type: ignore[arg-type]
        lambda: project.enqueue("Fifth", complexity="hard"),  # type: ignore[arg-type]
        lambda: project.enqueue("Fifth", id="5", source="dream"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="urgent|hard|dream"):
            change()


def test_learn_records_a_line_of_the_log(samuel_project: MakeProject) -> None:
    project = samuel_project("First")
    project.learn("use tabs")
    project.learn("src", kind="explored")
    assert [line.split("] ")[1] for line in project.progress()[-2:]] == ["LEARNING: use tabs", "EXPLORED: src"]
    for text, kind in ((" ", "learning"), ("x" * 2_001, "found"), ("x", "completed")):
        with pytest.raises(ValueError, match="blank|2000 characters|kind is one of"):
            project.learn(text, kind=kind)  # type: ignore[arg-type]


def test_what_is_left_of_a_run_changes_no_plan_that_replaced_its_own(
    samuel_project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = samuel_project("First")
    monkeypatch.setenv("SAMUEL_RUN_ID", "r")
    monkeypatch.setenv("SAMUEL_ITERATION", "4")
    monkeypatch.setenv("SAMUEL_PROJECT_ROOT", project.root)
    monkeypatch.setenv("SAMUEL_PLAN", "ralph@2000-01-01T00:00:00Z")
    with pytest.raises(samuel.StateError) as caught:
        samuel.Project(project.root).done("1")
    assert caught.value.code == "E_STATE_REPLACED" and project.task("1").status == "pending"
    monkeypatch.delenv("SAMUEL_PLAN")
    assert samuel.Project(project.root).done("1").iteration == 4


def test_tasks_are_listed_and_shown_with_their_history(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    project.enqueue("Part", id="1.1", complexity="simple")
    project.block("2", reason="later")
    listed = project.task_list(ready=True)
    assert [(row.id, row.depth, row.matches) for row in listed.rows] == [("1", 0, False), ("1.1", 1, True)]
    assert [task.title for task in listed.tasks] == ["First", "Part"]
    assert listed.rows[0].group == samuel.records.GroupState(parts=1, settled=0)
    flat = project.task_list(["pending", "blocked"], limit=1, flat=True)
    assert ([task.id for task in flat.tasks], flat.matching, flat.more) == (["1"], 3, 2)
    with pytest.raises(ValueError, match="unknown status"):
        project.task_list("finished")  # type: ignore[arg-type]
    history = project.task_history("2")
    assert [(change.what, change.after) for change in history.changes] == [("enqueue", None), ("block", "blocked")]
    assert history.changes[1].details == ("later",) and history.attempts == () and not history.ready
    assert project.status().tasks.percent == 0
    with pytest.raises(samuel.StateError) as caught:
        project.task_history("9")
    assert caught.value.code == "E_TASK_NOT_FOUND"
    with pytest.raises(samuel.StateError) as caught:
        project.done("1.2")
    assert caught.value.help is not None and "Did you mean 1.1 or 1?" in caught.value.help


def test_a_prd_becomes_the_plan(tmp_path: Path) -> None:
    (tmp_path / "prd.md").write_text("# Greeter\n\n## Tasks\n\n- [ ] Greet the world\n- [ ] Greet by name\n")
    project = samuel.Project(tmp_path)
    made = project.init("prd.md")
    assert made.converted is not None and made.converted.tasks == 2
    with pytest.raises(samuel.StateError) as caught:
        project.init("prd.md")
    assert caught.value.code == "E_STATE_EXISTS" and caught.value.help
    again = project.init("prd.md", force=True)
    assert (again.backup, again.kept) == (None, 1)
    assert len(project.kept_plans()) == 2
    (tmp_path / "inner").mkdir()
    assert samuel.Project.find(tmp_path / "inner").root == str(tmp_path)


def test_templates_are_exported_once_and_those_that_do_not_fit_are_named(tmp_path: Path) -> None:
    project = samuel.Project(tmp_path)
    written = project.export_templates()
    assert [Path(path).name for path in written] == ["prompt.md.tmpl", "discovery-prompt.md.tmpl"]
    assert project.stale_templates() == ()
    with pytest.raises(samuel.SamuelError, match="prompt.md.tmpl"):
        project.export_templates()
    Path(written[0]).write_text("{{ .Nothing }}\nnames prd.json; samuel run done 1\n")
    unknown, old = project.stale_templates()
    assert isinstance(unknown.why, samuel.UnknownTemplateVariable) and unknown.why.variable == ".Nothing"
    assert isinstance(old.why, samuel.OldFileInTemplate)
    assert (old.path, old.line, old.why.name) == (written[0], 2, "prd.json")
    assert project.export_templates(force=True) == written
    assert project.stale_templates() == ()


def test_a_hook_is_scaffolded_once_and_answers_unedited(tmp_path: Path) -> None:
    project = samuel.Project(tmp_path)
    made = project.scaffold_hook(
        "slow_builds", "PostAbilityCall", ability_scope=["Bash"], min_duration_ms=60_000, language="python"
    )
    assert (made.id, made.event_type, made.point) == ("repo:slow_builds", "PostAbilityCall", "ability.after")
    assert "Bash" in made.matches and "60000" in made.matches and not made.blocking
    assert made.event == {"duration_ms": 60_000}
    assert (tmp_path / made.script).stat().st_mode & 0o100
    file = (tmp_path / made.file).read_text()
    with pytest.raises(samuel.SamuelError, match="slow_builds") as caught:
        project.scaffold_hook("slow_builds", "SessionStop")
    assert caught.value.help
    with pytest.raises(samuel.SamuelError):
        project.scaffold_hook("../out", "SessionStop")
    with pytest.raises(ValueError, match="event_type is one of PromptSubmit, .*SessionStopp"):
        project.scaffold_hook("other", "SessionStopp")  # type: ignore[arg-type]
    assert (tmp_path / made.file).read_text() == file
    assert [path.name for path in (tmp_path / ".system/hooks").iterdir()] == ["slow_builds.yaml"]


def test_handlers_see_that_a_project_is_made_and_may_refuse_it(tmp_path: Path) -> None:
    guard, seen = samuel.Plugin("guard"), []

    @guard.hook("init.before")
    def before(call: samuel.Call) -> samuel.records.InitBeforeOutput | None:
        seen.append((call.point, call.input.minimal))
        return samuel.records.InitBeforeOutput(ok=not (tmp_path / "frozen").exists(), reason="it is frozen")

    @guard.hook("init.after")
    def after(call: samuel.Call) -> None:
        seen.append((call.point, (tmp_path / "samuel.toml").exists()))

    project = samuel.Project(tmp_path)
    (tmp_path / "frozen").touch()
    with pytest.raises(samuel.GateError, match="it is frozen"):
        project.init(plugins=[guard])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frozen"]
    (tmp_path / "frozen").unlink()
    assert project.init(plugins=[guard]).config is not None
    assert seen == [("init.before", True), ("init.before", True), ("init.after", True)]
    # samuel.toml is there, and only another plan is made.
    assert project.init(force=True, plugins=[guard]).config is None
    assert len(seen) == 3


def test_the_form_of_a_prd_is_told_or_given(tmp_path: Path) -> None:
    (tmp_path / "tasks.md").write_text("# Tasks: Greeter\n\n- [x] T001 Greet the world\n\n1. one\n2. two\n")
    (tmp_path / "words.md").write_text("# Only words\n")
    project = samuel.Project(tmp_path)
    assert {"spec-kit", "numbered-list"} <= {form.name for form in samuel.Project.forms()}
    made = project.init("tasks.md")
    assert made.converted is not None and made.converted.form == "spec-kit"
    assert [task.id for task in project.tasks()] == ["T001"]
    shown = project.preview_prd("tasks.md", force=True, format="numbered-list")
    assert (shown.form, shown.replaces, shown.list.total) == ("numbered-list", 1, 2)
    assert [task.id for task in project.tasks()] == ["T001"]
    assert project.convert("tasks.md", force=True, format="numbered-list").tasks == 2
    with pytest.raises(samuel.SamuelError) as caught:
        project.convert("words.md", force=True)
    assert caught.value.code == "E_PRD_INVALID"
    assert "allow_empty=True" in caught.value.help and "--" not in caught.value.help
    (tmp_path / "list.md").write_text("# Words\n\n1. one\n2. two\n")
    with pytest.raises(samuel.SamuelError) as caught:
        project.convert("list.md", force=True, format="spec-kit")
    assert "format=..." in caught.value.help and "--" not in caught.value.help
    assert project.convert("words.md", force=True, allow_empty=True).tasks == 0
    with pytest.raises(ValueError, match="unknown form"):
        project.convert("tasks.md", format="nonsense")  # type: ignore[arg-type]


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


def test_tasks_are_edited_and_removed_and_changes_taken_back(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    task = project.edit("2", title="Other", acceptance=["it works"], depends_on=["1"])
    assert (task.title, task.acceptance, task.depends_on) == ("Other", ("it works",), ("1",))
    project.enqueue("Third", parent_id="1")
    with pytest.raises(samuel.StateError) as used:
        project.remove("1")
    assert used.value.code == "E_TASK_IN_USE"
    change = project.remove("2", "3")
    assert [task.id for task in project.tasks()] == ["1"]
    assert project.undo(change) == change + 1
    project.undo()
    assert [task.id for task in project.tasks()] == ["1", "2"]
    with pytest.raises(samuel.StateError) as already:
        project.undo(change)
    assert already.value.code == "E_TASK_NOT_UNDONE"
    assert project.block("1", reason="no key").skip_reason == "no key"


def test_a_plan_follows_its_prd(samuel_project: MakeProject) -> None:
    project = samuel_project()
    prd = "# P\n\n## Tasks\n\n### 1 First\n\n### 2 Second\n"
    project.update(text=prd)
    project.done("1")
    changed = prd.replace("### 2 Second", "### 3 Third")
    looked = project.update(text=changed, dry_run=True)
    assert isinstance(looked, samuel.UpdatedPrd) and not looked.is_changed
    assert [task.id for task in looked.orphans] == ["2"] and len(project.tasks()) == 2
    project.update(text=changed, prune=True)
    assert [(task.id, task.status) for task in project.tasks()] == [("1", "completed"), ("3", "pending")]
    assert project.update(text=changed).is_changed is False


def test_a_prd_that_looks_like_another_one_is_refused(samuel_project: MakeProject) -> None:
    project = samuel_project()
    project.update(text="# P\n\n## Tasks\n\n### 1 Read\n\n### 2 Write\n\n### 3 Sync\n")
    project.done("1")
    other = "# P\n\n## Tasks\n\n### 1 Cook\n\n### 2 Bake\n\n### 3 Fry\n"
    with pytest.raises(samuel.SamuelError, match="3 of 3 tasks have the id of another task"):
        project.update(text=other)
    looked = project.update(text=other, dry_run=True)
    assert looked.other_prd is not None and looked.other_prd.differing == 3
    assert [task.is_completed for task in looked.changed] == [True, False, False]
    assert project.update(text=other, take_other=True).is_changed


def test_an_update_tells_what_both_sides_changed(samuel_project: MakeProject) -> None:
    project = samuel_project()
    prd = "# P\n\n## Tasks\n\n### 1 First\n\nAs planned.\n"
    project.update(text=prd)
    project.edit("1", description="As agreed.")
    changed = prd.replace("As planned.", "As decided.")
    (conflict,) = project.update(text=changed).conflicts
    assert (conflict.id, conflict.title) == ("1", "First")
    (field,) = conflict.fields
    assert (field.field, field.before, field.after) == ("description", ("As agreed.",), ("As decided.",))
    assert project.task("1").description == "As agreed."
    project.edit("1", description="As decided.")
    assert project.update(text=changed).conflicts == ()


def test_a_task_is_claimed_by_one_worker_and_given_back(samuel_project: MakeProject) -> None:
    project = samuel_project("First", "Second")
    token = project.claim("1", "lane-1")
    row = project.task_list().rows[0].claim
    assert row is not None
    assert (row.task, row.token, row.worker, row.phase, row.attempt) == ("1", token, "lane-1", "working", 1)
    assert [claim.task for claim in project.status().claims] == ["1"]
    with pytest.raises(samuel.StateError) as claimed:
        project.claim("1", "lane-2")
    assert claimed.value.code == "E_TASK_CLAIMED"
    given_back = project.release("1", reason="its machine is down")
    assert given_back is not None
    assert given_back.status == "pending"
    assert project.task_history("1").claim is None
    with pytest.raises(samuel.StateError) as void:
        project.release("1")
    assert void.value.code == "E_CLAIM_VOID"
    project.claim("@discover", "lane-1")
    assert project.release("@discover") is None
