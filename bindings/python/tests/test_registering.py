"""Handlers as they are registered: replaced, removed, and warned of."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import samuel
from samuel.testing import dispatch

MakeLoop = Callable[..., samuel.Loop]

CELL = """
@loop.hook("quality.check")
def check(call):
    seen.append({number})
"""


def test_a_cell_that_runs_again_replaces_its_handler(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[int] = []
    names: dict[str, Any] = {"loop": loop, "seen": seen, "__name__": "__main__"}
    for number in (1, 2):
        exec(CELL.format(number=number), names)
    assert [handler.name for handler in loop.handlers] == ["check"]
    assert loop.run().ok
    assert seen == [2]


def test_functions_that_are_only_called_alike_stand_beside_each_other(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[int] = []

    def make(number: int) -> Callable[[Any], None]:
        def check(call: Any) -> None:
            seen.append(number)

        return check

    for number in (1, 2):
        loop.hook("quality.check")(make(number))
    assert [handler.name for handler in loop.handlers] == ["check", "check-2"]
    assert loop.run().ok
    assert sorted(seen) == [1, 2]


class Lint:
    """Something with a method."""

    def __init__(self, word: str, seen: list[str]) -> None:
        self.word = word
        self.seen = seen

    def run(self, call: Any) -> None:
        self.seen.append(self.word)


def noting(function: Callable[[Any], None], word: str, seen: list[str]) -> Callable[[Any], None]:
    @wraps(function)
    def noted(call: Any) -> None:
        seen.append(word)

    return noted


def plain(call: Any) -> None: ...


def test_methods_of_two_objects_and_two_forms_of_a_function_stand_beside_each_other(samuel_loop: MakeLoop) -> None:
    seen: list[str] = []
    first = Lint("first", seen)
    checks = [first.run, Lint("second", seen).run, noting(plain, "third", seen), noting(plain, "fourth", seen)]
    loop = samuel_loop("First", checks=checks)
    # The same method of the same object is no other handler.
    loop.hook("quality.check")(first.run)
    assert [handler.name for handler in loop.handlers] == ["run", "run-2", "plain", "plain-2"]
    assert loop.run().ok
    assert sorted(seen) == ["first", "fourth", "second", "third"]


def test_a_name_that_is_given_again_replaces_its_handler_in_its_place(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[str] = []
    for word in ("old", "other", "new"):
        name = "second" if word == "other" else "first"
        loop.hook("quality.check", name)(lambda call, word=word: seen.append(word))
    assert loop.run().ok
    assert seen == ["new", "other"]


def test_a_handler_is_still_its_function_and_can_be_removed(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[str] = []

    @loop.hook("quality.check")
    def gone(call: Any) -> None:
        """Says so."""
        seen.append("gone")

    @loop.hook("quality.check")
    @loop.hook("after:iteration")
    async def stays(call: Any) -> Any:
        seen.append(call.point)
        return None

    gone(None)
    assert (gone.__name__, gone.__doc__, gone.name, gone.point) == ("gone", "Says so.", "gone", "quality.check")
    assert dispatch("quality.check", gone).outcome.broken == ()
    gone.remove()
    gone.remove()
    assert [handler.name for handler in loop.handlers] == ["stays", "stays"]
    seen.clear()
    assert loop.run().ok
    assert seen == ["quality.check", "after:iteration"]


def test_equal_orders_warn_where_they_are_made(samuel_loop: MakeLoop) -> None:
    loop = samuel_loop("First")
    seen: list[str] = []
    loop.hook("quality.check", "one", order=10)(lambda call: seen.append("one"))
    with pytest.warns(samuel.HandlerWarning, match='"one" and "two" both have the order 10.*"two" alone') as warned:
        loop.hook("quality.check", "two", order=10)(lambda call: seen.append("two"))
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Another point, and the same handler again.
        loop.hook("after:iteration", "two", order=10)(lambda call: None)
        loop.hook("quality.check", "two", order=11)(lambda call: seen.append("two"))
    assert loop.run().ok
    assert seen == ["one", "two"]


def test_a_point_that_never_fires_warns(samuel_loop: MakeLoop, tmp_path: Path) -> None:
    with pytest.warns(samuel.HandlerWarning, match="a loop never fires sync.after"):
        samuel_loop("First").hook("sync.after")(lambda call: None)  # type: ignore[call-overload]
    with pytest.warns(samuel.HandlerWarning, match="a session never fires quality.check"):
        samuel.Session(tmp_path).hook("quality.check")(lambda call: None)  # type: ignore[call-overload]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samuel.Plugin("lint").hook("sync.after")(lambda call: None)


def test_type_checkers_know_the_points_that_fire() -> None:
    from samuel import _registering

    stub = Path(_registering.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    for kind in (_registering.PluginRegistering, _registering.LoopRegistering, _registering.SessionRegistering):
        text = stub.split(f"class {kind.__name__}(Registering):")[1].split("\nclass ")[0]
        assert set(re.findall(r'point: Literal\["(.*?)"\]', text)) == vars(kind).get("_fires", set(samuel.HOOK_POINTS))
