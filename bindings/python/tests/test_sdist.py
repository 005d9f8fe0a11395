"""The source archive: it holds what it takes to build the package, alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path, PurePath
from typing import Any

import pytest

import samuel
from conftest import LIMIT

BINDING = Path(__file__).parents[1]
LONG = "SAMUEL_LONG" in os.environ


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The archive, in a directory of its own."""
    pytest.importorskip("maturin", reason="maturin is not installed")
    if not (BINDING / "../../samuel-core").is_dir():
        pytest.skip("the sources of samuel-core are not here")
    command = [sys.executable, "-m", "maturin", "sdist", "--manifest-path", BINDING / "Cargo.toml", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    (made,) = tmp_path.glob("*.tar.gz")
    return made


def test_the_archive_holds_the_core_the_lock_file_and_the_licences(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        names = [PurePath(name) for name in tar.getnames()]
        read = {str(PurePath(*name.parts[1:])): name for name in names}
        manifest = tar.extractfile(str(read["Cargo.toml"]))
        assert manifest is not None
        workspace = tomllib.loads(manifest.read().decode())["workspace"]
    assert {name.parts[0] for name in names} == {f"samuel_sdk-{samuel.__version__}"}
    crates = ["agent", "config", "contract", "fs", "git", "guest", "hook", "machine", "model", "prd", "process", "state", "template", "toon"]
    members = ["bindings/python", *(f"crates/samuel-{name}" for name in crates), "samuel-core"]
    assert sorted(workspace["members"]) == members
    wanted = {
        "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "pyproject.toml",
        "bindings/python/src/lib.rs", "crates/samuel-process/src/lib.rs", "crates/samuel-template/src/lib.rs", "samuel-core/src/lib.rs",
        "python/samuel/py.typed", "python/samuel/_samuel.pyi", "python/samuel/_registering.pyi",
    }
    assert wanted <= read.keys()
    built = {".so", ".pyd", ".pyc", ".wasm"}
    assert not [name for name in names if name.suffix in built or "target" in name.parts]


USED = """
import pathlib, sys
import samuel
from samuel.testing import completes_each_task
assert pathlib.Path(samuel.__file__).is_relative_to(sys.prefix), samuel.__file__
project = samuel.Project(sys.argv[1])
project.init()
project.enqueue("First")
print(samuel.Loop(project, agent=completes_each_task(), trust=True, pause=0).run().exit_reason)
"""


@pytest.mark.skipif(not LONG, reason="building the package from its archive takes minutes, see --long")
def test_the_package_is_built_from_the_archive_alone(archive: Path, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CARGO_"))}
    # What crates it depends on are the same as in this repository, and built.
    env["CARGO_TARGET_DIR"] = os.environ.get("CARGO_TARGET_DIR", str(tmp_path / "target"))
    env["MATURIN_PEP517_ARGS"] = "--profile dev --features wasm"
    python = tmp_path / "clean/bin/python"

    def run(*command: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=3600, env=env, cwd=tmp_path)

    assert run(sys.executable, "-m", "venv", tmp_path / "clean").returncode == 0
    installed = run(python, "-m", "pip", "install", "--disable-pip-version-check", archive)
    if "No matching distribution" in installed.stderr or "Failed to establish" in installed.stderr:
        pytest.skip("the package index cannot be reached")
    assert installed.returncode == 0, installed.stderr
    (tmp_path / "project").mkdir()
    used = run(python, "-c", USED, tmp_path / "project")
    assert (used.returncode, used.stdout) == (0, "completed\n"), used.stderr
