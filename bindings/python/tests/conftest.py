"""What all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["samuel.testing.pytest_plugin"]

# How long anything may take on a busy machine.
LIMIT = 60.0


def git(root: Path, *args: str) -> str:
    """Runs git as somebody."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(["git", *who, *args], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def private_directory(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps what plugins run from out of the home of whoever tests."""
    monkeypatch.setenv("SAMUEL_STATE_DIR", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program in an interpreter of its own, to its end."""

    def run(text: str, *args: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", text, *args], capture_output=True, text=True, timeout=LIMIT, **options
        )  # type: ignore[call-overload, no-any-return]

    return run


def repeats() -> int:
    """How often a test of luck is run: more in the long form."""
    return 100 if os.environ.get("SAMUEL_LONG") else 2
