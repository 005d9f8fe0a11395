"""A methodology of the program: one poem a task, of three lines.

It stands on the methodology that is built in, with another prompt and another
check: what is not a haiku yet is taken back. No model, no network.

    python examples/python/haiku.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import samuel
from samuel.testing import ScriptedAgent

POEM = "poem.txt"
QualityCall = samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput]


class Haiku(samuel.Methodology):
    """One poem a task."""

    name = "haiku"
    settings = samuel.settings.Settings(max_iterations=5, pause=0)
    templates = {"prompt.md.tmpl": "A haiku, please: {{ .State.NextTask.Title }}\n"}

    def register(self, kit: samuel.Kit, registry: samuel.Defaults) -> None:
        registry.built_in()

        @registry.hook("quality.check")
        def three_lines(call: QualityCall) -> samuel.QualityCheckOutput:
            lines = (Path(kit.project_root) / POEM).read_text(encoding="utf-8").splitlines()
            return samuel.QualityCheckOutput(ok=len(lines) == 3, reason=f"{len(lines)} lines are no haiku")


def main() -> samuel.RunResult:
    with tempfile.TemporaryDirectory() as directory:
        project = samuel.Project(directory, methodology=Haiku())
        project.init()
        project.enqueue("the first snow")
        agent = ScriptedAgent()
        agent.call().write(POEM, "Snow.\n").done()
        agent.call().write(POEM, "The first snow falls,\nand the dog, who has seen none,\nbarks at every flake.\n").done()
        loop = samuel.Loop(project, agent=agent, trust=True)
        for event in loop.stream():
            match event:
                case samuel.QualityChecked(ok=False, reason=reason):
                    print(f"taken back: {reason}")
                case samuel.RunFinished(exit_reason=reason):
                    print(f"{project.methodology}: {reason}")
        print((Path(directory) / POEM).read_text(encoding="utf-8"), end="")
        return loop.run()


if __name__ == "__main__":
    raise SystemExit(0 if main().ok else 1)
