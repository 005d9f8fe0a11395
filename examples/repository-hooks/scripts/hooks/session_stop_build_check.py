#!/usr/bin/env python3
"""Builds the services and apps in which something was changed."""

import json
import os
import subprocess
import sys


def main():
    context = json.load(sys.stdin)
    # Without a list nobody knows what was changed, and there is nothing to derive services from.
    changed = context.get("changed_files") or []
    parts = [path.split("/") for path in changed if path.startswith(("services/", "apps/"))]
    services = sorted({part[1] for part in parts if len(part) > 2})
    result = {"logs": [], "messages_to_user": [], "follow_up_actions": []}
    for service in services:
        command = ["npm", "run", "--silent", f"build:{service}"]
        # What it prints would not be a result.
        built = subprocess.run(
            command, cwd=os.environ["SAMUEL_PROJECT_ROOT"], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        result["logs"].append(f"build:{service} ended with {built.returncode}")
        if built.returncode != 0:
            lines = (built.stdout + built.stderr).strip().splitlines()[-20:]
            result["messages_to_user"].append("\n".join([f"The build of {service} fails:", *lines]))
            result["follow_up_actions"].append({"kind": "run_command", "command": " ".join(command)})
    # Counts only with blocking: true.
    if result["messages_to_user"] and os.environ.get("BUILD_CHECK_BLOCKS"):
        result["block_execution"] = True
    print(json.dumps(result))


main()
