"""An agent in Python that records its task over the socket of the loop."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import samuel
from samuel import broker

MakeLoop = Callable[..., samuel.Loop]

AGENT = """
import json, os
import samuel
from samuel import broker

with broker.connect() as plan:
    task = plan.welcome["task"]
    found = plan.mutate("enqueue", title="Found")["task"]["id"]
    missing = None
    try:
        plan.mutate("done", id="99")
    except samuel.StateError as error:
        missing = [error.code, error.message]
    done = plan.mutate("done", id=task)
    titles = [task["title"] for task in plan.plan()["tasks"]]
    told = [found, missing, done["task"]["status"], titles, plan.status()["running"]]
    told.append(plan.history(task)["task"]["status"])
if not os.path.exists("told.json"):
    with open("told.json", "w") as file:
        json.dump(told, file)
"""


def test_an_agent_changes_and_reads_the_plan_over_the_socket(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    # An agent is given no PYTHONPATH.
    program.write_text(f"import sys\nsys.path[:0] = {sys.path!r}\n{AGENT}")
    loop = samuel_loop(
        "One",
        agent="command",
        agent_command=[sys.executable, str(program)],
        socket_dir=tmp_path / "s",
        max_iterations=1,
    )
    loop.run()
    told = json.loads((Path(loop.project.root) / "told.json").read_text())
    assert told == [
        "2",
        ["E_TASK_NOT_FOUND", "there is no task 99"],
        "completed",
        ["One", "Found"],
        True,
        "completed",
    ]


def test_without_a_loop_there_is_no_broker_and_one_that_is_gone_is_told_of(tmp_path: Path) -> None:
    assert broker.connect({}) is None
    with pytest.raises(samuel.StateError) as gone:
        broker.connect({"SAMUEL_SOCKET": str(tmp_path / "s"), "SAMUEL_TOKEN": "0"})
    assert gone.value.code == "E_BROKER_GONE"
