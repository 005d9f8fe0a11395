"""A loop over a small project, with two handlers and an agent without network.

Makes a repository with a plan of two tasks, lets a scripted agent work on it,
checks each step in Python, and shows what came of it.

    python examples/python/demo.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import samuel
from samuel.testing import ScriptedAgent

PRD = """\
# Greeter

## Tasks

- [ ] Greet the world
- [ ] Say goodbye
"""


def make_project(root: Path) -> samuel.Project:
    """Makes a repository with a PRD, and a plan of it."""
    (root / "prd.md").write_text(PRD, encoding="utf-8")
    for command in ("git init -q", "git add -A"):
        subprocess.run(command.split(), cwd=root, check=True)
    project = samuel.Project(root)
    project.init("prd.md")
    return samuel.Project(root)


def make_agent() -> ScriptedAgent:
    """An agent that forgets the second file at first."""
    agent = ScriptedAgent()
    agent.call(task="1").say("I greet the world.").write("hello.txt", "Hello, world!\n").done()
    agent.call(task="2").say("Done, I think.").done()
    agent.call(task="2").say("The file was missing.").write("goodbye.txt", "Goodbye!\n").done()
    return agent


def main() -> samuel.RunResult:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        project = make_project(root)
        loop = samuel.Loop(project, agent=make_agent(), trust=True, pause=0, max_iterations=5)

        @loop.hook("context.extra")
        def house_rules(
            call: samuel.Call[samuel.ContextExtraInput, samuel.ContextExtraOutput],
        ) -> samuel.ContextExtraOutput:
            """Adds a section to every prompt."""
            branch = call.context.project.branch or "no branch"
            call.contribute("branch", branch)
            return samuel.ContextExtraOutput([samuel.Extra("House rules", f"We work on {branch}.")])

        @loop.hook("quality.check", timeout=60)
        def files_are_there(
            call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput],
        ) -> samuel.QualityCheckOutput:
            """Fails where a task left out its file."""
            wanted = {"1": "hello.txt", "2": "goodbye.txt"}[call.context.iteration.task_id]
            if (root / wanted).exists():
                return samuel.QualityCheckOutput()
            missing = samuel.CheckFailure(command="files", message=f"{wanted} is missing")
            return samuel.QualityCheckOutput(ok=False, reason=missing.message, failures=[missing])

        for event in loop.stream():
            match event:
                case samuel.IterationStarted(iteration=number, task=task):
                    print(f"iteration {number}: {task.title if task else 'discovery'}")
                case samuel.AgentReported(report=samuel.AgentText(text)):
                    print(f"  agent: {text}")
                case samuel.QualityChecked(ok=ok, failures=failures):
                    print("  check:", "ok" if ok else "; ".join(each.message for each in failures))
                case samuel.RunFinished(exit_reason=reason):
                    print(f"ended: {reason}")
        for done in project.tasks():
            print(f"{done.id} {done.status:9} {done.title}")
        # Nothing is left to do, so this run ends at once.
        return loop.run()


if __name__ == "__main__":
    raise SystemExit(0 if main().ok else 1)
