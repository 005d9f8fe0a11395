#!/usr/bin/env python3
"""Stops calls that a person should make. This is a guard against mistakes, not against intent:
a command can be written in ways that no pattern finds."""

import json
import re
import sys

RISKS = [
    (r"\brm\s+(-\w+\s+)*(/|~|\.\.)", "it deletes files outside of the repository"),
    (r"\bgit\s+push\b.*(--force\b|-f\b|--mirror\b)", "it rewrites published history"),
    (r"\bterraform\s+(apply|destroy)\b|\bkubectl\s+delete\b", "it changes what is deployed"),
]


def main():
    context = json.load(sys.stdin)
    ability, arguments = context["ability_id"], context["input"]
    if ability.startswith("delete_"):
        return block(f"{ability} deletes resources")
    command = arguments.get("command", "") if isinstance(arguments, dict) else ""
    command = " ".join(command) if isinstance(command, list) else str(command)
    for pattern, why in RISKS:
        if re.search(pattern, command):
            return block(f"`{command}` was not run: {why}")
    print("{}")


def block(why):
    message = f"{why}. Ask a person to confirm and to run it."
    print(json.dumps({"block_execution": True, "messages_to_user": [message], "logs": [f"blocked: {why}"]}))


main()
