#!/usr/bin/env python3
"""Refuses an implementation until a failing test is committed.

The call comes as one JSON document on standard input, and the answer is one on
standard output. The tests are the project's quality_checks, run here as they are
run after each iteration: while all of them pass, no test asks for anything.
"""

import json
import subprocess
import sys

METHODOLOGY = "tdd-strict"
# What the shell answers for a command that cannot be run, which says nothing of tests.
NOT_RUN = (126, 127)


def uncommitted():
    """Returns the files that differ from the last commit; nothing of Samuel's own."""
    status = ["git", "status", "--porcelain", "--untracked-files=all"]
    said = subprocess.run(status, capture_output=True, text=True, check=True).stdout
    return [line[3:] for line in said.splitlines() if not line[3:].startswith(".samuel/")]


def refusal(envelope):
    """Returns why no implementation may begin, or None where one may."""
    call = envelope["input"]
    if envelope["context"]["Methodology"]["Name"] != METHODOLOGY or call["mode"] != "implementation":
        return None
    if call["consec_fails"]:
        # The last iteration was let through, and is tried again.
        return None
    checks = envelope["context"]["Config"]["QualityChecks"]
    if not checks:
        return "quality_checks in samuel.toml names no tests"
    changed = uncommitted()
    if changed:
        return f"not all is committed, {changed[0]} for one: commit or stash it first"
    for check in checks:
        ran = subprocess.run(["sh", "-c", check], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if ran.returncode in NOT_RUN:
            return f"the check cannot be run: {check}"
        if ran.returncode:
            return None
    return "no failing test is committed: commit one that asks for the next task, then start again"


reason = refusal(json.load(sys.stdin))
json.dump({"continue": reason is None, "reason": reason}, sys.stdout)
