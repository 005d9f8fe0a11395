"""A service that streams the events of a run to whoever connects.

Speaks JSON Lines over a socket on loopback, with nothing but asyncio. Run as a
script it starts a run, connects to itself once, and prints what it got.

    python examples/python/service.py
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from pathlib import Path

import samuel
from samuel.testing import completes_each_task


class Service:
    """Runs loops, and sends their events to every connection."""

    def __init__(self, project: samuel.Project) -> None:
        self.project = project
        self.readers: set[asyncio.Queue[str | None]] = set()

    async def serve(self, started: asyncio.Future[int]) -> None:
        """Listens until it is cancelled."""
        server = await asyncio.start_server(self.connected, "127.0.0.1", 0)
        started.set_result(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def connected(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Sends events to one connection until the run has ended."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.readers.add(queue)
        try:
            while (line := await queue.get()) is not None:
                writer.write(line.encode() + b"\n")
                await writer.drain()
        finally:
            self.readers.discard(queue)
            writer.close()

    async def run(self) -> samuel.ExitReason:
        """Runs the loop; cancelling this task stops the run and its agent."""
        loop = samuel.Loop(self.project, agent=completes_each_task(), trust=True, pause=0)

        @loop.hook("quality.check")
        async def check(call: samuel.Call[samuel.QualityCheckInput, samuel.QualityCheckOutput]) -> None:
            await asyncio.sleep(0.01)

        reason: samuel.ExitReason = "error"
        async for event in loop.astream():
            line = json.dumps(event.to_dict())
            for queue in self.readers:
                queue.put_nowait(line)
            if isinstance(event, samuel.RunFinished):
                reason = event.exit_reason
        for queue in self.readers:
            queue.put_nowait(None)
        return reason


async def main() -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        project = samuel.Project(Path(directory))
        project.init()
        project.enqueue("Greet the world")
        service = Service(project)
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(service.serve(started))
        reader, writer = await asyncio.open_connection("127.0.0.1", await started)
        while not service.readers:
            await asyncio.sleep(0.001)
        running = asyncio.create_task(service.run())
        names = [json.loads(line)["event"] async for line in reader]
        print(f"{len(names)} events, {names[0]} to {names[-1]}; the run ended {await running}")
        writer.close()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        return names


if __name__ == "__main__":
    asyncio.run(main())
