"""Handlers that do their worst: the run ends, and the interpreter exits well.

What the handlers do is in `hostile.py`, which is run for each kind as often as
`repeats` says: a hundred times in the long form, several at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import samuel
from conftest import LIMIT, repeats

HOSTILE = Path(__file__).with_name("hostile.py")
# What comes of each kind of handler.
KINDS = {
    "spins": "timeout",
    "sleeps": "timeout",
    "holds": "timeout",
    "raises": "failed",
    "exits": "panicked",
    "wrong": "bad_output",
    "forks": "ok",
    "forked": "timeout",
    "cancelled": "cancelled",
    "left": "",
    "unwatched": "",
    "busy": "",
    "async-waits": "timeout",
    "async-blocks": "timeout",
    "async-shields": "timeout",
    "process-spins": "timeout",
    "process-holds-on": "timeout",
    "process-ignores": "timeout",
    "process-raises": "failed",
    "process-exits": "panicked",
    "process-dies": "signaled",
    "process-wrong": "bad_output",
}


def run_hostile(kind: str, root: str) -> tuple[str, float]:
    """Runs a handler once; returns what came of it, and how late that was."""
    command = [sys.executable, HOSTILE, root, kind]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT, cwd=root)
    assert (ended.returncode, ended.stderr) == (0, ""), kind
    came, _, late = ended.stdout.rpartition(" ")
    return came, float(late or 0)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_handler_does_the_run_ends_and_the_interpreter_exits_well(
    kind: str, samuel_project: Callable[..., samuel.Project], capsys: pytest.CaptureFixture[str]
) -> None:
    roots = [samuel_project("First").root for _ in range(repeats())]
    with ThreadPoolExecutor(4 * (os.cpu_count() or 1)) as pool:
        ended = list(pool.map(lambda root: run_hostile(kind, root), roots))
    assert {came for came, _ in ended} == {KINDS[kind]}
    # Each would go on for ten minutes; what keeps the machine busy is not theirs.
    late = sorted(late for _, late in ended)
    assert late[-1] < LIMIT / 4
    if kind in ("left", "unwatched", "busy"):
        # The interpreter stopped them before it ended.
        assert all("it was cancelled" in samuel.Project(root).progress()[-1] for root in roots)
    if kind.startswith("process-"):
        assert not left_behind(roots)
    if os.environ.get("SAMUEL_LONG"):
        with capsys.disabled():
            print(f"\n{kind}: {len(ended)} of {len(roots)}", end="")
            if KINDS[kind] in ("timeout", "cancelled"):
                print(f", {late[len(late) // 2] * 1000:.0f} ms late, at most {late[-1] * 1000:.0f} ms", end="")


def left_behind(roots: list[str]) -> list[str]:
    """Lists what still runs in one of the projects, after a while."""
    deadline = time.monotonic() + LIMIT
    while (found := running(roots)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def running(roots: list[str]) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd") in roots:
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            pass
    return found
