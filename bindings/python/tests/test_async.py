"""What is awaited: runs, sessions and plans on the event loop of the caller."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


class HttpSession:
    """An HTTP session over one connection that is kept, to a server on this machine; of one event loop."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.left = asyncio.Event()
        self.served = 0

    async def __aenter__(self) -> HttpSession:
        self.server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.reader, self.writer = await asyncio.open_connection(*self.server.sockets[0].getsockname())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await self.left.wait()
        self.server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await reader.readline()).startswith(b"GET "):
            await reader.readuntil(b"\r\n\r\n")
            self.served += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()
        self.left.set()

    async def get(self) -> bytes:
        async with self.lock:
            self.writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n")
            await self.reader.readuntil(b"\r\n\r\n")
            return await self.reader.readexactly(2)


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


def test_what_calls_handlers_beside_a_run_asks_for_trust_and_leaves_threads_to_them(samuel_loop: MakeLoop) -> None:
    asked: list[samuel.Executables] = []
    seen: list[int] = []

    async def trust(executables: samuel.Executables) -> bool:
        await asyncio.sleep(0)
        asked.append(executables)
        return True

    loop = samuel_loop("First", trust=trust)

    async def look(call: Any) -> None:
        # On the only thread of the pool.
        seen.append(len(await loop.project.atasks()))

    loop.hook("context.extra", timeout=20)(look)
    loop.hook("quality.check", timeout=20)(look)

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        assert await loop.aprompt_stats() is not None
        await loop.afire_hooks("quality.check")
        await loop.atest_hook("api:look", point="quality.check")

    asyncio.run(main())
    assert seen == [1, 1, 1] and len(asked) == 3


def test_waiting_in_the_way_of_the_own_handlers_is_refused(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")

    async def main() -> samuel.RunResult:
        run = await loop.astart()
        for waits in (run.wait, lambda: next(run.events()), run.__enter__):
            with pytest.raises(RuntimeError, match="block the event loop"):
                waits()
        for decides, instead in ((run.approve, "aapprove"), (run.deny, "adeny")):
            with pytest.raises(RuntimeError, match=f"block the event loop.* use Run.{instead}$"):
                decides(57)
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


def test_many_runs_at_once_share_an_http_session(
    samuel_project: MakeProject, caplog: pytest.LogCaptureFixture
) -> None:
    # What pytest would keep of each run is no memory of the runs.
    caplog.set_level(logging.ERROR, logger="samuel")
    # By the flag as many as a service has.
    number = int(os.environ.get("SAMUEL_RUNS", "1000" if os.environ.get("SAMUEL_LONG") else "24"))
    agent = samuel.testing.completes_each_task()

    async def one(root: str, session: HttpSession) -> bool:
        _request.set(root)
        project = await samuel.Project.aopen(root)
        loop = samuel.Loop(project, agent=agent, trust=True, pause=0)

        @loop.hook("quality.check", strict=True)
        async def check(call: Any) -> None:
            assert _request.get() == call.context.project.root
            assert await session.get() == b"ok"

        return (await loop.arun()).ok

    async def all_of(roots: list[str]) -> None:
        async with HttpSession() as session:
            ended = await asyncio.gather(*(one(root, session) for root in roots))
        assert all(ended) and session.served == len(roots)

    few, many = ([samuel_project("First").root for _ in range(count)] for count in (20, number))
    asyncio.run(all_of(few))
    threads, before = len(threading.enumerate()), resident()
    asyncio.run(all_of(many))
    assert len(threading.enumerate()) <= threads + 1
    # What they took has come back.
    after = resident()
    assert after <= 1.2 * before, f"{after} pages, of {before} before"


def resident() -> int:
    """The memory of this process, in pages, without what the allocator keeps to give again."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # Another C library than glibc.
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1])
