"""A walk through Samuel, cell by cell, as in a notebook.

Each `# %%` begins a cell for editors that know them; the whole is a script,
and a test runs it.
"""

# %% A project and its plan
import tempfile
from pathlib import Path

import samuel
from samuel import toon
from samuel.testing import ScriptedAgent, dispatch

root = Path(tempfile.mkdtemp(prefix="samuel-walk-"))
project = samuel.Project(root)
project.init()
project.enqueue("Write the parser", priority="high", acceptance=["reads its own output"])
project.enqueue("Write the printer", depends_on=["1"])
for task in project.tasks():
    print(task.id, task.status, task.title)

# %% Where it stands
status = project.status()
match status.next:
    case samuel.NextTask(task):
        print("next:", task.title)
    case samuel.AllDone():
        print("nothing left")

# %% A handler, tried without a loop
def no_todos(
    call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput],
) -> samuel.QualityCheckOutput:
    """Refuses work that leaves a TODO behind."""
    left = [path.name for path in root.glob("*.py") if "TODO" in path.read_text(encoding="utf-8")]
    failures = [samuel.CheckFailure("todos", f"{name} has a TODO") for name in left]
    return samuel.QualityCheckOutput(ok=not left, failures=failures)


tried = dispatch("quality.check", no_todos)
assert tried.outcome.refused is None

# %% An agent that makes a mistake, and learns of it
agent = ScriptedAgent()
agent.call(task="1").write("parser.py", "# TODO\n").done()
agent.call(task="1").write("parser.py", "def parse(): ...\n").done()
agent.call(task="2").write("printer.py", "def show(): ...\n").usage(output_tokens=120, cost_usd=0.01).done()
loop = samuel.Loop(project, agent=agent, trust=True, pause=0)
loop.hook("quality.check")(no_todos)
result = loop.run()
assert result.exit_reason == "completed"
assert [failure.class_ for failure in result.failures] == ["quality-check"]
print(result.iterations, "iterations,", result.cost_usd, "dollars")

# %% What was stored is TOON
rows = [task.to_dict() for task in project.tasks()]
text = toon.dumps({"tasks": [{"id": row["id"], "title": row["title"]} for row in rows]})
print(text)
assert toon.loads(text)["tasks"][0]["title"] == "Write the parser"

# %% A damaged document still gives what can be read
damaged = toon.recover("tasks[2]{id,title}:\n  1,Parse\n  2\n")
assert damaged.value == {"tasks": [{"id": 1, "title": "Parse"}]}
print(damaged.diagnostics[0].message)
