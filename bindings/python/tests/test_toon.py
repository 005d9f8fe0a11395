"""`samuel.toon`: the interface of `json`, and what only TOON has."""

from __future__ import annotations

import io
import json
import pickle
from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest

import samuel
from samuel import toon

VALUES: list[Any] = [
    None, True, False, 0, -1, 2**63, 2**64 - 1, -(2**63), 2**64, -(2**63) - 1, 2**127, 2**128, -(10**400), 1.5, -0.0, 1e300, "", "a", "ü, \"x\"\n", "true", "1.10",
    [], {}, [1, 2], [[1], [2]], {"a": {"b": [{"c": 1}, {"c": 2}]}}, [{"x": None}, {"y": [1]}], "\U0001f600",
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_what_is_written_reads_back(value: Any, delimiter: Any) -> None:
    assert toon.loads(toon.dumps(value, delimiter=delimiter)) == value


def test_equal_rows_become_a_table() -> None:
    tasks = [{"id": 1, "title": "Parse"}, {"id": 2, "title": "a,b"}]
    assert toon.dumps({"tasks": tasks}) == 'tasks[2]{id,title}:\n  1,Parse\n  2,"a,b"'


@pytest.mark.parametrize(("key", "text"), [(1, "1"), (1.5, "1.5"), (True, "true"), (None, "null")])
def test_a_key_that_is_there_as_text_too_is_refused(key: Any, text: str) -> None:
    """A document that has it twice could never be read again."""
    for both in ({text: 1, key: 2}, {key: 2, text: 1}):
        with pytest.raises(ValueError, match=f'the key "{text}" is there twice'):
            toon.dumps(both)


def test_keys_and_classes_are_those_of_json() -> None:
    data = {1: "a", True: "b", None: "c", 1.5: (1, 2), "o": OrderedDict(x=1)}
    assert toon.loads(toon.dumps(data)) == json.loads(json.dumps(data))
    assert toon.dumps({"b": 1, "a": 2}, sort_keys=True) == "a: 2\nb: 1"
    assert toon.dumps({"x": float("nan")}) == "x: null"
    assert toon.dumps({"x": {1, 2}}, default=sorted) == "x[2]: 1,2"
    assert toon.dumps(samuel.Usage(input_tokens=3)).startswith("input_tokens: 3")
    assert toon.dumps(samuel.Warning("mind", seq=3)).startswith("event: warning\nmessage: mind\nseq: 3")


def test_what_cannot_be_written_is_refused_as_json_does() -> None:
    with pytest.raises(TypeError, match="Object of type set is not TOON serializable"):
        toon.dumps({"x": set()})
    with pytest.raises(TypeError, match="keys must be str"):
        toon.dumps({(1,): 1})
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="circular"):
        toon.dumps(circle)
    with pytest.raises(ZeroDivisionError):
        toon.dumps(object(), default=lambda _: 1 / 0)
    with pytest.raises(ValueError, match="delimiter"):
        toon.dumps([], delimiter=";")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, 0, 17, 2**70])
def test_an_indentation_that_is_none_is_refused_with_its_range(number: int) -> None:
    for call in (toon.dumps, toon.loads, toon.recover):
        with pytest.raises(ValueError, match=f"^indent is a whole number from 1 to 16, not {number}$"):
            call("a", indent=number)
    assert toon.loads(toon.dumps({"a": {"b": 1}}, indent=16), indent=16) == {"a": {"b": 1}}


@pytest.mark.parametrize("number", [-1, 513, 2**70])
def test_a_depth_that_is_none_is_refused_with_its_range(number: int) -> None:
    for call in (toon.dumps, toon.loads):
        with pytest.raises(ValueError, match=f"^max_depth is a whole number from 0 to 512, not {number}$"):
            call("a", max_depth=number)
    with pytest.raises(TypeError, match="integer"):
        toon.dumps({}, max_depth="6")  # type: ignore[arg-type]


def test_an_error_names_the_place() -> None:
    with pytest.raises(toon.ToonDecodeError) as caught:
        toon.loads("ä: 1\nb: 2\nä: 3")
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.pos, error.lineno, error.colno) == (10, 3, 1)
    assert error.doc.startswith("ä") and "appears twice" in error.msg
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.pos) == (str(error), error.pos)


def test_strictness_is_an_option() -> None:
    assert toon.loads("a: 1\na: 2", strict=False) == {"a": 2}


@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner]], ids=["dicts", "lists"])
def test_what_is_written_at_any_depth_is_read_and_deeper_data_is_refused_both_ways(wrap: Any) -> None:
    def nested(levels: int) -> Any:
        deep: Any = 1
        for _ in range(levels):
            deep = wrap(deep)
        return deep

    assert toon.loads(toon.dumps(nested(toon.MAX_DEPTH))) == nested(toon.MAX_DEPTH)
    with pytest.raises(ValueError, match="512 levels"):
        toon.dumps(nested(toon.MAX_DEPTH + 1))
    assert toon.loads(toon.dumps(nested(7), max_depth=7), max_depth=7) == nested(7)
    with pytest.raises(ValueError, match="6 levels"):
        toon.dumps(nested(7), max_depth=6)
    with pytest.raises(toon.ToonDecodeError, match="levels"):
        toon.loads(toon.dumps(nested(7)), max_depth=6)


def test_numbers_lose_nothing_or_are_refused() -> None:
    for text in ["123456789012345678901234567890", "-9223372036854775809", "1" + "0" * 1000]:
        for document in (text, f"a: {text}", f"a[2]: {text},1", f"a[1]{{b}}:\n  {text}"):
            assert text in toon.dumps(toon.loads(document))
    assert toon.loads("a: -0") == {"a": 0}
    for beyond in ("1e999", "-1e999", "1" + "0" * 400 + ".5"):
        with pytest.raises(toon.ToonDecodeError, match="beyond the range of a float") as caught:
            toon.loads(f"a: 1\nb: {beyond}")
        assert caught.value.lineno == 2 and "(at b)" in caught.value.msg
        assert toon.recover(f"a: 1\nb: {beyond}").value == {"a": 1, "b": beyond}
    with pytest.raises(toon.ToonDecodeError, match="4300"):
        toon.loads("a: 1" + "0" * 5000)
    class Odd(int):
        def __repr__(self) -> str:
            return "odd"

    assert toon.dumps(Odd(2**70)) == str(2**70)
    with pytest.raises(ValueError, match="nan"):
        toon.dumps([float("nan")], allow_nan=False)


def test_recovery_of_a_sound_document_reads_what_reading_reads() -> None:
    for value in VALUES:
        text = toon.dumps(value)
        assert repr(toon.recover(text).value) == repr(toon.loads(text))
    assert toon.recover("a: 1.50").value == toon.loads("a: 1.50")


@pytest.mark.parametrize("other", [5, [1, 2], None, memoryview(b"a: 1")])
def test_recovery_reads_what_reading_reads_and_nothing_else(other: Any) -> None:
    for read in (toon.recover, toon.loads):
        with pytest.raises(TypeError, match="must be str, bytes or bytearray"):
            read(other)


def test_functions_of_the_caller_make_objects_as_with_json() -> None:
    text = "a:\n  x: 1\n  y: 1.10\nrows[2]{x,y}:\n  1,1.10\n  2,1e999"
    assert toon.loads(text, parse_float=Decimal)["rows"][1] == {"x": 2, "y": Decimal("1e999")}
    assert toon.loads(text, parse_int=str, parse_float=str)["a"] == {"x": "1", "y": "1.10"}
    text = text.replace("1e999", "3")
    data = toon.loads(text)
    for hook in (lambda d: list(d.items()), len):
        assert toon.loads(text, object_hook=hook) == json.loads(json.dumps(data), object_hook=hook)
    pairs: Any = OrderedDict
    assert toon.loads(text, object_pairs_hook=pairs, object_hook=len) == data
    with pytest.raises(ZeroDivisionError):
        toon.loads(text, object_hook=lambda _: 1 / 0)
    with pytest.raises(KeyError):
        toon.loads(text, parse_int={}.__getitem__)

    class Encoder(json.JSONEncoder):
        def default(self, o: Any) -> Any:
            return sorted(o) if isinstance(o, set) else super().default(o)

    assert toon.dumps({"x": {2, 1}}, cls=Encoder) == "x[2]: 1,2"
    with pytest.raises(TypeError, match="not JSON serializable"):
        toon.dumps(object(), cls=Encoder)


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


def test_a_dict_that_changes_while_it_is_written_is_an_error_as_in_json() -> None:
    held: dict[str, Any] = {"a": object(), "b": 1}

    def grows(value: Any) -> int:
        held[f"more {len(held)}"] = 1
        return 0

    def swaps(value: Any) -> int:
        del held["b"]
        held["c"] = 1
        return 0

    with pytest.raises(RuntimeError, match="changed size"):
        toon.dumps(held, default=grows)
    held = {"a": object(), "b": 1}
    assert toon.loads(toon.dumps(held, default=swaps)) == {"a": 0, "c": 1}
