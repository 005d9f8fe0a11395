"""What Samuel gets of this process: its environment, and how it is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


importing = False
"""Whether this is the process of a handler, and imports the script that the handler stands in."""


class Surroundings:
    """What plugins get of this process, as the native module reads it.

    Attributes:
        env: The environment that they get parts of.
        supervisor: The command that supervises their processes.
        cache_dir: Where compiled components are kept.
        state_dir: Where their key is kept, and scripts of plugins are run from.
    """

    __slots__ = ("env", "supervisor", "cache_dir", "state_dir")

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.env = environment(env)
        self.supervisor = supervisor()
        self.cache_dir = _cache_dir()
        self.state_dir = state_dir()


def environment(env: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Returns an environment, by default this process's, as far as it is text."""
    pairs = (os.environ if env is None else env).items()
    return [(name, value) for name, value in pairs if _is_text(name) and _is_text(value)]


def _is_text(value: str) -> bool:
    # What cannot be decoded stands in the environment as lone surrogates.
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def supervisor() -> list[str]:
    """The command that supervises processes, so that none survives this one."""
    if not sys.executable:
        return []
    program = os.path.join(os.path.dirname(__file__), "_supervisor.py")
    return [sys.executable, "-I", "-S", program]


def _cache_dir() -> str | None:
    """Returns where the program `samuel` keeps compiled components as well."""
    places = (("SAMUEL_CACHE_DIR", ""), ("XDG_CACHE_HOME", "samuel"), ("HOME", ".cache/samuel"))
    path = _first(places)
    return None if path is None else os.path.join(path, "components")


def state_dir() -> str | None:
    """Returns where the program `samuel` keeps what it relies on as well, such as plans."""
    return _first((("SAMUEL_STATE_DIR", ""), ("XDG_STATE_HOME", "samuel"), ("HOME", ".local/state/samuel")))


def _first(places: tuple[tuple[str, str], ...]) -> str | None:
    """Returns the directory that the first of these variables which is set names."""
    for name, below in places:
        if value := os.environ.get(name):
            path = os.path.join(value, below)
            return path if os.path.isabs(path) and _is_text(path) else None
    return None
