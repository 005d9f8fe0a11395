"""Hooks of a loop, listed and tried out beside its runs, and the log of what runs called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import samuel

MakeLoop = Callable[..., samuel.Loop]

HOOKS = """version: 1
hooks:
  post_iteration:
    - command: echo tests of {{iteration}}
      pipe_output: true
  session_end:
    - command: exit 3
"""


def with_hooks(loop: samuel.Loop) -> samuel.Loop:
    directory = Path(loop.project.root) / ".samuel"
    directory.mkdir(exist_ok=True)
    (directory / "hooks.yml").write_text(HOOKS)
    return loop


def test_hooks_are_listed_with_their_place(samuel_loop: MakeLoop) -> None:
    loop = with_hooks(samuel_loop("First"))
    loop.hook("before:iteration", "note")(lambda call: None)
    hooks = {hook.id: hook for hook in loop.hooks().hooks}
    assert sorted(hooks) == ["api:note", "session:post_iteration#1", "session:session_end#1"]
    hook = hooks["session:post_iteration#1"]
    assert (hook.point, hook.tier, hook.place) == ("after:iteration", "shell", ".samuel/hooks.yml:4:7")
    assert hook.why_not is None and hooks["api:note"].tier == "python"


def test_one_hook_is_tried_on_one_event(samuel_loop: MakeLoop) -> None:
    loop = with_hooks(samuel_loop("First"))
    trial = loop.test_hook("session:post_iteration#1", {"iteration": 7})
    assert (trial.status, trial.failure, trial.input["iteration"]) == ("ok", None, 7)
    [exchange] = trial.exchanges
    assert (exchange.stdout, exchange.exit_code) == ("tests of 7\n", 0)
    assert exchange.launch.cwd == str(Path(loop.project.root).resolve())
    [warning] = loop.test_hook("session:session_end#1").warnings
    assert "3" in warning.message
    assert not (Path(loop.project.root) / ".samuel/run/hooks.jsonl").exists()
    assert [task.status for task in loop.project.tasks()] == ["pending"]


def test_a_function_is_tried_like_any_hook(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    @loop.hook("quality.check", "review")
    def review(call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput]) -> samuel.QualityCheckOutput:
        return samuel.QualityCheckOutput(ok=False, reason=" and ".join(call.input.commands))

    trial = loop.test_hook("api:review", {"commands": ["a", "b"]})
    assert (trial.status, trial.refused) == ("refused", "a and b")


def test_a_hook_that_cannot_be_tried_says_why(samuel_loop: MakeLoop) -> None:
    loop = with_hooks(samuel_loop("First"))
    for call, code, told in [
        (lambda: loop.test_hook("session:post_iteration#2"), "E_HOOK_UNKNOWN", "there is no hook"),
        (lambda: loop.test_hook("default", point="quality.check"), "E_HOOK_UNKNOWN", "there is no hook"),
        (lambda: loop.test_hook("session:session_end#1", {"why": 1}), "E_USAGE", "it has no \"why\""),
        (lambda: loop.fire_hooks("after:iteratoin"), "E_HOOK_UNKNOWN", "after:iteratoin"),
        (lambda: loop.fire_hooks("agent.invoke"), "E_USAGE", "calls the agent"),
    ]:
        with pytest.raises(samuel.SamuelError, match=told) as caught:
            call()
        assert caught.value.code == code
    careful = samuel.Loop(loop.project)
    for call in [lambda: careful.test_hook("session:session_end#1"), lambda: careful.fire_hooks("session.end")]:
        with pytest.raises(samuel.SamuelError) as caught:
            call()
        assert caught.value.code == "E_TRUST_REFUSED"
    assert careful.fire_hooks("session.end", dry_run=True).outcome is None


def test_a_point_is_fired_beside_any_run(samuel_loop: MakeLoop) -> None:
    loop = with_hooks(samuel_loop("First", quality_checks=["touch checked"]))
    root = Path(loop.project.root)
    shown = loop.fire_hooks("quality.check", dry_run=True)
    assert shown.input["commands"] == ["touch checked"]
    assert shown.outcome is None and not (root / "checked").exists()
    with pytest.raises(samuel.SamuelError, match="is no quality check of this project"):
        loop.fire_hooks("quality.check", {"commands": ["touch other"]})
    fired = loop.fire_hooks("quality.check")
    assert fired.output["ok"] and (root / "checked").exists() and not (root / "other").exists()
    fired = loop.fire_hooks("after:iteration", {"iteration": 9})
    assert [handler.id for handler in fired.run][-1] == "session:post_iteration#1"
    entry = fired.run[-1].entry
    assert entry is not None and (entry.line, entry.command) == (4, "echo tests of {{iteration}}")
    assert fired.outcome is not None and fired.outcome.broken == ()
    [exchange] = fired.exchanges
    assert exchange.stdout == "tests of 9\n"
    assert not (root / ".samuel/run/hooks.jsonl").exists()


def test_the_log_has_each_hook_that_a_run_called(samuel_loop: MakeLoop) -> None:
    loop = with_hooks(samuel_loop("First"))
    assert loop.project.hook_log().lines == ()
    assert loop.run().iterations == 1
    lines = loop.project.hook_log().lines
    ids = [line.id for line in lines]
    assert ids == ["session:post_iteration#1", "session:session_end#1"]
    first, last = lines
    assert (first.point, first.tier, first.iteration, first.exit) == ("after:iteration", "shell", 1, 0)
    assert (last.run, last.exit) == (first.run, 3) and "exit code 3" in last.warnings[0]
    assert loop.project.hook_log(id="session:session_end#1").lines == (last,)
    assert loop.project.hook_log(point="after:iteration").lines == (first,)
    assert loop.project.hook_log(limit=1).lines == (last,)
