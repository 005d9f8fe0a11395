"""A handler in a process of its own.

Reads the call as a JSON envelope from standard input, one line, calls the function,
and writes the answer. Before it stand lines that report what the function tells on the
way. What the function prints goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from typing import Any

# The exit code by which a handler that raised is told from a crash.
_RAISED = 3


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
        self._speaker.report(warning=str(message))

    def contribute(self, key: str, value: Any) -> None:
        """Contributes to the handler's own namespace."""
        self.contributed[key] = json.loads(json.dumps(value))


class _Speaker:
    """Reports line by line, and reads the replies."""

    def __init__(self, told: Any) -> None:
        import threading

        self._told = told
        self._lock = threading.Lock()

    def report(self, *, reply: bool = False, **told: Any) -> Any:
        """Writes one line; returns the reply, where one is asked for."""
        return self.say(json.dumps(told), reply)

    def say(self, line: str, reply: bool) -> Any:
        """Writes a line that is JSON already."""
        with self._lock:
            self._told.write(line + "\n")
            self._told.flush()
            return json.loads(sys.stdin.readline()) if reply else None

    def checked(self, name: str, value: Any, *, reply: bool = False) -> Any:
        """Reports what Samuel understands; `TypeError` for anything else."""
        from ._samuel import report_json

        return self.say(f'{{"{name}": {report_json(name, value)}}}', reply)


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


def _wire(value: Any) -> Any:
    """Writes an answer as JSON has it."""
    from ._record import Record

    if isinstance(value, Record):
        names = {name: wire for wire, name in value._wire.items()}
        slots: tuple[str, ...] = type(value).__slots__
        fields = {names.get(name, name): _wire(getattr(value, name)) for name in slots}
        return {name: field for name, field in fields.items() if field is not None}
    if isinstance(value, tuple | list):
        return [_wire(item) for item in value]
    return value


def _find(module: str, name: str) -> Any:
    """Finds a function by its module, or by the script it is in."""
    if os.path.isabs(module):
        spec = importlib.util.spec_from_file_location("__samuel_main__", module)
        if spec is None or spec.loader is None:
            raise ImportError(f"{module} cannot be imported")
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules["__samuel_main__"] = found
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main() -> int:
    """Calls the function once; returns the exit code."""
    from ._registration import is_async
    from ._workers import describe

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    envelope = json.loads(sys.stdin.readline())
    sys.path[:] = envelope["path"]
    try:
        call = IsolatedCall(envelope, _Speaker(answers))
        function = _find(sys.argv[1], sys.argv[2])
        if is_async(function):
            import asyncio

            answer = asyncio.run(function(call))
        else:
            answer = function(call)
        told = _told(envelope["output"], answer, call)
    except BaseException as error:
        exits, message, details = describe(error)
        told, code = ["panicked" if exits else "failed", message, details], _RAISED
    else:
        code = _RAISED if isinstance(told, list) else 0
    json.dump(told, answers)
    answers.flush()
    return code


def _told(expected: str, answer: Any, call: IsolatedCall) -> dict[str, Any] | list[Any]:
    given = type(answer).__name__
    if answer is not None and given not in (expected, "dict"):
        return ["bad_output", f"expected {expected} or None, got {given}", []]
    return {"answer": _wire(answer), "contribute": call.contributed}


if __name__ == "__main__":
    os._exit(main())
