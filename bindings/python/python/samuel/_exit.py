"""The end of the interpreter, and forks, while Samuel is at work.

When Python exits, runs that nobody ended are stopped; then the native module
lets no more threads into the interpreter. A forked process has none of the
threads, and so begins without runs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .run import Run

# How long runs that are stopped may take to end, in seconds.
STOP_LIMIT = 10.0
# How long the end of a run waits for its watchers to be told of it, in seconds.
TOLD_LIMIT = 2.0
# How long a thread may stay in the interpreter.
_LEAVE_LIMIT = 2.0

# The runs that have not ended.
live: set[Run] = set()
_is_prepared = False


def prepare() -> None:
    """Has the end and forks looked after; called by the native module before
    it starts a thread that enters the interpreter."""
    global _is_prepared
    if _is_prepared:
        return
    import atexit
    import os

    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    _is_prepared = True


def end_runs() -> None:
    """Stops the runs that nobody ended, and has their watchers told; for no longer than `STOP_LIMIT`."""
    from time import monotonic, sleep

    deadline = monotonic() + STOP_LIMIT
    while live and monotonic() < deadline:
        for run in list(live):
            run.stop()
            if run.ended:
                run._told(min(TOLD_LIMIT, max(0.0, deadline - monotonic())))
                live.discard(run)
        sleep(0.002)


def _at_exit() -> None:
    from time import monotonic, sleep

    from . import _samuel

    end_runs()
    _samuel.close()
    deadline = monotonic() + _LEAVE_LIMIT
    while _samuel.inside() and monotonic() < deadline:
        sleep(0.001)


def _forked() -> None:
    from . import _samuel

    live.clear()
    _samuel.forked()
