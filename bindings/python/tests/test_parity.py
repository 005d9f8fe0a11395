"""The behaviour table of all tiers, with handlers in Python.

The rows are those of `tests/parity/rows`; what is here turns a row's handlers
into Python functions and compares what came of them, of a dispatch, of a session and of runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel._record import Record
from samuel.testing import completes_each_task, dispatch, handler

ROWS = Path(os.environ.get("SAMUEL_PARITY_ROWS", Path(__file__).parents[3] / "tests/parity/rows"))
TIERS = ("sync", "async")
RECORDS = samuel.records


def rows(run: bool) -> list[Any]:
    found = []
    for path in sorted(ROWS.glob("*.toml")):
        if (path.stem == "run") == run:
            for row in tomllib.loads(path.read_text(encoding="utf-8"))["row"]:
                found.append(pytest.param(row, id=f"{path.stem}::{row['name']}"))
    assert found
    return found


def output_class(point: str) -> type[Any]:
    words = re.split(r"[:.]", point)
    name = "".join(word.capitalize() for word in words) + "Output"
    return getattr(RECORDS, name)  # type: ignore[no-any-return]


def wire(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Record):
        names = {attribute: key for key, attribute in value._wire.items()}
        return {names.get(name, name): wire(field) for name, field in value._values().items()}
    if isinstance(value, (list, tuple)):
        return [wire(item) for item in value]
    if isinstance(value, dict):
        return {key: wire(item) for key, item in value.items()}
    return value


def envelope(call: Any) -> dict[str, Any]:
    groups = ["samuel", "project", "methodology", "iteration", "config", "guardrails", "paths", "state",
              "mode", "hooks"]
    context = {name.capitalize(): wire(getattr(call.context, name)) for name in groups}
    context["Plugins"] = call.context.plugins
    return {
        "call": wire(call.header),
        "input": wire(call.input),
        "previous": wire(call.previous),
        "context": context,
    }


def fill(value: Any, call: Any) -> Any:
    def part(match: re.Match[str]) -> str:
        found: Any = envelope(call)
        for key in match[1].split("."):
            if isinstance(found, list):
                found = found[int(key)] if int(key) < len(found) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        if found is None:
            return ""
        return found if isinstance(found, str) else json.dumps(found, separators=(",", ":"))

    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", part, value)
    if isinstance(value, list):
        return [fill(item, call) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, call) for key, item in value.items()}
    return value


def answer(row: dict[str, Any], call: Any) -> Any:
    for message in row.get("warns", []):
        call.warn(message)
    for key, value in row.get("contribute", {}).items():
        call.contribute(key, value)
    match row.get("breaks"):
        case "fails":
            raise samuel.HookError(row["message"])
        case "panics":
            raise SystemExit(row["message"])
    given = fill(row.get("answer", {}), call)
    # What the row leaves out has its default, as in every tier.
    return {**wire(output_class(call.point)()), **given}


# The id of a process and its start time; the system has no processes of such an id.
NO_PROCESS = (1 << 30, 1)


def say(call: Any, text: str) -> None:
    call.port.emit(samuel.AgentText(text))


def reports(row: dict[str, Any], call: Any) -> None:
    for text in row.get("says", []):
        say(call, text)


def decided(call: Any, decision: samuel.AbilityDecision) -> None:
    match decision:
        case samuel.ToolAllowed(input):
            say(call, f"allowed {json.dumps(input)}")
        case samuel.ToolBlocked(reason):
            say(call, f"blocked {reason}")


def function(row: dict[str, Any], tier: str, curtain: threading.Event) -> Callable[..., Any]:
    def sync(call: Any) -> Any:
        match row.get("breaks"):
            case "hangs":
                while not call.cancelled and not curtain.wait(0.01):
                    pass
                # It is given up before it gets here.
                curtain.wait(0.2)
            case "ignores":
                curtain.wait()
        reports(row, call)
        if row.get("supervised"):
            call.port.supervised_by(*NO_PROCESS)
        if "asks" in row:
            decided(call, call.port.before_ability(samuel.ToolCall("1", row["asks"], {})))
        return answer(row, call)

    async def on_loop(call: Any) -> Any:
        if row.get("breaks") in ("hangs", "ignores"):
            await asyncio.Event().wait()
        reports(row, call)
        if row.get("supervised"):
            await call.port.asupervised_by(*NO_PROCESS)
        if "asks" in row:
            decided(call, await call.port.abefore_ability(samuel.ToolCall("1", row["asks"], {})))
        return answer(row, call)

    return sync if tier == "sync" else on_loop


def made(row: dict[str, Any], tier: str, curtain: threading.Event, config: str) -> Any:
    plugins = [plugin["name"] for plugin in tomllib.loads(config).get("plugins", [])]
    owner = row["id"].split(":")[0]
    place = plugins.index(owner) if owner in plugins else 0
    return handler(function(row, tier, curtain), row["id"], order=row.get("order"), place=place)


def problems(error: samuel.SamuelError) -> str:
    return f"{error.message} | {error.help}"


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("row", rows(run=False))
def test_a_dispatch_is_as_the_table_says(row: dict[str, Any], tier: str) -> None:
    handlers = list(row.get("handlers", []))
    check_dispatch(row, handlers, tier)
    dice = random.Random(5)
    for _ in range(min(row.get("shuffles", 0), 10)):
        dice.shuffle(handlers)
        check_dispatch(row, handlers, tier)


def check_dispatch(row: dict[str, Any], handlers: list[dict[str, Any]], tier: str) -> None:
    expect, curtain = row.get("expect", {}), threading.Event()
    hook = f'[hooks."{row["point"]}"]\n{row["hook"]}\n' if "hook" in row else ""
    config = hook + row.get("config", "")
    try:
        got = dispatch(
            row["point"],
            *(made(each, tier, curtain, config) for each in handlers),
            input=row.get("input", {}),
            config=config,
            cancelled=row.get("cancelled", False),
            session="parity",
            mode=row.get("mode", "implementation"),
            check=False,
        )
    except samuel.SamuelError as error:
        assert "error" in expect, error
        # The place stands before the words, in the table as `line:column`.
        assert error.message.split(": ")[-1].split(" | ")[0] in expect["error"] or expect["error"] in problems(error)
        return
    finally:
        curtain.set()
    assert "error" not in expect
    check_outcome(got.outcome, expect, tier)
    assert list(got.skipped) == expect.get("skipped", [])
    assert list(got.notices) == expect.get("notices", [])
    assert got.plugins == expect.get("plugins", {})
    output = wire(got.output)
    for key, value in expect.get("output", {}).items():
        assert subset(output.get(key), value) == value


def check_outcome(outcome: Any, expect: dict[str, Any], tier: str) -> None:
    not_now = outcome.skipped
    if isinstance(not_now, dict):
        not_now = f"only in {not_now['other_mode']} iterations"
    assert not_now == expect.get("not_now")
    assert [f"{each.handler} {each.class_ or each.status}" for each in outcome.timings] == expect.get("trace", [])
    broken = [f"{each.handler} {each.failure.class_}: {each.failure.message}" for each in outcome.broken]
    assert broken == expect.get("broken", [])
    for each in outcome.broken:
        left_behind = each.failure.class_ in ("timeout", "cancelled")
        assert each.abandoned == (left_behind and tier == "sync")
    abort = outcome.abort and f"{outcome.abort.handler} {outcome.abort.action}"
    assert abort == expect.get("abort")
    assert outcome.refused == expect.get("refused")
    warnings = [f"{each.handler} {each.class_}: {each.message}" for each in outcome.warnings]
    assert warnings == expect.get("warnings", expect.get("broken", []))
    said = [f"{each.handler}: {each.item.content}" for each in outcome.said]
    assert said == expect.get("said", [])


def subset(got: Any, like: Any) -> Any:
    """Leaves out what is absent in JSON."""
    if isinstance(got, dict) and isinstance(like, dict):
        return {key: subset(value, like.get(key)) for key, value in got.items() if key in like or value is not None}
    if isinstance(got, list) and isinstance(like, list) and len(got) == len(like):
        return [subset(one, two) for one, two in zip(got, like, strict=True)]
    return got


SESSION_POINTS = ("session.start", "prompt.submit", "iteration.error", "task.completed", "ability.before",
                  "ability.after", "session.stop", "session.end")


def session_rows() -> list[Any]:
    """The rows at points that a session fires, which has no iterations, of whichever mode."""
    found = [each for each in rows(run=False) if each.values[0]["point"] in SESSION_POINTS]
    return [each for each in found if not {"mode", "cancelled"} & each.values[0].keys()]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("row", session_rows())
def test_a_session_fires_as_the_table_says(
    row: dict[str, Any], tier: str, samuel_project: Callable[..., samuel.Project]
) -> None:
    expect, curtain, point = row.get("expect", {}), threading.Event(), row["point"]
    hook = f'[hooks."{point}"]\n{row["hook"]}\n' if "hook" in row else ""
    project = samuel_project("First", config=hook + row.get("config", ""))
    session = samuel.Session(project, session="parity", trust=True)
    plugins: dict[str, samuel.Plugin] = {}
    for each in row.get("handlers", []):
        owner, _, name = each["id"].rpartition(":")
        target: Any = session
        if owner not in ("", "api"):
            target = plugins.get(owner) or plugins.setdefault(owner, session.use(samuel.Plugin(owner)))
        target.hook(point, name, order=each.get("order"))(function(each, tier, curtain))
    if "error" in expect:
        with pytest.raises(samuel.SamuelError):
            session.open()
        return
    session.open()
    events = session.events()
    feedback = fired(session, point, row.get("input", {}), expect)
    curtain.set()
    outcome = next(each.outcome for each in events if isinstance(each, samuel.HookFired) and each.point == point)
    check_outcome(outcome, expect, tier)
    assert (feedback.text, feedback.warnings) == (outcome.said, outcome.warnings)
    if "results" in expect.get("output", {}):
        results = expect["output"]["results"]
        assert subset(wire(feedback.results), results) == results
    strict = None if point == "session.stop" else outcome.abort
    if strict is None:
        assert feedback.blocked == outcome.refused
    else:
        assert feedback.blocked is not None and strict.handler in feedback.blocked


def fired(session: samuel.Session, point: str, given: dict[str, Any], expect: dict[str, Any]) -> samuel.Feedback:
    """Fires the point of a row, as a caller of the session does."""
    match point:
        case "session.start":
            return session.start(given.get("source", "startup"))
        case "prompt.submit":
            return session.submit_prompt(given.get("user_raw_input", ""), given.get("source", ""))
        case "iteration.error":
            return session.iteration_error(given["error"], given["class"], given["consec_fails"])
        case "task.completed":
            return session.task_completed(given.get("task_id", ""), given.get("task_content", ""))
        case "ability.before":
            permission = session.before(given.get("ability_id", ""), given.get("input"))
            decision = permission.decision
            assert isinstance(decision, samuel.ToolBlocked) == ("refused" in expect or "abort" in expect)
            if isinstance(decision, samuel.ToolAllowed) and "updated_input" in expect.get("output", {}):
                assert decision.input == expect["output"]["updated_input"]
            return permission.feedback
        case "ability.after":
            return session.after(
                "", given["status"], given["output_summary"], duration_ms=given["duration_ms"],
                ability_id=given["ability_id"],
            )
        case "session.stop":
            return session.stop(given.get("reason", ""))
    return session.end(given["exit_reason"])


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("row", rows(run=True))
def test_a_run_is_as_the_table_says(
    row: dict[str, Any], tier: str, samuel_loop: Callable[..., samuel.Loop]
) -> None:
    expect, curtain, prompts = row["expect"], threading.Event(), []
    loop = samuel_loop(*row.get("tasks", ["First"]), config=row.get("config", ""), agent=completes_each_task())

    @loop.hook("before:agent.invoke", "spy", order=1000)
    def spy(call: Any) -> None:
        prompts.append(call.input.prompt)

    plugins: dict[str, samuel.Plugin] = {}
    for each in row["handlers"]:
        owner, _, name = each["id"].rpartition(":")
        target: Any = loop
        if owner not in ("", "api"):
            target = plugins.get(owner) or plugins.setdefault(owner, loop.use(samuel.Plugin(owner)))
        target.hook(each["point"], name, order=each.get("order"))(function(each, tier, curtain))
    with loop.start() as run:
        events = list(run.events())
        result = run.wait()
    curtain.set()
    assert result.exit_reason == expect["exit"]
    assert result.iterations == expect["iterations"]
    assert [f"{each.class_}: {each.message}" for each in result.failures] == expect.get("failures", [])
    if any("says" in each or "asks" in each for each in row["handlers"]):
        reports = [event.report for event in events if isinstance(event, samuel.AgentReported)]
        reported = [report.text for report in reports if isinstance(report, samuel.AgentText)]
        assert reported == expect.get("reported", [])
    lines = (Path(loop.project.root) / ".samuel/run/journal.jsonl").read_text(encoding="utf-8").splitlines()
    noted = [each for each in map(json.loads, lines) if each["kind"] == "supervisor" and each["role"] == "supervisor"]
    assert len(noted) == expect.get("supervised", 0)
    for point, count in expect.get("fired", {}).items():
        fired = [event for event in events if isinstance(event, samuel.HookFired) and event.point == point]
        assert len(fired) == count, point
    in_order(prompts[-1] if prompts else "", expect.get("prompt", []))
    in_order("\n".join(loop.project.progress()), expect.get("progress", []))


def in_order(text: str, parts: list[str]) -> None:
    rest = text
    for part in parts:
        before, found, rest = rest.partition(part)
        assert found, f"{part!r} is missing in {text}"
