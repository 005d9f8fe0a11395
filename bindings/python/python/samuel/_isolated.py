"""Handlers in a process of their own.

The first line of standard input says which function it is, how it is found and how this process is set up
(`_sending.target_of`). Each line after it is a call, a JSON envelope, answered by a line: `answered` with what
the function returned and contributed, or `broke` with a class, a message and the traceback. Before it stand
lines that report what the function tells on the way, and `passed` what it prints and logs.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import math
import os
import sys
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class IsolatedCall:
    """What the function is called with: the same names as `samuel.Call`."""

    def __init__(self, envelope: dict[str, Any], speaker: _Speaker) -> None:
        from . import records

        self._speaker = speaker
        call = envelope["call"]
        self.header = _record(records.CallHeader, call)
        self.point: str = call["point"]
        self.iteration: int = call["iteration"]
        self.cancelled = False
        self.input = _record(getattr(records, envelope["input_type"]), envelope["input"])
        output = getattr(records, envelope["output"])
        previous = envelope["previous"]
        self.previous = None if previous is None else _record(output, previous)
        self.context = _Context(envelope["context"])
        self.contributed: dict[str, Any] = {}
        self.port = IsolatedPort(speaker) if self.point == "agent.invoke" else None

    def warn(self, message: str) -> None:
        """Warns beside the answer."""
        self._speaker.report(warning=_text(message, "message"))

    def contribute(self, key: str, value: Any) -> None:
        """Contributes to the handler's own namespace."""
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
        # JSON has no `nan` and no infinities: they become null, as everywhere else.
        self.contributed[_text(key, "key")] = json.loads(text, parse_constant=lambda name: None)


def _text(value: Any, name: str) -> str:
    """Takes a text that can be told."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a text, not {type(value).__name__}")
    value.encode()
    return value


class _Speaker:
    """Writes lines, and reads the replies to them."""

    def __init__(self, told: IO[str], heard: IO[str]) -> None:
        self._told = told
        self._heard = heard
        self._lock = threading.RLock()

    def question(self) -> Any:
        """Reads what is asked next; None where nothing more will be."""
        line = self._heard.readline()
        return json.loads(line) if line else None

    def report(self, *, reply: bool = False, **told: Any) -> Any:
        """Writes one line; returns the reply, where one is asked for."""
        return self.say(json.dumps(told), reply)

    def say(self, line: str, reply: bool = False) -> Any:
        """Writes a line that is JSON already."""
        with self._lock:
            self._told.write(line + "\n")
            self._told.flush()
            return json.loads(self._heard.readline()) if reply else None

    def checked(self, name: str, value: Any, *, reply: bool = False) -> Any:
        """Reports what Samuel understands; `TypeError` for anything else."""
        from ._samuel import report_json

        return self.say(f'{{"{name}": {report_json(name, value)}}}', reply)


class _Printing(io.BufferedIOBase):
    """The bytes of a file whose text the process that asks prints."""

    def __init__(self, speaker: _Speaker, name: str, beneath: int) -> None:
        super().__init__()
        self.name = f"<{name}>"
        self._speaker = speaker
        self._stream = name
        self._beneath = beneath
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._beneath

    def write(self, data: Any, /) -> int:
        told = bytes(data)
        if text := self._decoder.decode(told):
            self._speaker.report(passed={"stream": self._stream, "text": text})
        return len(told)


def _printed(speaker: _Speaker, name: str, beneath: int) -> io.TextIOWrapper:
    """A file like `sys.stdout` whose text the process that asks prints, as soon as it is written."""
    whole = _Printing(speaker, name, beneath)
    return io.TextIOWrapper(whole, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)


class _Logged(logging.Handler):
    """Has the process that asks log."""

    def __init__(self, speaker: _Speaker) -> None:
        super().__init__()
        self._speaker = speaker

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._tell(record)
        except Exception:
            # What cannot be formatted is no reason for the handler to break.
            self.handleError(record)

    def _tell(self, record: logging.LogRecord) -> None:
        exception = logging.Formatter().formatException(record.exc_info) if record.exc_info else None
        told = {
            "name": record.name,
            "levelno": record.levelno,
            "levelname": record.levelname,
            "msg": record.getMessage(),
            "pathname": record.pathname,
            "lineno": record.lineno,
            "funcName": record.funcName,
            "created": record.created,
            "exc_text": exception,
        }
        # JSON has no halves of characters, which names of files may hold.
        shown = {
            name: value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
            for name, value in told.items()
        }
        self._speaker.report(passed={"record": shown})


class IsolatedPort:
    """Where a handler of `agent.invoke` reports: the same names as `samuel.AgentPort`."""

    def __init__(self, speaker: _Speaker) -> None:
        self._speaker = speaker

    def emit(self, event: Any) -> None:
        """Reports something."""
        self._speaker.checked("event", event)

    def supervised_by(self, pid: int, start_time: int) -> None:
        """Reports a process that sweeps the agent's processes when Samuel dies."""
        self._speaker.report(supervised_by={"pid": pid, "start_time": start_time})

    def before_ability(self, call: Any) -> Any:
        """Asks whether a tool call may be made."""
        from . import records

        decision = self._speaker.checked("before_ability", call, reply=True)
        if decision.pop("decision") == "allow":
            return records.ToolAllowed(**decision)
        return records.ToolBlocked(**decision)

    def after_ability(self, result: Any) -> list[str]:
        """Reports how a call that was asked about ended; returns what handlers said for the model."""
        told = self._speaker.checked("after_ability", result, reply=True)
        return list(told.get("text", []))

    async def abefore_ability(self, call: Any) -> Any:
        """The same as `before_ability`, to be awaited."""
        import asyncio

        return await asyncio.to_thread(self.before_ability, call)

    async def aafter_ability(self, result: Any) -> list[str]:
        """The same as `after_ability`, to be awaited."""
        import asyncio

        return await asyncio.to_thread(self.after_ability, result)

    async def asupervised_by(self, pid: int, start_time: int) -> None:
        """The same as `supervised_by`, to be awaited."""
        import asyncio

        await asyncio.to_thread(self.supervised_by, pid, start_time)


class _Context:
    """The groups of the prompt context."""

    def __init__(self, groups: dict[str, Any]) -> None:
        from . import records

        kinds = {
            "Samuel": records.SamuelVars,
            "Project": records.ProjectVars,
            "Methodology": records.MethodologyVars,
            "Iteration": records.IterationVars,
            "Config": records.ConfigVars,
            "Guardrails": records.GuardrailVars,
            "Paths": records.PathVars,
            "State": records.StateVars,
            "Mode": records.ModeVars,
            "Hooks": records.HookVars,
        }
        for name, kind in kinds.items():
            setattr(self, name.lower(), _record(kind, groups[name]))
        self.plugins = groups["Plugins"]


def _record(kind: Any, data: dict[str, Any]) -> Any:
    """Makes a record of its JSON form, with the records inside it."""
    import re

    from . import records
    from ._record import Record

    values = {}
    for wire, value in data.items():
        name = kind._wire.get(wire, wire)
        if name not in kind.__slots__:
            continue
        words = re.findall(r"\w+", kind.__annotations__[name])
        classes = [getattr(records, word, None) for word in words]
        nested = next((each for each in classes if isinstance(each, type) and issubclass(each, Record)), None)
        if isinstance(value, list):
            value = tuple(
                _record(nested, item) if nested and isinstance(item, dict)
                else tuple(item) if isinstance(item, list) else item
                for item in value
            )
        elif nested and isinstance(value, dict):
            value = _record(nested, value)
        values[name] = value
    made = object.__new__(kind)
    for name in kind.__slots__:
        object.__setattr__(made, name, values.get(name, () if name == "extensions" else None))
    return made


class _BadOutput(Exception):
    """An answer that cannot be told, with the place in it."""


def _wire(value: Any, at: str = "") -> Any:
    """Writes an answer as JSON has it; refuses what is refused of a handler in the program itself."""
    from ._record import Record

    def within(name: object) -> str:
        return f"{at}.{name}" if at else str(name)

    if isinstance(value, Record):
        names = {name: wire for wire, name in value._wire.items()}
        slots: tuple[str, ...] = type(value).__slots__
        fields = {names.get(name, name): _wire(getattr(value, name), within(name)) for name in slots}
        return {name: field for name, field in fields.items() if field is not None}
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise _BadOutput(f"{at}: a key that is not text")
        return {_told(name, at): _wire(item, within(name)) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_wire(item, within(place)) for place, item in enumerate(value)]
    return _told(value, at)


def _told(value: Any, at: str) -> Any:
    """A text, a number or nothing, where JSON has it."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _BadOutput(f"{at}: UnicodeEncodeError: {error}") from error
    elif isinstance(value, float) and not math.isfinite(value):
        raise _BadOutput(f"{at}: {'NaN' if math.isnan(value) else value} is no number that JSON has")
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise _BadOutput(f"{at}: a number that is too large")
    elif value is not None and not isinstance(value, int | float):
        raise _BadOutput(f"{at}: a {type(value).__name__} is not expected here")
    return value


def _speaker() -> _Speaker:
    """Takes standard input and output for the conversation, and passes on what is printed and logged."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    heard = os.fdopen(os.dup(0), encoding="utf-8")
    # What a command or an extension prints goes to standard error, and nobody reads the calls.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    speaker = _Speaker(told, heard)
    sys.stdout, sys.stderr = _printed(speaker, "stdout", 1), _printed(speaker, "stderr", 2)
    logging.getLogger().addHandler(_Logged(speaker))
    return speaker


def _answered(function: Callable[..., Any], envelope: dict[str, Any], speaker: _Speaker) -> dict[str, Any]:
    """Calls the function; returns what is told of it."""
    from ._registration import is_async

    call = IsolatedCall(envelope, speaker)
    if is_async(function):
        import asyncio

        answer = asyncio.run(function(call))
    else:
        answer = function(call)
    expected, given = envelope["output"], type(answer).__name__
    if answer is not None and given not in (expected, "dict"):
        return {"broke": ["bad_output", f"expected {expected} or None, got {given}", []]}
    try:
        return {"answered": {"answer": _wire(answer), "contribute": call.contributed}}
    except _BadOutput as error:
        return {"broke": ["bad_output", f"{expected}: {error}", []]}


def main() -> None:
    """Answers calls until there are no more."""
    from . import _sending
    from ._workers import describe

    speaker = _speaker()
    target = speaker.question()
    function: Callable[..., Any] | None = None
    while (envelope := speaker.question()) is not None:
        try:
            if function is None:
                function = _sending.found(target)
            told = _answered(function, envelope, speaker)
            line = json.dumps(told)
        except BaseException as error:
            exits, message, details = describe(error)
            line = json.dumps({"broke": ["panicked" if exits else "failed", message, details]})
        speaker.say(line)
