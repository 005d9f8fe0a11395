"""Functions on their way into a process of their own.

A function that stands in a module is imported there. One of a script is found in the script, which is
imported once with another name than `__main__`. Everything else is sent as it is: lambdas and functions
within functions, those below the script's `if __name__ == "__main__":`, those of a notebook or of the
prompt, methods and other objects that can be called. With them goes what they use of the program: functions and classes that cannot be imported, and values that
can be pickled. What cannot be sent is refused, with the reason.
"""

from __future__ import annotations

import base64
import builtins
import dataclasses
import importlib
import importlib.util
import io
import json
import logging
import marshal
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from . import _process
from ._handler import function_of
from .errors import HookError

if TYPE_CHECKING:
    import ast
    from typing import TypeGuard

# The name of a script in the process that imports it.
_SCRIPT = "__samuel_main__"

# The instructions that read a global; the second one in the body of a class.
_READS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}

# What `dataclasses` knows its fields by: it asks which object it is.
_DATACLASSES = ("MISSING", "KW_ONLY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR", "_HAS_DEFAULT_FACTORY")


def target_of(function: Callable[..., Any]) -> tuple[str, str]:
    """Says where a process of its own finds a function, as JSON, and the directory it works in.

    Raises:
        HookError: It cannot be sent.
    """
    try:
        directory = os.getcwd()
    except OSError:
        directory = "/"
    target = {"path": sys.path, "levels": _levels(), **_place_of(function)}
    return json.dumps(target), directory


def _levels() -> dict[str, int]:
    """The levels of the loggers that have one of their own, by name; the root's has no name."""
    loggers = [*logging.getLogger().manager.loggerDict.items()]
    levels = {name: each.level for name, each in loggers if isinstance(each, logging.Logger) and each.level}
    return {"": logging.getLogger().level, **levels}


def _place_of(function: Callable[..., Any]) -> dict[str, str]:
    if isinstance(function, FunctionType) and _stands_somewhere(function):
        if function.__module__ != "__main__":
            return {"module": function.__module__, "name": function.__qualname__}
        script = getattr(sys.modules["__main__"], "__file__", None)
        if script is not None and os.path.isfile(script) and not _is_guarded(function, script):
            return {"script": os.path.abspath(script), "name": function.__qualname__}
    return {"pickled": base64.b64encode(_pickled(function)).decode("ascii")}


def _is_guarded(function: FunctionType, script: str) -> bool:
    """Whether it is defined below `if __name__ == "__main__":`, where an import of the script does not make it."""
    import ast

    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return False
    name = function.__qualname__.partition(".")[0]
    for each in tree.body:
        if isinstance(each, ast.If) and any(_is_variable(part, "__name__") for part in ast.walk(each.test)):
            if any(_defines(part, name) for below in each.body for part in ast.walk(below)):
                return True
    return False


def _defines(node: ast.AST, name: str) -> bool:
    import ast

    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name == name
    return _is_variable(node, name) and isinstance(node.ctx, ast.Store)


def _is_variable(node: ast.AST, name: str) -> TypeGuard[ast.Name]:
    import ast

    return isinstance(node, ast.Name) and node.id == name


def _stands_somewhere(function: FunctionType | type) -> bool:
    """Whether it has a name of its own in its module."""
    return "<" not in function.__qualname__


def _is_sent(value: FunctionType | type) -> bool:
    """Whether it goes itself, and is not imported."""
    return value.__module__ == "__main__" or not _stands_somewhere(value)


def _pickled(function: Callable[..., Any]) -> bytes:
    try:
        return _dumps(function)
    except Exception as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        raise HookError(
            f"{name} cannot be isolated: {_reason(function, error)}",
            code="E_HOOK_UNKNOWN",
            help="Make within the function what it needs, or put the function into a module of its own.",
        ) from error


def _reason(function: Any, error: Exception) -> str:
    """Names what a function uses that cannot be sent."""
    for name, value in _used(function) if isinstance(function, FunctionType) else ():
        try:
            _dumps(value)
        except Exception as why:
            return f"it uses {name}, which cannot be sent to another process ({why})"
    return f"it cannot be sent to another process ({error})"


def _used(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals and the variables of functions around it that a function uses."""
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:
            # It has no value yet.
            continue


def _names(code: CodeType) -> list[str]:
    """The globals that code reads. `co_names` has those of attributes and imports as well, which mean nothing else."""
    import dis

    read = [each.argval for each in dis.get_instructions(code) if each.opname in _READS]
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return [*read, *(name for each in inner for name in _names(each))]


class _Pickler(pickle.Pickler):
    """Pickles functions and classes by what they are, where they cannot be imported."""

    def reducer_override(self, value: Any) -> Any:
        value = function_of(value)
        if isinstance(value, FunctionType) and _is_sent(value):
            return self._function(value)
        if isinstance(value, type) and _is_sent(value):
            return self._class(value)
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, property):
            return property, (value.fget, value.fset, value.fdel, value.__doc__)
        if isinstance(value, staticmethod | classmethod):
            return type(value), (value.__func__,)
        if isinstance(value, MappingProxyType):
            return _make_proxy, (dict(value),)
        for name in _DATACLASSES if type(value).__module__ == "dataclasses" else ():
            if value is getattr(dataclasses, name, _DATACLASSES):
                return getattr, (dataclasses, name)
        if isinstance(value, CellType):
            raise pickle.PicklingError("a variable of another function")
        return NotImplemented

    def _function(self, function: FunctionType) -> tuple[Any, ...]:
        made = (marshal.dumps(function.__code__), function.__module__, len(function.__closure__ or ()))
        state = {
            "name": function.__name__,
            "qualname": function.__qualname__,
            "doc": function.__doc__,
            "defaults": function.__defaults__,
            "kwdefaults": function.__kwdefaults__,
            "attributes": function.__dict__,
            "globals": {name: value for name, value in _used(function) if name in function.__globals__},
            "closure": [_contents(cell) for cell in function.__closure__ or ()],
        }
        # The state comes later, since a function may use itself.
        return _make_function, made, state, None, None, _fill_function

    def _class(self, kind: type) -> tuple[Any, ...]:
        if type(kind) is not type:
            raise pickle.PicklingError(f"the class {kind.__name__} is of the metaclass {type(kind).__name__}")
        slots = kind.__dict__.get("__slots__")
        made = (kind.__name__, kind.__qualname__, kind.__module__, kind.__bases__, slots)
        given = {"__dict__", "__weakref__", "__slots__", "__module__", "__qualname__", "__annotations__"}
        members = [slots] if isinstance(slots, str) else slots or ()
        state = {name: value for name, value in kind.__dict__.items() if name not in given and name not in members}
        return _make_class, made, state, None, None, _fill_class


def _dumps(value: Any) -> bytes:
    written = io.BytesIO()
    _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(value)
    return written.getvalue()


def _contents(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


# The globals of the functions that were sent, by module.
_globals: dict[str, dict[str, Any]] = {}


def _make_function(code: bytes, module: str, cells: int) -> FunctionType:
    known = _globals.setdefault(module, {"__name__": module, "__builtins__": builtins})
    made = FunctionType(marshal.loads(code), known, closure=tuple(CellType() for _ in range(cells)))
    made.__module__ = module
    return made


def _fill_function(function: FunctionType, state: dict[str, Any]) -> None:
    function.__name__, function.__qualname__ = state["name"], state["qualname"]
    function.__doc__ = state["doc"]
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__dict__.update(state["attributes"])
    function.__globals__.update(state["globals"])
    for cell, contents in zip(function.__closure__ or (), state["closure"]):
        if contents:
            cell.cell_contents = contents[0]


def _make_proxy(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


def _make_class(name: str, qualname: str, module: str, bases: tuple[type, ...], slots: Any) -> type:
    body = {"__module__": module, "__qualname__": qualname}
    return type(name, bases, body if slots is None else {**body, "__slots__": slots})


def _fill_class(kind: type, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(kind, name, value)


def found(target: dict[str, Any]) -> Callable[..., Any]:
    """Finds the function in the process of its own."""
    sys.path[:] = target["path"]
    for name, level in target["levels"].items():
        logging.getLogger(name).setLevel(level)
    if "pickled" in target:
        loaded: Callable[..., Any] = function_of(pickle.loads(base64.b64decode(target["pickled"])))
        return loaded
    # A script that starts a loop whenever it is imported would do so for ever.
    _process.importing = True
    try:
        module: Any = _script(target["script"]) if "script" in target else importlib.import_module(target["module"])
    finally:
        _process.importing = False
    for part in target["name"].split("."):
        module = getattr(module, part)
    function: Callable[..., Any] = function_of(module)
    return function


def _script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_SCRIPT, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    # What the script pickles is found under its name there.
    sys.modules[_SCRIPT] = sys.modules["__main__"] = module
    spec.loader.exec_module(module)
    return module
