"""The plan of a run, from within a call of its agent.

    >>> from samuel import broker
    >>> broker.connect({}) is None
    True

A loop gives each call of its agent a socket and a token. A `Broker` asks the loop over them, as
`samuel run done` does; docs/broker.md says what an agent may ask, and how each change is written.
Answers are what the command prints with `--json`.
"""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING

from .errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

__all__ = ["Broker", "connect"]

_PATIENCE = 20.0
"""How long the loop may take for an answer, in seconds."""

_MAX_MESSAGE = 1 << 20
"""The most bytes of a message."""


def connect(env: Mapping[str, str] | None = None) -> Broker | None:
    """Connects to the loop that called this agent.

    Args:
        env: The environment of the call. Default: that of this process.

    Returns:
        `None` where no loop called it: then the plan is in the files of `samuel.Project`.

    Raises:
        StateError: The loop is gone (`E_BROKER_GONE`), or does not let the caller in.
    """
    env = os.environ if env is None else env
    path, token = env.get("SAMUEL_SOCKET"), env.get("SAMUEL_TOKEN")
    return Broker(path, token) if path and token else None


class Broker:
    """A plan that the loop keeps which called this agent. One thread uses it at a time.

    Attributes:
        welcome: What the loop said of itself and of the call: `run`, `iteration`, `task`, `may`, `plan`.
    """

    def __init__(self, path: str | os.PathLike[str], token: str, *, timeout: float = _PATIENCE) -> None:
        self._last = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(os.fspath(path))
            self._lines = self._socket.makefile("rb")
            self.welcome: dict[str, Any] = self._exchange({"samuel": "run/1", "token": token})
        except (OSError, EOFError, ValueError) as error:
            self._socket.close()
            message = "the loop that called the agent is gone, or cannot be reached"
            raise StateError(message, code="E_BROKER_GONE") from error
        except StateError:
            self._socket.close()
            raise

    def __enter__(self) -> Broker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. May be called again."""
        self._socket.close()

    def mutate(self, type: str, **fields: Any) -> dict[str, Any]:
        """Changes the plan: `broker.mutate("done", id="3", commit_sha="ab12cd3")`.

        Returns:
            What came of it, once it is on the disk: `revision`, `change` and `task`.

        Raises:
            StateError: The loop or the plan refuses. With the code `E_BROKER_UNANSWERED` the change may have been made.
        """
        try:
            return self._ask("mutate", {"type": type, **fields}, "applied")
        except (OSError, EOFError, ValueError) as error:
            message = "the run did not say whether the change was made"
            raise StateError(message, code="E_BROKER_UNANSWERED", retryable=True) from error

    def plan(self) -> dict[str, Any]:
        """Reads the plan.

        Returns:
            `version`, `revision`, `project`, `tasks` and `progress`.

        Raises:
            StateError: The loop or the plan refuses.
        """
        for _ in range(20):
            page = self._read("plan", {"from": 0}, "page")
            plan: dict[str, Any] = page["plan"]
            while (start := page.get("next")) is not None:
                page = self._read("plan", {"from": start}, "page")
                if page["plan"]["revision"] != plan["revision"]:
                    break
                plan["tasks"] += page["plan"]["tasks"]
            else:
                return plan
        raise StateError("the plan is changed faster than it can be read", code="E_STATE_LOCKED", retryable=True)

    def status(self) -> dict[str, Any]:
        """Says where the project stands.

        Raises:
            StateError: The loop or the plan refuses.
        """
        return self._read("status", {}, "status")

    def history(self, id: str) -> dict[str, Any]:
        """Says all that is known of a task.

        Raises:
            StateError: There is no such task, or the loop refuses.
        """
        return self._read("history", {"id": id}, "history")

    def _read(self, verb: str, body: dict[str, Any], reply: str) -> dict[str, Any]:
        try:
            return self._ask(verb, body, reply)
        except (OSError, EOFError, ValueError) as error:
            raise StateError("the loop that called the agent is gone", code="E_BROKER_GONE") from error

    def _ask(self, verb: str, body: dict[str, Any], reply: str) -> dict[str, Any]:
        self._last += 1
        answer: dict[str, Any] = self._exchange({"id": self._last, verb: body})[reply]
        return answer

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        line = self._lines.readline(_MAX_MESSAGE + 1)
        if not line.endswith(b"\n"):
            raise EOFError("the connection ended before the answer")
        answer: dict[str, Any] = json.loads(line)
        if answer["ok"]:
            return answer
        error = answer["error"]
        raise StateError(
            ": ".join([error["message"], *error.get("causes", [])]),
            code=error["code"],
            help=error.get("help", ""),
            retryable=error.get("retryable", False),
        )
