"""What makes failures of exceptions.

An exception that leaves a component ends it as a trap, and the user sees only
that. `answers` turns it into a failure, with what it says.
"""

import functools
import traceback

from componentize_py_types import Err
from wit_world.imports import host_types
from wit_world.imports.types import Failure


def answers(handler):
    """Wraps a handler, which then may raise what it likes."""

    @functools.wraps(handler)
    def answering(*args):
        try:
            return handler(*args)
        except Err as error:
            raise Err(failure_of_host(error.value)) from None
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise Err(Failure("E_HOOK_FAILED", message, places(error))) from None

    return answering


def places(error):
    """Lists where an exception came from.

    `traceback.format_exception` would look for the source, and a component has
    no files to look at.
    """
    frames = traceback.walk_tb(error.__traceback__)
    return [f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}" for frame, line in frames]


def failure_of_host(error):
    """Makes a failure of what the host answered; a failure stays one."""
    match error:
        case Failure():
            return error
        case host_types.HostError_Denied(denial):
            return Failure("E_HOOK_DENIED", f"{denial.capability} is not granted for {denial.target}", [])
        case host_types.HostError_TooLarge(excess):
            return Failure("E_HOOK_FAILED", f"{excess.what} is larger than {excess.limit}", [])
        case host_types.HostError_Quota(excess):
            return Failure("E_HOOK_FAILED", f"the quota of {excess.limit} {excess.what} is used up", [])
        case host_types.HostError_TimedOut():
            return Failure("E_HOOK_TIMEOUT", "the host did not answer in time", [])
        case host_types.HostError_Cancelled():
            return Failure("E_HOOK_CANCELLED", "the run was stopped", [])
        case _:
            return Failure("E_HOOK_FAILED", str(error.value), [])
