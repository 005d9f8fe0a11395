"""Fixtures for tests with pytest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from samuel import Loop, Project


@pytest.fixture
def samuel_project(tmp_path: Path) -> Callable[..., Project]:
    """Makes a project with tasks, given by title, in a directory of its own."""

    def make(*titles: str, config: str = "") -> Project:
        from samuel.project import Project

        root = tmp_path / f"project-{len(list(tmp_path.iterdir()))}"
        root.mkdir()
        if config:
            (root / "samuel.toml").write_text(config, encoding="utf-8")
        project = Project(root)
        project.init()
        for title in titles:
            project.enqueue(title)
        # What init wrote decides from now on.
        return Project(root)

    return make


@pytest.fixture
def samuel_loop(samuel_project: Callable[..., Project]) -> Callable[..., Loop]:
    """Makes a loop over a project of its own: trusted, without pauses, with an
    agent that completes each task, unless it is told otherwise."""

    def make(*titles: str, config: str = "", **options: Any) -> Loop:
        from samuel.loop import Loop
        from samuel.testing import completes_each_task

        project = samuel_project(*(titles or ("First",)), config=config)
        return Loop(project, **{"agent": completes_each_task(), "trust": True, "pause": 0.0, **options})

    return make
