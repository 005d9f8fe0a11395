"""The examples do what they say, and hold under the strictest types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(os.environ.get("SAMUEL_EXAMPLES", Path(__file__).parents[3] / "examples/python"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("demo.py", ["goodbye.txt is missing", "ended: completed", "2 completed Say goodbye"]),
        ("haiku.py", ["taken back: 1 lines are no haiku", "haiku: completed", "barks at every flake."]),
        ("service.py", ["run_started to run_finished; the run ended completed"]),
        ("walkthrough.py", ["3 iterations, 0.01 dollars", "tasks[2]{id,title}:"]),
    ],
)
def test_an_example_runs(name: str, says: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120, env=env
    )
    assert done.returncode == 0, done.stderr
    for part in says:
        assert part in done.stdout


def test_the_examples_and_the_package_hold_under_strict_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    import samuel

    package = Path(samuel.__file__).parent
    env = {**os.environ, "MYPYPATH": str(package.parent)}
    common = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path)]
    names = ("demo.py", "haiku.py", "service.py", "walkthrough.py")
    for targets in ([package], [EXAMPLES / name for name in names]):
        checked = subprocess.run([*common, *map(str, targets)], capture_output=True, text=True, env=env)
        assert checked.returncode == 0, checked.stdout


MISTAKES = """
import samuel
loop = samuel.Loop(".")
Extra = samuel.Call[samuel.ContextExtraInput, samuel.ContextExtraOutput]

@loop.hook("quality.check")  # another point's call
def one(call: Extra) -> None: ...

@loop.hook("context.extra")  # another point's answer
def two(call: Extra) -> samuel.QualityCheckOutput: raise ValueError

@loop.hook("context.xtra")  # no point
def three(call: Extra) -> None: ...

@loop.hook("context.extra")
async def four(call: Extra) -> samuel.ContextExtraOutput | None:
    call.input.tsk  # no field
    return None

@loop.hook("sync.after")  # a loop never fires it
def five(call: samuel.Call[samuel.SyncAfterInput, samuel.SyncAfterOutput]) -> None: ...

samuel.Session(".").hook("quality.check")  # nor does a session
samuel.Plugin("lint").hook("sync.after")(five)
samuel.NoSuchName  # no name
four.remove()
four.name.upper()
four.nme  # no attribute
samuel.Loop(tasks=["Greet"], agent=lambda call: "text")  # no answer of an agent
"""


def test_a_type_checker_finds_wrong_handlers(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    import samuel

    file = tmp_path / "mistakes.py"
    file.write_text(MISTAKES)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path), str(file)],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(Path(samuel.__file__).parents[1])},
    )
    found = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line}
    assert found - {13, 21} == {6, 9, 12, 17, 20, 23, 25, 28, 29}, checked.stdout


def test_the_stubs_are_those_of_the_native_module() -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    import samuel

    package = Path(samuel.__file__).parent
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "samuel._samuel", "samuel._registering"],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(package.parent), "PYTHONPATH": str(package.parent)},
        cwd=package.parent,
    )
    assert checked.returncode == 0, checked.stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = "import sys; before = set(sys.modules); import samuel; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}; {program}"],
                          capture_output=True, text=True, check=True)
    heavy = {"asyncio", "logging", "typing", "threading", "ctypes", "samuel.records", "dataclasses"}
    assert not heavy & set(done.stdout.split())


def test_every_hook_point_has_its_name() -> None:
    import samuel

    named = {name: value for name, value in vars(samuel.HookPoint).items() if name.isupper()}
    assert tuple(named.values()) == samuel.HOOK_POINTS
    assert samuel.HookPoint.BEFORE_AGENT_INVOKE == "before:agent.invoke"
