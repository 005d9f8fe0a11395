"""What handlers in processes of their own printed and logged, in this process."""

from __future__ import annotations

import json
import logging
import sys


def pass_on(told: str) -> None:
    """Prints a text, or logs a record; called by the native module."""
    passed = json.loads(told)
    if "text" in passed:
        stream = sys.stderr if passed["stream"] == "stderr" else sys.stdout
        if stream is not None:
            stream.write(passed["text"])
            stream.flush()
    elif "record" in passed:
        record = logging.makeLogRecord(passed["record"])
        logger = logging.getLogger(record.name)
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)
