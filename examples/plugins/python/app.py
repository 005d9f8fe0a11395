"""A quality check: an iteration has to leave an entry in the changelog.

It looks for a heading with the word "Unreleased" and at least one list item
below it. The user can name another file and heading in samuel.toml:

    [[plugins]]
    name = "samuel-changelog"
    [plugins.config]
    path = "docs/CHANGES.md"
    heading = "Next"
"""

import json

from answering import answers
from wit_world.exports.quality_check import CheckFailure, Output
from wit_world.imports import config, files_read, log
from wit_world.imports.host_types import HostError_NotFound
from componentize_py_types import Err


class QualityCheck:
    """The point this plugin handles; componentize-py finds it by its name."""

    @answers
    def run(self, call, input, previous):
        path = setting("path", "CHANGELOG.md")
        heading = setting("heading", "Unreleased")
        text = read_text(path)
        if text is None:
            return refusal(f"there is no {path}")
        entries = entries_below(heading, text)
        log.write(log.Level.INFO, f"{path}: {len(entries)} entries below {heading}")
        if not entries:
            return refusal(f"{path} has no entry below {heading}")
        return Output(ok=True, reason=None, failures=[], extensions=[])


def entries_below(heading, text):
    """Returns the list items between a heading and the next of its level."""
    entries, level = [], None
    for line in text.splitlines():
        marks = len(line) - len(line.lstrip("#"))
        if marks and level is None and heading.lower() in line.lower():
            level = marks
        elif marks and level is not None and marks <= level:
            break
        elif level is not None and line.lstrip().startswith(("- ", "* ")):
            entries.append(line.strip())
    return entries


def refusal(message):
    """Answers that the check failed."""
    failure = CheckFailure(command="changelog", message=message, exit_code=None, tail="", log=None)
    return Output(ok=False, reason=message, failures=[failure], extensions=[])


def setting(key, default):
    """Returns the text that the user set, or the default."""
    stored = config.get(key)
    value = default if stored is None else json.loads(stored)
    if not isinstance(value, str):
        raise TypeError(f"the setting {key} is no text")
    return value


def read_text(path):
    """Returns the text of a file of the project, or None where there is none."""
    try:
        return files_read.read(path).decode()
    except Err as error:
        if isinstance(error.value, HostError_NotFound):
            return None
        raise
