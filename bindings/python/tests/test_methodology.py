"""Methodologies of a program and of a package that it imports."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import samuel
from conftest import LIMIT
from samuel.testing import completes_each_task


class Terse(samuel.Methodology):
    """Works as the built-in one does, and tells agents less of their task."""

    name = "terse"
    aliases = ("tt",)
    settings = samuel.settings.Settings(max_iterations=7, max_cost_usd=2.5, pause=0, quality_checks=[("true", "1m")])
    templates = {"prompt.md.tmpl": "Do {{ .Iteration.TaskID }} by {{ .Methodology.Source }}.\n"}

    def __init__(self) -> None:
        self.kits: list[samuel.Kit] = []

    def register(self, kit: samuel.Kit, registry: samuel.Defaults) -> None:
        self.kits.append(kit)

        @registry.hook("context.task")
        def replaced(call: samuel.Call[samuel.ContextTaskInput, samuel.ContextTaskOutput]) -> None:
            raise AssertionError("what is built in was registered later")

        @registry.hook("context.extra")
        def extra(
            call: samuel.Call[samuel.ContextExtraInput, samuel.ContextExtraOutput],
        ) -> samuel.ContextExtraOutput:
            return samuel.ContextExtraOutput([samuel.Extra("Rule", f"of {kit.run_id}")])

        registry.built_in()

        @registry.hook("context.task", timeout=60)
        async def task(
            call: samuel.Call[samuel.ContextTaskInput, samuel.ContextTaskOutput],
        ) -> samuel.ContextTaskOutput:
            return samuel.ContextTaskOutput(toon_blob=f"root: {kit.project_root}\n")


def make(root: Path, methodology: Any, config: str = "") -> samuel.Project:
    (root / "samuel.toml").write_text(f'version = "2"\n{config}')
    project = samuel.Project(root, methodology=methodology)
    project.init(force=True)
    project.enqueue("Write it")
    return project


def run(project: samuel.Project) -> tuple[samuel.RunResult, list[str]]:
    loop = samuel.Loop(project, agent=completes_each_task(), trust=True, env={**os.environ, "SEEN": "yes"})
    prompts: list[str] = []
    loop.hook("before:agent.invoke", order=1000)(lambda call: prompts.append(call.previous.prompt))
    return loop.run(), prompts


def test_a_methodology_of_the_program_says_what_the_points_do_by_default(tmp_path: Path) -> None:
    terse = Terse()
    config = 'default_methodology = "terse"\n[methodology.terse]\nkeep_runs = 3\n'
    project = make(tmp_path, terse, config)
    assert project.methodology == "terse"
    result, [prompt] = run(project)
    assert (result.exit_reason, result.exceptions) == ("completed", ())
    assert "\n\nDo 1 by program.\n" in prompt and f"root: {tmp_path}\n" in prompt
    [kit] = terse.kits
    assert f"of {kit.run_id}" in prompt
    assert (kit.project_root, kit.run_dir, kit.binary) == (str(tmp_path), project.run_dir, "samuel")
    assert (kit.settings["max_iterations"], kit.settings["keep_runs"], kit.settings["pause"]) == (7, 3, 0.0)
    assert kit.settings["session_budget"]["max_cost_usd"] == 2.5
    assert (kit.env["SEEN"], kit.guardrails.require_tests) == ("yes", True)
    project.reset("1")
    assert run(project)[0].exit_reason == "completed"
    assert len({kit.run_id for kit in terse.kits}) == 2, "each run has its own"


def test_a_project_names_the_methodology_of_the_program_by_its_name_or_an_alias(tmp_path: Path) -> None:
    for name in ("terse", "tt", "ralph"):
        assert make(tmp_path, Terse(), f'default_methodology = "{name}"\n').methodology == "terse"
    with pytest.raises(samuel.ConfigError) as alias:
        make(tmp_path, Terse(), "[methodology.tt]\n")
    assert '"tt" is another name of the methodology terse' in str(alias.value) and alias.value.line == 2
    with pytest.raises(samuel.ConfigError) as without:
        make(tmp_path, None, 'default_methodology = "terse"\n')
    assert without.value.code == "E_METHODOLOGY_NOT_FOUND"


class Haiku(Terse):
    name = "haiku"
    aliases = ()


def test_of_several_methodologies_the_named_the_default_or_the_first_is_meant(tmp_path: Path) -> None:
    def of(methodology: Any = None) -> samuel.Project:
        return samuel.Project(tmp_path, methodology=methodology, methodologies=[Terse(), Haiku()])

    assert [of(each).methodology for each in (None, "haiku", "tt", "ralph")] == ["terse", "haiku", "terse", "ralph"]
    (tmp_path / "samuel.toml").write_text('version = "2"\ndefault_methodology = "haiku"\n')
    project = of()
    project.init(force=True)
    project.enqueue("Write it")
    result, prompts = run(project)
    assert (project.methodology, result.exit_reason) == ("haiku", "completed")
    assert "Do 1 by program." in prompts[0]
    assert samuel.Project(tmp_path, methodology=Terse(), methodologies=[Haiku()]).methodology == "terse"
    with pytest.raises(samuel.ConfigError, match="another methodology of the program has it"):
        samuel.Project(tmp_path, methodologies=[Terse(), Terse()])


@pytest.mark.parametrize("names", [("ralph", ()), ("mine", ("rw",)), ("../x", ()), ("", ())], ids=str)
def test_a_name_that_means_another_or_a_path_is_refused(tmp_path: Path, names: tuple[str, tuple[str, ...]]) -> None:
    class Named(Terse):
        name, aliases = names  # type: ignore[assignment]

    with pytest.raises(samuel.ConfigError, match="cannot be the name of a methodology"):
        make(tmp_path, Named())


def test_what_is_no_methodology_or_has_wrong_settings_is_refused(tmp_path: Path) -> None:
    class Budget(Terse):
        settings = samuel.settings.Settings(max_cost_usd=float("nan"))

    class Later(Terse):
        async def register(self, kit: Any, registry: Any) -> None:  # type: ignore[override]
            raise AssertionError("nobody waits for it")

    with pytest.raises(samuel.ConfigError, match="session_budget.max_cost_usd: nan is out of range"):
        make(tmp_path, Budget())
    for wrong in (3, object(), Later()):
        with pytest.raises(TypeError, match="a methodology is a name, or"):
            make(tmp_path, wrong)


@pytest.mark.parametrize(
    "attribute, value",
    [
        ("settings", 5),
        ("settings", {"max_consecutive_failures": 0}),
        ("settings", {"sandbox": "\ud800"}),
        ("aliases", 5),
        ("aliases", "xyz"),
        ("aliases", ["\ud800"]),
        ("templates", None),
        ("templates", {"prompt.md.tmpl": 3}),
        ("name", "\udcff"),
    ],
    ids=ascii,
)
def test_a_wrong_attribute_is_named_with_its_methodology(tmp_path: Path, attribute: str, value: Any) -> None:
    methodology = type("Wrong", (Terse,), {attribute: value})()
    with pytest.raises(samuel.ConfigError) as refused:
        make(tmp_path, methodology)
    name = '"\\udcff"' if attribute == "name" else '"terse"'
    assert f"the methodology {name} has wrong {attribute}: " in str(refused.value) and refused.value.help


def test_a_class_and_a_name_that_none_can_have_get_help_of_their_own(tmp_path: Path) -> None:
    class Named(Terse):
        name = "../x"

    with pytest.raises(samuel.ConfigError, match="Terse is a class") as refused:
        make(tmp_path, Terse)
    assert refused.value.help == "Pass an object, such as `Terse()`."
    with pytest.raises(samuel.ConfigError) as refused:
        make(tmp_path, Named())
    assert refused.value.help == "Give the program's methodology another name or alias."


def test_a_template_that_nobody_reads_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    class Misspelt(Terse):
        templates = {"promt.md.tmpl": "Do it.\n"}

    with pytest.raises(samuel.ConfigError, match='no template is called "promt.md.tmpl"') as refused:
        make(tmp_path, Misspelt())
    assert 'Did you mean "prompt.md.tmpl"?' in refused.value.help


def test_an_exception_of_register_names_the_methodology_and_keeps_the_run_from_being_built(tmp_path: Path) -> None:
    class Broken(Terse):
        def register(self, kit: samuel.Kit, registry: samuel.Defaults) -> None:
            registry.built_in()
            self.fail(registry)

        def fail(self, registry: Any) -> None:
            raise ValueError("no rhyme")

    class Misspelt(Broken):
        def fail(self, registry: Any) -> None:
            registry.hook("context.tsk")

    class Placed(Broken):
        def fail(self, registry: Any) -> None:
            registry.hook("context.task", order=3)

    project = make(tmp_path, Broken())
    with pytest.raises(samuel.HookError) as caught:
        run(project)
    assert 'the methodology "terse" cannot register its handlers: ValueError: no rhyme' in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError) and not project.status().running
    with pytest.raises(samuel.HookError) as misspelt:
        run(samuel.Project(tmp_path, methodology=Misspelt()))
    assert misspelt.value.code == "E_HOOK_UNKNOWN" and "context.task" in misspelt.value.help
    with pytest.raises(samuel.HookError, match="neither a name nor an order"):
        run(samuel.Project(tmp_path, methodology=Placed()))


PACKAGE = '''
import samuel

class Haiku:
    """Any object will do."""

    def __init__(self):
        self.name = "haiku"

    def register(self, kit, registry):
        registry.built_in()

        @registry.hook("quality.check")
        def three_lines(call):
            with open(kit.project_root + "/poem.txt") as poem:
                lines = len(poem.readlines())
            return samuel.QualityCheckOutput(ok=lines == 3, reason=f"{lines} lines are no haiku")
'''
USED = r"""
import pathlib, sys
import haiku, samuel
from samuel.testing import ScriptedAgent
for package in (haiku, samuel):
    assert pathlib.Path(package.__file__).is_relative_to(sys.prefix), package.__file__
root = pathlib.Path(sys.argv[1])
(root / "samuel.toml").write_text('version = "2"\ndefault_methodology = "haiku"\n')
project = samuel.Project(root, methodology=haiku.Haiku())
project.init()
project.enqueue("The first snow")
agent = ScriptedAgent()
agent.call().write("poem.txt", "one\ntwo\n").done()
agent.call().write("poem.txt", "one\ntwo\nthree\n").done()
result = samuel.Loop(project, agent=agent, trust=True, pause=0).run()
print(project.methodology, result.exit_reason, result.iterations)
"""


def wheel(directory: Path, name: str, files: dict[str, bytes]) -> Path:
    """Makes a wheel, as a package index has it."""
    about = f"{name}-{samuel.__version__}"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {samuel.__version__}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    path = directory / f"{about}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        for file, content in files.items():
            made.writestr(file, content)
        for file, text in info.items():
            made.writestr(f"{about}.dist-info/{file}", text)
    return path


def test_a_package_that_is_installed_brings_a_methodology(tmp_path: Path) -> None:
    home = Path(samuel.__file__).parent
    sources = [path for path in home.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    own = {str(path.relative_to(home.parent)): path.read_bytes() for path in sources}
    wheels = [wheel(tmp_path, "samuel_sdk", own), wheel(tmp_path, "haiku", {"haiku.py": PACKAGE.encode()})]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    python = tmp_path / "clean/bin/python"

    def call(*command: Any) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The pip of this interpreter installs: to give the new one its own takes most of the time.
    call(sys.executable, "-m", "venv", "--without-pip", tmp_path / "clean")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    call(*pip, "--disable-pip-version-check", "--no-index", *wheels)
    (tmp_path / "project").mkdir()
    assert call(python, "-c", USED, tmp_path / "project") == "haiku completed 2\n"
