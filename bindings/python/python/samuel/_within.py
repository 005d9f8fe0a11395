"""A whole number, held against its range."""

from __future__ import annotations

from operator import index


def within(name: str, value: int, least: int, most: int) -> int:
    """Returns the number.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is beyond the range.
    """
    if not least <= index(value) <= most:
        raise ValueError(f"{name} is a whole number from {least} to {most}, not {value}")
    return value
