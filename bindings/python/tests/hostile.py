"""One run with a handler that does its worst, in an interpreter of its own.

`python hostile.py ROOT KIND` exits with 0 where the run ended as it should. It
says what came of the handler, and how long after its deadline; for a run that
is stopped, how long after that it ended.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from typing import Any

import samuel
from samuel.testing import ScriptedAgent, completes_each_task

TIMEOUT = 0.3
# A process needs its time to get as far as the handler.
PROCESS_TIMEOUT = 2.0
# Handlers that end by themselves, however busy the machine is.
ENDING = {"raises", "exits", "dies", "wrong", "forks"}
ENDING_TIMEOUT = 60.0
FOREVER = 600


def handler(call: Any) -> Any:
    match sys.argv[-1].removeprefix("process-"):
        case "spins":
            while True:
                pass
        case "sleeps" | "forked" | "cancelled" | "left" | "unwatched":
            time.sleep(FOREVER)
        case "holds":
            # With the interpreter's lock: no other thread of Python runs.
            ctypes.PyDLL(None).usleep(400_000)
        case "holds-on":
            ctypes.PyDLL(None).sleep(FOREVER)
        case "ignores":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.system(f"trap '' TERM; sleep {FOREVER} & wait")
        case "raises":
            raise ValueError("x")
        case "exits":
            raise SystemExit(3)
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "wrong":
            return 7
        case "forks":
            pid = os.fork()
            if pid:
                os.waitpid(pid, 0)


def process_handler(call: Any) -> Any:
    # The process has other arguments; the environment says what it is.
    sys.argv[-1] = os.environ["HOSTILE"]
    return handler(call)


async def async_handler(call: Any) -> None:
    match sys.argv[-1]:
        case "async-blocks":
            time.sleep(FOREVER)
        case "async-shields":
            while True:
                try:
                    await asyncio.sleep(FOREVER)
                except asyncio.CancelledError:
                    pass
        case _:
            await asyncio.sleep(FOREVER)


def busy(root: str) -> int:
    """Leaves a run that calls handlers all the time, on its own thread."""
    agent = ScriptedAgent()
    agent.call(repeat=True).enqueue("More").done()
    loop = samuel.Loop(root, agent=agent, trust=True, pause=0, max_iterations=100_000)
    for point in samuel.HOOK_POINTS:
        if point != "agent.invoke" and not point.startswith(("init.", "sync.")):
            loop.hook(point, inline=True)(lambda call: None)  # type: ignore[call-overload]
    run = loop.start()
    next(event for event in run.events() if isinstance(event, samuel.IterationFinished))
    return 0


def main() -> int:
    root, kind = sys.argv[1:]
    if kind == "busy":
        return busy(root)
    in_process = kind.startswith("process-")
    env = {**os.environ, "HOSTILE": kind}
    loop = samuel.Loop(root, agent=completes_each_task(), trust=True, pause=0, env=env)
    timeout = PROCESS_TIMEOUT if in_process else None if kind in ("cancelled", "left", "unwatched") else TIMEOUT
    if kind.removeprefix("process-") in ENDING:
        timeout = ENDING_TIMEOUT
    hostile = process_handler if in_process else async_handler if kind.startswith("async") else handler
    loop.hook("after:iteration", "hostile", timeout=timeout, isolate="process" if in_process else None)(hostile)
    if kind == "forked":
        # What follows is done by a process that was forked, and by this one.
        loop.executables()
        if pid := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    late, came = 0.0, ""
    run = loop.start()
    if kind == "unwatched":
        next(event for event in run.events() if isinstance(event, samuel.QualityChecked))
        return 0
    with run:
        for event in run.events():
            match event:
                case samuel.QualityChecked() if kind == "cancelled":
                    stopped = time.monotonic()
                    run.stop()
                case samuel.QualityChecked() if kind == "left":
                    raise SystemExit(0)
                case samuel.HookFired("after:iteration", outcome=outcome):
                    late = outcome.timings[-1].took - (timeout or 0)
                    came = outcome.timings[-1].class_ or outcome.timings[-1].status
        result = run.wait()
    if kind == "cancelled":
        late = time.monotonic() - stopped
    print(came, late)
    return 0 if result.exit_reason == ("cancelled" if kind == "cancelled" else "completed") else 1


if __name__ == "__main__":
    raise SystemExit(main())
