"""The benchmark says what it measures, and holds the gates of wheels for wheels alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from samuel import _samuel

BENCH = Path(__file__).parents[1] / "tools/bench.py"


@pytest.fixture
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench", BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_gate_is_held_for_wheels_alone(bench: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for profile, missed, verdict in (("wheel", ["a call"], "FAIL"), ("checkout", [], "over")):
        gates = bench.Gates(profile)
        gates.check("a call", 3.0, 2.0, "us")
        gates.check("another", 1.0, 2.0, "us")
        assert gates.missed == missed
        told = capsys.readouterr().out
        assert f"the profile {profile}\n" in told and verdict in told and "pass" in told
        assert ("no gate is held" in told) == (not missed)


def test_the_module_knows_its_profile() -> None:
    assert _samuel.BUILD_PROFILE in {"debug", "release", "wheel", "checkout"}
