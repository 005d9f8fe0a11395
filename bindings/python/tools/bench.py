"""What the Python package costs. `cargo xtask bench python` runs it.

Each gate is a ratio to what Python itself takes, or a bound in microseconds
for what is nothing but work of the processor. Everything compared is measured
in turns, and the best of many rounds counts.

The gates are those of the profile of wheels, which is optimised. What a bare `pip install` builds of a clone
is not but for its documents, so there the figures are shown and held against nothing.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import samuel
from samuel import _samuel, toon
from samuel.testing import ScriptedAgent, dispatch, handler

ROUNDS = 25
# The one that the gates are for.
WHEEL = "wheel"


def best(*actions: Callable[[], object]) -> list[float]:
    """The best time of each action, in seconds."""
    times = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for place, action in enumerate(actions):
            started = time.perf_counter()
            action()
            times[place] = min(times[place], time.perf_counter() - started)
    return times


class Gates:
    """Prints what was measured, and remembers what was missed.

    Args:
        profile: What the module was built with.
    """

    def __init__(self, profile: str) -> None:
        self.missed: list[str] = []
        self._hold = profile == WHEEL
        print(f"the native module is built with the profile {profile}")
        if not self._hold:
            print(f"no gate is held: they are those of the profile {WHEEL}")

    def check(self, name: str, value: float, limit: float, unit: str) -> None:
        verdict = "pass" if value <= limit else "FAIL" if self._hold else "over"
        if value > limit and self._hold:
            self.missed.append(name)
        print(f"{name:<58}{value:>9.2f} {unit:<3} at most {limit:>6.2f}   {verdict}")


def handlers(gates: Gates) -> None:
    repeat = 20_000

    def says_nothing(call: Any) -> None:
        return None

    def reads_and_answers(call: Any) -> samuel.AfterLoopOutput:
        call.input
        return samuel.AfterLoopOutput()

    def per_call(*given: Any) -> float:
        took = [dispatch("after:loop", *given, repeat=repeat).seconds / repeat for _ in range(7)]
        return min(took) * 1e6

    empty = per_call()
    inline = per_call(handler(says_nothing, inline=True)) - empty
    gates.check("an inline handler, over a dispatch without one", inline, 2.0, "us")
    print(f"{'  one that reads its input and answers':<58}{per_call(handler(reads_and_answers, inline=True)) - empty:>9.2f} us")
    repeat = 2_000
    print(f"{'  one on a worker':<58}{per_call(says_nothing) - empty:>9.2f} us")

    async def on_loop(call: Any) -> None:
        return None

    print(f"{'  one on the event loop':<58}{per_call(on_loop) - empty:>9.2f} us")


def events(gates: Gates) -> None:
    said = 5_000

    def took(stream: bool) -> tuple[float, int]:
        with tempfile.TemporaryDirectory() as root:
            project = samuel.Project(root)
            project.init()
            project.enqueue("Talk")
            agent = ScriptedAgent()
            call = agent.call()
            for number in range(said):
                call.say(str(number))
            call.done()
            loop = samuel.Loop(project, agent=agent, trust=True, pause=0)
            started = time.perf_counter()
            count = sum(1 for _ in loop.stream()) if stream else 0
            if not stream:
                loop.run()
            return time.perf_counter() - started, count

    took(True)
    rounds = [(took(False)[0], took(True)) for _ in range(5)]
    alone = min(run for run, _ in rounds)
    streamed, count = min(stream for _, stream in rounds)
    gates.check("an event of a stream", max(0.0, streamed - alone) / count * 1e6, 20.0, "us")


def codec(gates: Gates) -> None:
    tasks = [
        {
            "id": str(n),
            "title": f"Task number {n}: do something",
            "status": "pending" if n % 3 else "completed",
            "priority": "medium",
            "estimate": n / 4,
            "iteration": n,
            "done": n % 3 == 0,
            "reason": None,
        }
        for n in range(2_000)
    ]
    table = {"tasks": tasks}
    nested = {"projects": [{"name": f"p{n}", "owner": {"id": n, "tags": ["a", "b"]}, "tasks": tasks[:5]} for n in range(100)]}
    try:
        import toons
    except ImportError:
        toons = None
        print("skipped: toons is not installed")
    for name, data in (("table", table), ("nested", nested)):
        as_json, as_toon = json.dumps(data), toon.dumps(data)
        assert toon.loads(as_toon) == json.loads(as_json)
        writes = [lambda data=data: toon.dumps(data), lambda data=data: json.dumps(data)]
        reads = [lambda text=as_toon: toon.loads(text), lambda text=as_json: json.loads(text)]
        if toons is not None:
            theirs = toons.dumps(data)
            writes.append(lambda data=data: toons.dumps(data))
            reads.append(lambda text=theirs: toons.loads(text))
        written, read = best(*writes), best(*reads)
        gates.check(f"toon.dumps to json.dumps, {name}", written[0] / written[1], 0.5, "x")
        if toons is not None:
            gates.check(f"toon.dumps to toons.dumps, {name}", written[0] / written[2], 1.0, "x")
        if name == "table":
            gates.check(f"toon.loads to json.loads, {name}", read[0] / read[1], 1.0, "x")
        else:
            print(f"{'  toon.loads to json.loads, ' + name:<58}{read[0] / read[1]:>9.2f} x")
        if toons is not None:
            print(f"{'  toon.loads to toons.loads, ' + name:<58}{read[0] / read[2]:>9.2f} x")


def main() -> int:
    gates = Gates(_samuel.BUILD_PROFILE)
    handlers(gates)
    events(gates)
    codec(gates)
    if gates.missed:
        print("missed:", "; ".join(gates.missed), file=sys.stderr)
    return 1 if gates.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
