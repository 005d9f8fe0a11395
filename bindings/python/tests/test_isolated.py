"""Handlers in a process of their own: kept, sent, heard, and refused."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel import _isolated
from samuel.testing import dispatch, handler

MakeLoop = Callable[..., samuel.Loop]
Script = Callable[..., Any]

_calls = 0


def counts(call: Any) -> None:
    global _calls
    _calls += 1
    call.contribute("seen", [os.getpid(), _calls, os.getcwd()])


def test_the_process_of_a_handler_is_kept_and_works_where_its_caller_does() -> None:
    got = dispatch("quality.check", handler(counts, isolate="process"), repeat=3)
    pid, calls, directory = got.plugins["api"]["seen"]
    assert (calls, directory) == (3, os.getcwd()) and pid != os.getpid()


def test_each_run_has_its_own_process_which_goes_with_it(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    seen: list[Any] = []
    loop.hook("after:iteration", "counts", order=10, isolate="process")(counts)
    loop.hook("after:iteration", "looks", order=20)(lambda call: seen.append(call.context.plugins["api"]["seen"]))
    assert loop.run().ok
    assert [calls for _, calls, _ in seen] == [1, 2]
    deadline = time.monotonic() + 60
    while Path(f"/proc/{seen[0][0]}").exists():
        assert time.monotonic() < deadline
    loop.project.reset("1")
    assert loop.run().ok
    assert seen[2][0] != seen[0][0] and seen[2][1] == 1


def hangs_once(call: Any) -> None:
    flag = Path(call.input.commands[0])
    if not flag.exists():
        flag.touch()
        time.sleep(600)


def test_after_a_deadline_the_next_call_gets_another_process(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    # Takes 8 s: the first call has all its time, and the second one needs some for starting Python on a loaded machine.
    hung = handler(hangs_once, isolate="process", timeout=8)
    got = dispatch("quality.check", hung, input={"commands": [str(flag)]}, repeat=2)
    # The last call counts, which found the flag.
    assert got.ok and flag.exists()


def leaves(call: Any) -> None:
    raise SystemExit(7)


def test_a_handler_that_wants_to_end_its_process_says_so() -> None:
    with pytest.raises(samuel.HookError, match="7"):
        dispatch("quality.check", handler(leaves, isolate="process"))


def test_what_is_in_no_module_is_sent_with_what_it_uses() -> None:
    threshold = 3

    class Limit:
        """At most so many."""

        def __init__(self, most: int) -> None:
            self.most = most

        def holds(self, number: int) -> bool:
            return number <= self.most

    def depth(number: int) -> int:
        return number if number == 0 else 1 + depth(number - 1)

    limit = Limit(threshold)

    def check(call: Any) -> samuel.QualityCheckOutput:
        there = depth(len(call.input.commands))
        return samuel.QualityCheckOutput(ok=limit.holds(there), reason=f"{there} of {threshold}")

    for function in (check, lambda call: check(call)):
        got = dispatch("quality.check", handler(function, "check", isolate="process"), input={"commands": ["x"] * 4})
        assert (got.output.ok, got.output.reason) == (False, "4 of 3")


def looks_around(call: Any) -> None:
    import email

    call.contribute("found", [samuel.__file__, email.__file__, os.environ["PYTHONPATH"]])


def test_where_it_works_decides_nothing_and_its_environment_is_the_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "samuel").mkdir()
    for name in ("json.py", "logging.py", "email.py", "samuel/__init__.py", "samuel/_isolated.py"):
        (tmp_path / name).write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    # An empty entry is the directory at hand.
    path = os.environ.get("PYTHONPATH", "") + ":"
    monkeypatch.setenv("PYTHONPATH", path)
    got = dispatch("quality.check", handler(looks_around, isolate="process"))
    import email

    assert got.plugins["api"]["found"] == [samuel.__file__, email.__file__, path]


class Checker:
    """Something with a method."""

    def __init__(self, word: str) -> None:
        self.word = word

    def check(self, call: Any) -> samuel.QualityCheckOutput:
        return samuel.QualityCheckOutput(ok=False, reason=self.word)


def test_a_method_is_sent_with_its_object() -> None:
    got = dispatch("quality.check", handler(Checker("stop").check, isolate="process"))
    assert got.output.reason == "stop"


def test_what_cannot_be_sent_is_refused_when_it_is_registered_with_the_reason(samuel_loop: MakeLoop) -> None:
    lock = threading.Lock()

    def check(call: Any) -> None:
        with lock:
            pass

    with pytest.raises(samuel.HookError) as refused:
        samuel_loop("First").hook("quality.check", isolate="process")(check)
    assert "check cannot be isolated: it uses lock, which cannot be sent" in str(refused.value)
    assert "_thread.lock" in str(refused.value) and "Make within the function" in refused.value.help


def speaks(call: Any) -> None:
    print("to the output")
    print("to the errors", file=sys.stderr)
    logging.getLogger("checks.deep").warning("seen %s", call.point)
    logging.getLogger("checks.deep").debug("nobody asked")
    os.system("echo from a command")
    assert sys.stdin.read() == ""


def test_what_it_prints_and_logs_is_heard(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    dispatch("quality.check", handler(speaks, isolate="process"))
    assert capsys.readouterr() == ("to the output\n", "to the errors\n")
    assert [(record.name, record.message) for record in caplog.records] == [("checks.deep", "seen quality.check")]


def is_careless(call: Any) -> None:
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
    sys.stdout.buffer.write("ü as bytes\n".encode())
    logging.getLogger("checks.fine").debug("heard")
    logging.getLogger("checks.fine").warning("%d", "no number")


def test_its_output_is_like_any_other_and_a_wrong_log_line_breaks_nothing(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "checks.fine")
    dispatch("quality.check", handler(is_careless, isolate="process"))
    printed = capsys.readouterr()
    assert printed.out == "ü as bytes\n" and "--- Logging error ---" in printed.err
    assert [record.message for record in caplog.records] == ["heard"]


def test_a_call_and_its_port_have_the_names_that_they_have_elsewhere() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(samuel.AgentPort) == names(_isolated.IsolatedPort)
    made = set(_isolated.IsolatedCall.__init__.__code__.co_names)
    assert names(samuel.Call) <= names(_isolated.IsolatedCall) | made


SCRIPT = """
import os, pathlib, sys
import samuel
from samuel.testing import dispatch, handler

print("imported as", __name__, flush=True)
calls = 0

def check(call):
    global calls
    calls += 1
    call.contribute("calls", calls)

if __name__ == "__main__":
    got = dispatch("quality.check", handler(check, isolate="process"), repeat=3)
    print(got.plugins["api"]["calls"])
"""


def test_a_script_is_imported_once_and_its_main_is_guarded(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("imported as __main__\nimported as __samuel_main__\n3\n", "")


def test_a_function_of_the_prompt_is_sent(script: Script) -> None:
    # Without a file, as in a notebook.
    text = SCRIPT.replace('print("imported as", __name__, flush=True)', "")
    assert script(text).stdout == "3\n"


UNGUARDED = """
import sys
import samuel
from samuel.testing import completes_each_task

loop = samuel.Loop(sys.argv[1], agent=completes_each_task(), trust=True, pause=0)

@loop.hook("after:iteration", isolate="process")
def after(call): ...

for event in loop.stream():
    if isinstance(event, samuel.HookFired) and event.point == "after:iteration":
        print(event.outcome.broken[0].failure.message)
"""


def test_a_script_that_starts_a_loop_whenever_it_is_imported_is_told(
    tmp_path: Path, samuel_project: Callable[..., samuel.Project]
) -> None:
    path = tmp_path / "unguarded.py"
    path.write_text(UNGUARDED.replace("sys.argv[1]", repr(samuel_project("First").root)))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert "must not start a loop when it is imported" in done.stdout, done.stdout + done.stderr


GUARDED = """
import dataclasses
import samuel
from samuel.testing import completes_each_task

@dataclasses.dataclass
class Found:
    task: str
    marks: list[str] = dataclasses.field(default_factory=list)

    @property
    def reason(self):
        return f"{self.task}{self.mark()}{dataclasses.asdict(self)['marks']}"

    @staticmethod
    def mark():
        return "!"

if __name__ == "__main__":
    loop = samuel.Loop(tasks=["First"], agent=completes_each_task(), pause=0, max_iterations=1)

    @loop.hook("quality.check", isolate="process")
    def check(call):
        return samuel.QualityCheckOutput(ok=False, reason=Found(call.context.iteration.task_id).reason)

    print(loop.run().failures[0].message)
"""


def test_a_function_below_the_guard_of_a_script_is_sent_with_the_classes_that_it_uses(tmp_path: Path) -> None:
    path = tmp_path / "guarded.py"
    path.write_text(GUARDED)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("api:check: 1![]\n", "")


project = threading.Lock()


def test_an_attribute_that_is_called_like_a_global_is_none() -> None:
    def check(call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput]) -> None:
        call.contribute("name", call.context.project.name)

    context = {"project": {"name": "Parser"}}
    got = dispatch("quality.check", handler(check, isolate="process"), context=context)
    assert got.plugins["api"] == {"name": "Parser"}


ODD: dict[str, Any] = {
    "infinite": float("inf"),
    "no number": float("nan"),
    "half": "\ud800",
    "set": {1},
    "key": {1: "x"},
    "large": 2**80,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_answer_that_cannot_be_told_is_refused_as_that_of_a_thread(odd: Any) -> None:
    def rewrite(call: Any) -> samuel.AbilityBeforeOutput:
        return samuel.AbilityBeforeOutput(updated_input={"a": [odd]})

    def failures(isolate: str | None) -> Any:
        return dispatch("ability.before", handler(rewrite, isolate=isolate), check=False).failures

    assert failures("process") == failures(None)
    assert [each.class_ for each in failures("process")] == ["bad_output"]


def test_what_cannot_be_told_beside_the_answer_is_told_of_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    def check(call: Any) -> None:
        odd: list[Callable[[], None]] = [
            lambda: call.warn("\ud800"),
            lambda: call.warn(5),
            lambda: call.contribute("a", ["\ud800"]),
        ]
        for tell in odd:
            try:
                tell()
            except (UnicodeEncodeError, TypeError) as error:
                logging.getLogger("odd").warning("%s", type(error).__name__)
        logging.getLogger("odd").warning("half \ud800")
        call.contribute("b", [float("nan")])

    got = dispatch("quality.check", handler(check, isolate="process"))
    assert got.plugins["api"] == {"b": [None]}
    told = [record.getMessage() for record in caplog.records if record.name == "odd"]
    assert told == ["UnicodeEncodeError", "TypeError", "UnicodeEncodeError", "half \\ud800"]
