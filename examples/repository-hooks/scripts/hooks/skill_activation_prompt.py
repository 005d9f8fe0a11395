#!/usr/bin/env python3
"""Suggests abilities and documents that fit the words of a prompt."""

import json
import os
import re
import sys


def main():
    context = json.load(sys.stdin)
    words = set(re.findall(r"[a-z]+", context["user_raw_input"].lower()))
    catalogue = os.path.join(os.environ["SAMUEL_PROJECT_ROOT"], "scripts/hooks/abilities.json")
    with open(catalogue, encoding="utf-8") as file:
        abilities = json.load(file)
    result = {"suggested_abilities": [], "suggested_documents": []}
    for ability in abilities:
        found = words & set(ability["words"])
        if found:
            confidence = round(len(found) / len(ability["words"]), 2)
            result["suggested_abilities"].append(
                {"id": ability["id"], "reason": ability["reason"], "confidence": confidence}
            )
            result["suggested_documents"].append({"path": ability["document"], "reason": ability["reason"]})
    if result["suggested_abilities"]:
        result["new_intent"] = {"abilities": [one["id"] for one in result["suggested_abilities"]]}
    print(json.dumps(result))


main()
