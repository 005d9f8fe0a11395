"""`samuel.toon`: the interface of `json`, and what only TOON has."""

from __future__ import annotations

import io
import json
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import samuel
from samuel import toon

VALUES: list[Any] = [
    None, True, False, 0, -1, 2**63, 2**64 - 1, -(2**63), 1.5, -0.0, 1e300, "", "a", "ü, \"x\"\n", "true", "1.10",
    [], {}, [1, 2], [[1], [2]], {"a": {"b": [{"c": 1}, {"c": 2}]}}, [{"x": None}, {"y": [1]}], "\U0001f600",
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_what_is_written_reads_back(value: Any, delimiter: Any) -> None:
    assert toon.loads(toon.dumps(value, delimiter=delimiter)) == value


def test_equal_rows_become_a_table() -> None:
    tasks = [{"id": 1, "title": "Parse"}, {"id": 2, "title": "a,b"}]
    assert toon.dumps({"tasks": tasks}) == 'tasks[2]{id,title}:\n  1,Parse\n  2,"a,b"'


def test_keys_and_classes_are_those_of_json() -> None:
    data = {1: "a", True: "b", None: "c", 1.5: (1, 2), "o": OrderedDict(x=1)}
    assert toon.loads(toon.dumps(data)) == json.loads(json.dumps(data))
    assert toon.dumps({"b": 1, "a": 2}, sort_keys=True) == "a: 2\nb: 1"
    assert toon.dumps({"x": float("nan")}) == "x: null"
    assert toon.dumps({"x": {1, 2}}, default=sorted) == "x[2]: 1,2"
    assert toon.dumps(samuel.Usage(input_tokens=3)).startswith("input_tokens: 3")


def test_what_cannot_be_written_is_refused_as_json_does() -> None:
    with pytest.raises(TypeError, match="Object of type set is not TOON serializable"):
        toon.dumps({"x": set()})
    with pytest.raises(TypeError, match="keys must be str"):
        toon.dumps({(1,): 1})
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="circular"):
        toon.dumps(circle)
    with pytest.raises(ValueError, match="64 bits"):
        toon.dumps(2**64)
    with pytest.raises(ZeroDivisionError):
        toon.dumps(object(), default=lambda _: 1 / 0)
    with pytest.raises(ValueError, match="delimiter"):
        toon.dumps([], delimiter=";")  # type: ignore[arg-type]


def test_an_error_names_the_place() -> None:
    with pytest.raises(toon.ToonDecodeError) as caught:
        toon.loads("ä: 1\nb: 2\nä: 3")
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.pos, error.lineno, error.colno) == (10, 3, 1)
    assert error.doc.startswith("ä") and "appears twice" in error.msg
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.pos) == (str(error), error.pos)


def test_strictness_and_depth_are_options() -> None:
    assert toon.loads("a: 1\na: 2", strict=False) == {"a": 2}
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(toon.ToonDecodeError, match="levels"):
        toon.loads(toon.dumps(deep))
    assert toon.loads(toon.dumps(deep), max_depth=400) == deep


def test_a_damaged_document_gives_what_can_be_read() -> None:
    got = toon.recover("tasks[3]{id,title}:\n  1,a\n  2\n  3,c\n")
    assert [row["id"] for row in got.value["tasks"]] == [1, 3]
    assert [(fault.code, fault.line, fault.action) for fault in got.diagnostics][0] == ("width_mismatch", 3, "skipped")
    assert [part.text for part in got.skipped] == ["  2"]
    assert toon.recover(b"a: \xff\nb: 2").value == {"b": 2}


def test_files_are_read_and_written() -> None:
    file = io.StringIO()
    toon.dump({"a": [1, 2]}, file)
    file.seek(0)
    assert toon.load(file) == {"a": [1, 2]}
    assert toon.load(io.BytesIO(b"a: 1")) == {"a": 1}
