"""What waits to be landed, and what people want of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from conftest import LIMIT, git
from samuel.testing import ScriptedAgent

MakeLoop = Callable[..., samuel.Loop]

# A landing whose check hears of nothing is interrupted; then it is said whether the project is free again.
INTERRUPTED = """
import os, signal, sys, threading, time
import samuel
root, limit = sys.argv[1], float(sys.argv[2])
at = os.path.join(root, "../at")
def press():
    while not os.path.exists(at): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
loop = samuel.Loop(root, trust=True, quality_checks=[f"touch {at}; while ! test -e {at}-go; do sleep 0.05; done"])
try:
    loop.land()
except KeyboardInterrupt:
    deadline = time.monotonic() + limit
    while loop.project.status().running and time.monotonic() < deadline: time.sleep(0.01)
    print("running" if loop.project.status().running else "free")
"""

COMMIT = "1" * 40


def submitted(loop: samuel.Loop) -> samuel.Project:
    """Has a worker submit the first task."""
    project = loop.project
    token = project.claim("1", "r/lane-1")
    work = {"branch": "samuel/r/1-1", "commit": COMMIT, "base": COMMIT}
    project._change({"type": "submit", "task": "1", "token": token, **work})
    return project


def test_what_waits_is_listed_held_released_and_dropped(samuel_loop: MakeLoop) -> None:
    project = submitted(samuel_loop("First", "Second"))
    (entry,) = project.queue().entries
    assert (entry.task, entry.place, entry.why) == ("1", "waits", "nobody lands what was submitted")
    assert project.hold("1", reason="release freeze").status == "in_progress"
    (held,) = project.queue().entries
    assert held.place == "held" and held.why.endswith("holds it: release freeze")
    project.unhold("1")
    assert project.queue().entries[0].place == "waits"
    assert project.drop("1").status == "pending"
    assert project.queue().entries == ()
    with pytest.raises(samuel.StateError, match="is not in the merge queue") as caught:
        project.hold("2")
    assert caught.value.code == "E_CLAIM_VOID" and caught.value.help == "See what waits with Project.queue()."


# Takes about 8 s: three tasks with two workers, and a landing that is held is tried again after two seconds.
def test_a_run_with_lanes_tells_what_lands_and_in_which_lane_and_what_is_in_the_way(samuel_loop: MakeLoop) -> None:
    agent = ScriptedAgent()
    agent.call(repeat=True).run("echo made > made-$SAMUEL_TASK_ID.txt").done()
    loop = samuel_loop("First", "Second", "Third", agent=agent, parallel={"jobs": 2, "into": "main"})
    root = Path(loop.project.root)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Start")
    # It is mine, until I hear that it is in the way.
    mine = root / "made-2.txt"
    mine.write_text("mine\n", encoding="utf-8")
    events = []
    with loop.start() as run:
        for event in run.events():
            events.append(event)
            if isinstance(event, samuel.LandingHeld):
                mine.unlink(missing_ok=True)
        result = run.wait(LIMIT)
    assert result.ok and result.into == "main"
    for kind in (samuel.TaskClaimed, samuel.TaskSubmitted, samuel.TaskLanded):
        assert sorted(event.task for event in events if isinstance(event, kind)) == ["1", "2", "3"], kind
    held = [event for event in events if isinstance(event, samuel.LandingHeld)]
    assert held and held[0].into == "main" and "made-2.txt" in held[0].reason
    assert not [event for event in events if isinstance(event, samuel.TaskReturned)]
    assert {event.lane for event in events if isinstance(event, samuel.TaskClaimed)} <= {1, 2}
    assert {event.lane for event in events if isinstance(event, samuel.TaskLanded | samuel.RunStarted)} == {None}
    landed = {event.task: event.commit for event in events if isinstance(event, samuel.TaskLanded)}
    for task, commit in landed.items():
        git(root, "merge-base", "--is-ancestor", commit, "main")
        assert (root / f"made-{task}.txt").read_text(encoding="utf-8") == "made\n"


def test_a_change_that_takes_submitted_work_out_of_the_queue_warns_and_remedies_say_what_lands_it(
    samuel_loop: MakeLoop,
) -> None:
    project = submitted(samuel_loop("First", "Second"))
    assert project.status().remedies == (samuel.records.LandSubmitted(),)
    assert project.why("task", "1").remedies == (samuel.records.LandSubmitted(),)
    with pytest.warns(samuel.UnlandedWarning, match="the work that was submitted for 1 does not land") as caught:
        assert project.skip("1").status == "skipped"
    (warning,) = (warned.message for warned in caught)
    assert (warning.task, warning.branch) == ("1", "samuel/r/1-1")
    assert caught[0].filename == __file__
    assert project.status().remedies == ()


def test_a_task_of_a_lane_that_is_gone_says_so(samuel_loop: MakeLoop) -> None:
    project = samuel_loop("First").project
    project.claim("1", "r/lane-1")
    gone = "lane-1 of the run r was at work on it and is gone, so the next start frees it"
    assert [row.gone for row in project.task_list().rows] == [gone]
    assert project.task_history("1").gone == gone
    assert project.status().remedies == (samuel.records.FreeByStart(),)


def test_lanes_that_left_nothing_have_nothing_to_list_clean_or_land(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    assert loop.lanes().branches == ()
    assert loop.merge().branch is None
    assert loop.clean() == samuel.records.CleanedLanes(removed=(), kept=())
    report = loop.land()
    assert (report.landed, report.queue.entries) == ((), ())


def test_a_landing_that_is_interrupted_ends_and_lets_go_of_the_project(
    samuel_loop: MakeLoop, script: Callable[..., Any]
) -> None:
    project = samuel_loop("First").project
    root = Path(project.root)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Start")
    base = git(root, "rev-parse", "HEAD")
    git(root, "switch", "--quiet", "--create", "work")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Work")
    commit = git(root, "rev-parse", "HEAD")
    git(root, "switch", "--quiet", "main")
    token = project.claim("1", "r/lane-1")
    work = {"branch": "work", "commit": commit, "base": base}
    project._change({"type": "submit", "task": "1", "token": token, **work})
    ended = script(INTERRUPTED, project.root, str(LIMIT / 4))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "free\n", "")
    (entry,) = project.queue().entries
    assert (entry.task, entry.place, entry.why) == ("1", "waits", "nobody lands what was submitted")
    report = samuel.Loop(project, trust=True).land()
    assert [landed.task for landed in report.landed] == ["1"]
