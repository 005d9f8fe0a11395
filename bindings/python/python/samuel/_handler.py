"""A handler that is registered: the function still, with what takes it away again."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from ._registering import Registering
    from ._registration import Registration

__all__ = ["Handler"]

F = TypeVar("F", bound=Callable[..., Any])


class Handler(Generic[F]):
    """A handler that is registered. It is called as its function is.

    Attributes:
        function: The function.
    """

    __name__: str
    __qualname__: str

    def __init__(self, owner: Registering, registration: Registration, function: F) -> None:
        update_wrapper(self, function)
        self.function = function
        self._owner = owner
        self._registration = registration

    @property
    def __call__(self) -> F:
        return self.function

    @property
    def name(self) -> str:
        """The handler's name."""
        return self._registration.name

    @property
    def point(self) -> str:
        """The id of its hook point."""
        return self._registration.point

    def remove(self) -> None:
        """Takes the handler away: runs that start from now on do without it.

        Nothing where it was removed or replaced before.
        """
        self._owner._remove(self._registration)

    def __repr__(self) -> str:
        return f"<Handler {self.name!r} at {self.point}>"


def function_of(function: Any) -> Any:
    """Returns the function of a handler, and anything else as it is."""
    while isinstance(function, Handler):
        function = function.function
    return function
