"""Plugins that a project has installed: how they get there, and that they act."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel.testing import completes_each_task

MakeProject = Callable[..., samuel.Project]

SKILL = """\
[plugin]
name = "lint"
kind = "skill"
version = "1.2.0"
samuel = "^2.0"
description = "Looks for what was left to do"
[capabilities]
env = ["LEVEL"]
[hooks]
"context.extra" = "hooks/context"
"quality.check" = "hooks/check"
"""
CONTEXT = """\
#!/bin/sh
echo '{"extras": [{"name": "Lint", "content": "level '$LEVEL$SECRET'"}], "contribute": {"Level": 3}}'
"""
CHECK = """\
#!/bin/sh
cat >> seen.json
echo '{"ok": true}'
"""
COMPONENT = """\
[plugin]
name = "changelog"
kind = "wasm"
version = "1.0.0"
samuel = "^2.0"
[hooks]
"quality.check" = "quality-check"
[wasm]
module = "plugin.wasm"
"""


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A plugin of two scripts, not installed."""
    directory = tmp_path / "lint"
    (directory / "hooks").mkdir(parents=True)
    (directory / "samuel-plugin.toml").write_text(SKILL)
    for name, text in (("context", CONTEXT), ("check", CHECK)):
        script = directory / "hooks" / name
        script.write_text(text)
        script.chmod(0o755)
    return directory


@pytest.fixture
def component(tmp_path: Path) -> Path:
    """A plugin that is a component: its check refuses with `no changelog entry`."""
    made = os.environ.get("SAMUEL_TEST_COMPONENT")
    if made is None:
        pytest.skip("SAMUEL_TEST_COMPONENT names no component; `cargo xtask test` makes one")
    directory = tmp_path / "changelog"
    directory.mkdir()
    (directory / "samuel-plugin.toml").write_text(COMPONENT)
    shutil.copy(made, directory / "plugin.wasm")
    return directory


def loop_of(project: samuel.Project, **options: Any) -> samuel.Loop:
    return samuel.Loop(project, agent=completes_each_task(), trust=True, pause=0, max_iterations=1, **options)


def ran(loop: samuel.Loop) -> tuple[samuel.RunResult, dict[str, samuel.HookOutcome]]:
    """Runs a loop; returns its result and what came of each point, the last time."""
    with loop.start() as run:
        fired = {event.point: event.outcome for event in run.events() if isinstance(event, samuel.HookFired)}
        return run.wait(), fired


def test_the_scripts_of_an_installed_plugin_act_in_a_run(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project("First")
    installed = project.install(skill, grant=True)
    assert (installed.name, installed.kind, installed.granted) == ("lint", "skill", {"env": ["LEVEL"]})
    prompts: list[str] = []
    loop = loop_of(project, env={**os.environ, "LEVEL": "seven", "SECRET": "hidden"})

    @loop.hook("before:agent.invoke", order=1000)
    def look(call: samuel.Call[samuel.BeforeAgentInvokeInput, samuel.BeforeAgentInvokeOutput]) -> None:
        prompts.append(call.input.prompt)
        assert call.context.plugins["lint"] == {"Level": 3}

    handlers = [one for one in loop.executables().entries if one.kind == "handler"]
    assert (handlers[0].place, handlers[0].id) == ("context.extra", "lint:hooks/context")
    result, fired = ran(loop)
    assert result.ok and not result.exceptions
    assert [each.handler for each in fired["quality.check"].timings] == ["default", "lint:hooks/check"]
    assert "level seven" in prompts[0] and "hidden" not in prompts[0]
    seen = json.loads(Path(project.root, "seen.json").read_text())
    assert (seen["call"]["handler_id"], seen["call"]["iteration"]) == ("lint:hooks/check", 1)


def test_what_a_plugin_logs_is_in_the_events_and_at_its_logger(
    samuel_project: MakeProject, skill: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check = skill / "hooks" / "check"
    check.write_text("#!/bin/sh\ncat > /dev/null\necho looked at it >&2\necho '{\"ok\": true}'\n")
    project = samuel_project("First")
    project.install(skill, grant=True)
    with caplog.at_level(logging.INFO, logger="samuel.plugin"):
        _, fired = ran(loop_of(project))
        logged = [(line.handler, line.level, line.message) for line in fired["quality.check"].logged]
        assert logged == [("lint:hooks/check", "info", "looked at it")]
        deadline = time.monotonic() + 30
        while not any("looked at it" in record.getMessage() for record in caplog.records):
            assert time.monotonic() < deadline, "it was not handed to logging"
            threading.Event().wait(0.01)
    of_plugin = [record for record in caplog.records if "looked at it" in record.getMessage()]
    assert {record.name for record in of_plugin} == {"samuel.plugin"}


def test_an_installed_component_acts_in_a_run(
    samuel_project: MakeProject, component: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMUEL_CACHE_DIR", str(tmp_path / "cache"))
    project = samuel_project("First")
    assert project.install(component, grant=True).kind == "wasm"
    contributed: list[Any] = []
    loop = loop_of(project)

    @loop.hook("after:iteration")
    def look(call: samuel.Call[samuel.AfterIterationInput, samuel.AfterIterationOutput]) -> None:
        contributed.append(call.context.plugins.get("changelog"))

    result, fired = ran(loop)
    assert fired["quality.check"].refused == "no changelog entry"
    assert fired["quality.check"].broken == ()
    assert [failure.message for failure in result.failures] == ["changelog:quality-check: no changelog entry"]
    assert any((tmp_path / "cache/components").iterdir())

    quiet, fired = ran(loop_of(samuel.Project(project.root), installed_plugins=False))
    assert quiet.ok and fired["quality.check"].refused is None


def test_plugins_act_in_a_run_on_an_event_loop(samuel_project: MakeProject, component: Path, skill: Path) -> None:
    project = samuel_project("First")
    project.install(skill, grant=True)
    project.install(component, grant=True)

    async def main() -> samuel.HookOutcome | None:
        checked = None
        async for event in loop_of(project).astream():
            if isinstance(event, samuel.HookFired) and event.point == "quality.check":
                checked = event.outcome
        return checked

    checked = asyncio.run(main())
    assert checked is not None and checked.refused == "no changelog entry"
    assert [each.handler for each in checked.timings] == ["default", "lint:hooks/check", "changelog:quality-check"]


def test_nothing_is_installed_that_was_not_granted(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project()
    with pytest.raises(samuel.PluginError) as refused:
        project.install(skill)
    assert refused.value.code == "E_PLUGIN_REFUSED" and "grant=True" in refused.value.help
    assert refused.value.__notes__ == ["env: LEVEL"]
    asked: list[samuel.FetchedPlugin] = []
    with pytest.raises(samuel.PluginError, match="asks for was not granted"):
        project.install(skill, grant=lambda fetched: bool(asked.append(fetched)))
    assert project.plugins() == ()
    fetched = asked[0]
    assert (fetched.name, fetched.version, fetched.kind) == ("lint", "1.2.0", "skill")
    assert fetched.capabilities == fetched.new_capabilities == {"env": ["LEVEL"]}
    assert fetched.points == ["context.extra", "quality.check"] and fetched.needs_consent
    # An update that asks for nothing new needs no consent.
    project.install(skill, grant=True)
    assert project.install(str(skill)).name == "lint"


def test_a_source_that_was_moved_is_taken_only_by_who_says_so(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project()
    archive = skill.parent / "lint.tar.gz"

    def pack(text: str) -> None:
        (skill / "README.md").write_text(text)
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(skill, "lint")

    def notes(**given: Any) -> list[str]:
        with pytest.raises(samuel.PluginError, match="has something else now than lint was installed from") as moved:
            project.install(archive, **given)
        assert moved.value.code == "E_PLUGIN_MOVED" and "accept_moved=True" in moved.value.help
        return moved.value.__notes__

    pack("First.")
    first = project.install(archive, grant=True)
    pack("Second.")
    assert notes() == notes(grant=True)  # A grant is none of what was moved.
    before, now = notes()
    assert before == f"before: {first.pin}" and now.startswith("now: sha256:")
    asked: list[samuel.FetchedPlugin] = []
    with pytest.raises(samuel.PluginError) as refused:
        project.install(archive, grant=lambda fetched: bool(asked.append(fetched)))
    assert refused.value.code == "E_PLUGIN_REFUSED"
    assert asked[0].moved == samuel.MovedSource(first.pin or "", now.removeprefix("now: "))
    assert asked[0].before == first and asked[0].needs_consent and not asked[0].wants_more
    second = project.install(archive, accept_moved=True)
    assert second.pin == asked[0].moved.now

    # What was moved and asks for more is granted as well.
    manifest = skill / "samuel-plugin.toml"
    manifest.write_text(manifest.read_text().replace('["LEVEL"]', '["LEVEL", "STYLE"]'))
    pack("Third.")

    async def ask() -> None:
        with pytest.raises(samuel.PluginError) as refused:
            await project.ainstall(archive, accept_moved=True)
        assert refused.value.code == "E_PLUGIN_REFUSED"
        with pytest.raises(samuel.PluginError) as moved:
            await project.ainstall(archive, grant=True)
        assert moved.value.code == "E_PLUGIN_MOVED"
        third = await project.ainstall(archive, grant=True, accept_moved=True)
        assert third.granted == {"env": ["LEVEL", "STYLE"]}

    asyncio.run(ask())


def test_plugins_are_listed_verified_and_removed(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project()
    installed = project.install(skill, grant=True)
    assert project.plugins() == (samuel.ListedPlugin("lint", True, installed),)
    assert project.verify() == (samuel.VerifiedPlugin("lint", (), ()),)
    script = Path(project.root, ".samuel/plugins/lint/hooks/check")
    script.write_text("#!/bin/sh\nevil\n")
    assert project.verify("lint")[0].changes == (samuel.PluginChange("hooks/check", "changed"),)
    project.uninstall("lint")
    assert project.plugins() == ()
    with pytest.raises(samuel.PluginError) as missing:
        project.uninstall("lint")
    assert missing.value.code == "E_PLUGIN_NOT_FOUND"


def test_a_run_refuses_a_plugin_that_is_not_what_was_installed(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project("First")
    project.install(skill, grant=True)
    Path(project.root, ".samuel/plugins/lint/hooks/check").write_text("#!/bin/sh\nevil\n")
    with pytest.raises(samuel.PluginError, match="lint was changed") as changed:
        loop_of(project).run()
    assert changed.value.code == "E_PLUGIN_CHANGED" and changed.value.__notes__ == ["changed: hooks/check"]
    with pytest.raises(samuel.PluginError):
        asyncio.run(loop_of(project).arun())
    shutil.rmtree(Path(project.root, ".samuel/plugins/lint"))
    with pytest.raises(samuel.PluginError) as missing:
        loop_of(project).executables()
    assert missing.value.code == "E_PLUGIN_NOT_FOUND" and "Project.install" in missing.value.help


def test_handlers_of_installed_plugins_run_only_with_trust(samuel_project: MakeProject, skill: Path) -> None:
    project = samuel_project("First")
    project.install(skill, grant=True)
    loop = samuel.Loop(project, agent=completes_each_task(), trust=False)
    with pytest.raises(samuel.SamuelError) as refused:
        loop.run()
    assert refused.value.code == "E_TRUST_REFUSED"
    assert any("lint:hooks/check" in note for note in refused.value.__notes__)


def test_what_went_wrong_is_said_once(samuel_project: MakeProject) -> None:
    project = samuel_project()
    Path(project.root, "samuel.toml").write_text("plugins = 1\n")
    with pytest.raises(samuel.errors.ConfigError) as broken:
        project.plugins()
    first, _, cause = broken.value.message.partition(": ")
    assert first == "samuel.toml cannot be used"
    half = len(cause) // 2
    assert cause and cause[:half].rstrip(": ") != cause[half:].lstrip(": "), cause


def test_what_is_no_plugin_is_not_installed(samuel_project: MakeProject, tmp_path: Path) -> None:
    project = samuel_project()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/samuel-plugin.toml").write_text("[plugin]\nname = 'x'\n")
    with pytest.raises(samuel.PluginError) as invalid:
        project.install(tmp_path / "broken", grant=True)
    assert invalid.value.code == "E_PLUGIN_INVALID" and invalid.value.line == 1
    with pytest.raises(samuel.PluginError) as nowhere:
        project.install(tmp_path / "nowhere", grant=True)
    assert nowhere.value.code == "E_PLUGIN_SOURCE"


def test_a_plugin_of_the_program_takes_the_place_that_samuel_toml_gives_it(
    samuel_project: MakeProject, skill: Path
) -> None:
    listed = '[[plugins]]\nname = "mine"\n'
    project = samuel_project("First", config=listed)
    project.install(skill, grant=True)
    mine = samuel.Plugin("mine")

    @mine.hook("quality.check")
    def check(call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput]) -> None:
        return None

    _, fired = ran(loop_of(project, plugins=[mine]))
    handlers = [each.handler for each in fired["quality.check"].timings]
    assert handlers == ["default", "mine:check", "lint:hooks/check"]
    with pytest.raises(samuel.PluginError, match="mine"):
        loop_of(project).run()
