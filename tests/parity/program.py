"""What a row of the table says of a handler, done by a program of an image. The name of the handler says what."""

import json
import re
import signal
import sys
import time


def filled(value, envelope):
    """Fills the texts of an answer from the envelope, as the table says."""

    def part(match):
        found = envelope
        for key in match.group(1).split("."):
            found = found[int(key)] if isinstance(found, list) else (found or {}).get(key)
        if found is None or isinstance(found, str):
            return found or ""
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)

    if isinstance(value, str):
        return re.sub(r"\$\{([^}]*)\}", part, value)
    if isinstance(value, list):
        return [filled(item, envelope) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, envelope) for key, item in value.items()}
    return value


def answer(row, envelope, tell):
    """Does what the row says, and returns the answer."""
    if row["breaks"] == "fails":
        raise RuntimeError(row["message"])
    if row["breaks"] == "ignores":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while row["breaks"]:
        time.sleep(1000)
    for text in row["says"]:
        tell(event={"type": "text", "text": text})
    if row["supervisor"]:
        tell(supervised_by={"pid": row["supervisor"], "start_time": 1})
    if row["asks"]:
        tell(before_ability={"call_id": "1", "ability_id": row["asks"], "input": {}})
        decision = json.loads(sys.stdin.readline())
        if decision["decision"] == "allow":
            text = "allowed " + json.dumps(decision["input"])
        else:
            text = "blocked " + decision["reason"]
        tell(event={"type": "text", "text": text})
    return {**filled(row["answer"], envelope), "contribute": row["contribute"], "warnings": row["warns"]}


def say(message):
    """Says a line."""
    print(json.dumps(message), flush=True)


if sys.argv[1] != "serve":
    try:
        say(answer(json.loads(sys.argv[1]), json.loads(sys.stdin.readline()), lambda **told: say(told)))
    except RuntimeError as error:
        sys.exit(str(error))
    sys.exit(0)
while line := sys.stdin.readline():
    call = json.loads(line)
    number = call["n"]
    try:
        told = answer(json.loads(call["handler"]), call["envelope"], lambda **told: say({"n": number, **told}))
    except RuntimeError as error:
        told = {"error": {"message": str(error)}}
    say({"n": number, **told})
