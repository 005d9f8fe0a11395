"""What is awaited: runs, sessions and plans on the event loop of the caller."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import samuel

MakeLoop = Callable[..., samuel.Loop]
MakeProject = Callable[..., samuel.Project]

_request: ContextVar[str] = ContextVar("request", default="none")


class Pool:
    """What can be used on the event loop alone that it was made on, as the session of an HTTP client."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.lock = asyncio.Lock()
        self.served = 0

    async def get(self) -> None:
        assert asyncio.get_running_loop() is self.loop
        async with self.lock:
            await asyncio.sleep(0)
            self.served += 1


def test_async_handlers_run_on_the_callers_loop_with_its_context_variables(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First", "Second")
    seen: list[Any] = []

    async def main() -> samuel.RunResult:
        pool = Pool()
        _request.set("r1")

        @loop.hook("quality.check", strict=True)
        async def check(call: Any) -> None:
            await pool.get()
            seen.append(("async", _request.get(), threading.get_ident()))
            _request.set("of one call alone")

        @loop.hook("after:iteration", strict=True)
        def after(call: Any) -> None:
            seen.append(("thread", _request.get(), threading.get_ident() == here))

        here = threading.get_ident()
        result = await loop.arun()
        assert pool.served == 2
        assert _request.get() == "r1"
        return result

    here = threading.get_ident()
    assert asyncio.run(main()).check().ok
    assert seen == [("async", "r1", here), ("thread", "r1", False)] * 2


def test_an_async_agent_runs_on_the_callers_loop(samuel_loop: MakeLoop) -> None:
    at: list[Any] = []

    async def agent(call: Any) -> None:
        at.append(asyncio.get_running_loop())
        await loop.project.adone(call.context.iteration.task_id)

    loop = samuel_loop("First", agent=agent)

    async def main() -> None:
        assert (await loop.arun()).ok
        assert at == [asyncio.get_running_loop()]

    asyncio.run(main())


def test_handlers_of_a_run_that_no_loop_started_have_its_context_variables(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[Any] = []
    token = _request.set("r2")

    @loop.hook("quality.check")
    async def check(call: Any) -> None:
        seen.append(_request.get())

    @loop.hook("after:iteration")
    def after(call: Any) -> None:
        seen.append(_request.get())

    try:
        assert loop.run().ok
    finally:
        _request.reset(token)
    assert seen == ["r2", "r2"]


def test_a_run_is_started_and_awaited(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    async def main() -> None:
        run = await loop.start_async()
        assert run.run_id and repr(run).startswith("<Run ")
        names = [type(event).__name__ async for event in run.aevents()]
        assert (names[0], names[-1]) == ("RunStarted", "RunFinished")
        assert (await run).ok and (await run.await_result()).ok

    asyncio.run(main())


def test_leaving_a_run_by_an_exception_stops_it(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    @loop.hook("quality.check")
    async def check(call: Any) -> None:
        await asyncio.Event().wait()

    async def main() -> samuel.RunResult:
        run = await loop.astart()
        with pytest.raises(KeyError):
            async with run:
                async for event in run.aevents():
                    if isinstance(event, samuel.AgentReported):
                        raise KeyError("x")
        return await run

    assert asyncio.run(main()).exit_reason == "cancelled"


def test_building_a_run_does_not_block_the_loop(samuel_project: MakeProject) -> None:
    threads: list[int] = []

    class Watched(samuel.Methodology):
        name = "watched"

        def register(self, kit: samuel.Kit, registry: samuel.Defaults) -> None:
            threads.append(threading.get_ident())
            registry.built_in()

            @registry.hook("quality.check")
            async def check(call: Any) -> None:
                threads.append(threading.get_ident())

    root = samuel_project("First").root
    project = samuel.Project(root, methodology=Watched())
    project.init()
    project.enqueue("Second")
    agent = samuel.testing.completes_each_task()
    result = asyncio.run(samuel.Loop(project, agent=agent, trust=True, pause=0).arun())
    assert result.ok
    here = threading.get_ident()
    # Built on another thread, and its handler at home on the loop.
    assert threads[0] != here and threads[-1] == here


def test_who_is_asked_for_trust_may_be_async(samuel_loop: MakeLoop) -> None:
    async def trust(executables: samuel.Executables) -> bool:
        await asyncio.sleep(0)
        return any(entry.kind == "agent" for entry in executables.entries)

    loop = samuel_loop("First", trust=trust)
    assert asyncio.run(loop.arun()).ok
    loop.project.reset("1")
    with pytest.raises(TypeError, match="async function"):
        loop.run()


def test_waiting_in_the_way_of_the_own_handlers_is_refused(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    async def main() -> samuel.RunResult:
        run = await loop.astart()
        for waits in (run.wait, lambda: next(run.events()), run.__enter__):
            with pytest.raises(RuntimeError, match="block the event loop"):
                waits()
        # From another thread it is as well as ever.
        assert (await asyncio.to_thread(run.wait, 30)).ok
        return await run

    assert asyncio.run(main()).ok


def test_a_handler_whose_loop_is_closed_fails_and_the_run_ends(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    held = threading.Event()

    @loop.hook("before:iteration")
    def waits(call: Any) -> None:
        held.wait(30)

    @loop.hook("after:iteration")
    async def late(call: Any) -> None: ...

    run = asyncio.run(loop.astart())
    held.set()
    result = run.wait(60)
    assert "is closed" in str(result.exceptions[0])


def test_a_session_that_is_awaited_has_its_handlers_on_the_loop(samuel_project: MakeProject) -> None:
    session = samuel.Session(samuel_project("First"))

    async def main() -> None:
        pool = Pool()

        @session.hook("ability.before", strict=True)
        async def before(call: Any) -> None:
            await pool.get()

        async def ability(input: Any) -> str:
            return "done"

        async with session:
            assert (await session.acall_ability("Bash", ability)).result() == "done"
            with pytest.raises(RuntimeError, match="begins with a"):
                session.before("Bash")
        assert pool.served == 1

    asyncio.run(main())


def test_every_method_that_waits_can_be_awaited() -> None:
    at_once = {"find", "forms"}
    for kind in (samuel.Project, samuel.LiveRun):
        methods = {name for name, value in vars(kind).items() if callable(value) and name[0] != "_"}
        waits = {name for name in methods - at_once if not name.startswith("a") or f"a{name}" in methods}
        waits -= {name for name in methods if name[0] == "a" and name[1:] in methods}
        assert {f"a{name}" for name in waits} <= methods


def test_a_plan_is_read_and_changed_without_blocking(samuel_project: MakeProject) -> None:
    root = samuel_project("First").root

    async def main() -> None:
        project = await samuel.Project.aopen(root)
        second = await project.aenqueue("Second", priority="high")
        await project.adone("1", commit_sha="abc1234")
        assert [task.status for task in await project.atasks()] == ["completed", "pending"]
        assert (await project.atask(second.id)).priority == "high"
        with pytest.raises(samuel.StateError):
            await project.atask("77")

    asyncio.run(main())
    assert samuel.Project.atasks.__name__ == "atasks" and samuel.Project.atasks.__doc__


def test_many_runs_at_once_share_what_is_on_the_loop(samuel_project: MakeProject) -> None:
    # By the flag as many as a service has.
    number = int(os.environ.get("SAMUEL_RUNS", "1000" if os.environ.get("SAMUEL_LONG") else "24"))
    roots = [samuel_project("First").root for _ in range(number)]
    agent = samuel.testing.completes_each_task()

    async def main() -> list[bool]:
        pool = Pool()

        async def one(root: str) -> bool:
            _request.set(root)
            project = await samuel.Project.aopen(root)
            loop = samuel.Loop(project, agent=agent, trust=True, pause=0)

            @loop.hook("quality.check", strict=True)
            async def check(call: Any) -> None:
                assert _request.get() == call.context.project.root
                await pool.get()

            return (await loop.arun()).ok

        ended = list(await asyncio.gather(*map(one, roots)))
        assert pool.served == number
        return ended

    threads = len(threading.enumerate())
    assert asyncio.run(main()) == [True] * number
    first = resident()
    for root in roots:
        samuel.Project(root).reset("1")
    assert asyncio.run(main()) == [True] * number
    assert len(threading.enumerate()) <= threads + 1
    # What the first ones took has come back, and serves the others.
    assert resident() <= 1.2 * first


def resident() -> int:
    """The memory of this process, in pages."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])
