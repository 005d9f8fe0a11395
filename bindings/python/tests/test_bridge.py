"""An agent whose own hooks ask the run, answered by handlers in Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel

MakeLoop = Callable[..., samuel.Loop]

# Stands for Claude Code with its hooks: it asks about one call, and says what it was answered.
CLAUDE = """#!{python}
import json, os, socket, sys

def say(**message):
    print(json.dumps(message), flush=True)

def told(kind, **block):
    say(type=kind, message={{"id": "m", "content": [block]}})

if os.path.exists("answers.json"):
    sys.exit(0)
say(type="system", subtype="init", session_id="s", model="m")
told("assistant", type="tool_use", id="toolu_1", name="Bash", input={{"command": "ls"}})
run = socket.socket(socket.AF_UNIX)
run.connect(os.environ["SAMUEL_SOCKET"])
lines = run.makefile("rw")

def ask(**message):
    lines.write(json.dumps(message) + "\\n")
    lines.flush()
    return json.loads(lines.readline())

assert ask(samuel="run/1", token=os.environ["SAMUEL_TOKEN"])["ok"]
call = {{"ability_id": "Bash", "call_id": "toolu_1", "input": {{"command": "ls"}}}}
answers = [ask(id=1, ability_before=call)["decision"]]
blocked = answers[0]["decision"] == "block"
if not blocked:
    ended = {{**call, "status": "success", "takes_text": True}}
    answers.append(ask(id=2, ability_after=ended)["text"])
told("user", type="tool_result", tool_use_id="toolu_1", is_error=blocked, content="x")
with open("answers.json", "w") as file:
    json.dump(answers, file)
say(type="result", subtype="success", is_error=False, result="done")
"""


def asking(samuel_loop: MakeLoop, tmp_path: Path, **settings: Any) -> samuel.Loop:
    """A loop whose agent asks about one call in its only iteration."""
    program = tmp_path / "claude"
    program.write_text(CLAUDE.format(python=sys.executable))
    program.chmod(0o755)
    return samuel_loop(
        "First",
        agent="claude",
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        max_iterations=1,
        socket_dir=tmp_path / "sockets",
        bridge=["/bin/true"],
        **settings,
    )


@pytest.mark.parametrize("blocks", [True, False])
def test_python_decides_about_a_call_that_the_agents_own_hook_asks_about(
    samuel_loop: MakeLoop, tmp_path: Path, blocks: bool
) -> None:
    loop = asking(samuel_loop, tmp_path)
    asked = []

    @loop.hook("ability.before")
    def gate(call: Any) -> samuel.AbilityBeforeOutput:
        asked.append((call.input.ability_id, call.input.enforced))
        if blocks:
            return samuel.AbilityBeforeOutput(block=True, reason="not here")
        return samuel.AbilityBeforeOutput(updated_input={"command": "ls -l"})

    @loop.hook("ability.after")
    def after(call: Any) -> samuel.AbilityAfterOutput:
        asked.append((call.input.ability_id, call.input.status))
        return samuel.AbilityAfterOutput(text=[samuel.TextItem(content="well done")])

    warned = [event.message for event in loop.stream() if isinstance(event, samuel.Warning)]
    answers = json.loads(Path(loop.project.root, "answers.json").read_text())
    if blocks:
        assert answers == [{"decision": "block", "reason": "not here"}]
        assert asked == [("Bash", True)]
    else:
        decision, (text,) = answers
        assert decision == {"decision": "allow", "input": {"command": "ls -l"}, "changed": True}
        assert "well done" in text and "api:after" in text
        assert asked == [("Bash", True), ("Bash", "success")]
    assert not any("without asking" in message for message in warned)
    assert list((tmp_path / "sockets").iterdir()) == []


@pytest.mark.parametrize("approves", [True, False])
def test_a_person_decides_about_a_call_by_the_run_itself(
    samuel_loop: MakeLoop, tmp_path: Path, approves: bool
) -> None:
    loop = asking(samuel_loop, tmp_path, ask_timeout="1m")

    @loop.hook("ability.before")
    def gate(call: Any) -> samuel.AbilityBeforeOutput:
        return samuel.AbilityBeforeOutput(ask=True, reason="it lists files")

    with loop.start() as run:
        for event in run.events():
            if isinstance(event, samuel.ApprovalAsked):
                assert run.state is not None
                (waiting,) = run.state.approvals
                assert waiting.call == event.call
                decide = run.approve if approves else run.deny
                decide(waiting.call, "not in this directory")
                with pytest.raises(samuel.SamuelError, match="by the program that runs the loop") as second:
                    run.deny(waiting.call, "I think so, too")
                assert second.value.code == "E_CONTROL_NOTHING_WAITS"
    assert run.state is None
    decision = json.loads(Path(loop.project.root, "answers.json").read_text())[0]
    assert decision["decision"] == ("allow" if approves else "block")
    assert approves or "not in this directory" in decision["reason"]
