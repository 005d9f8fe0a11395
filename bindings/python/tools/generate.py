"""Writes the record classes of `samuel` from the Rust types they mirror.

The payloads, events and groups of the prompt context are defined once, in
samuel-core. This tool reads their sources (`rust_types`) and writes
`records.py`, the classes, and `_registering.pyi`, one signature for each hook
point (`python_types`). With `--check` it only says whether the files are what
it would write.
"""

from __future__ import annotations

import sys
from pathlib import Path

from python_types import write_records, write_registering
from rust_types import Reader

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "samuel"


def main() -> None:
    reader = Reader()
    reader.read_all()
    wanted = {"records.py": write_records(reader), "_registering.pyi": write_registering()}
    stale = []
    for name, text in wanted.items():
        path = PACKAGE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        raise SystemExit(f"not up to date, run tools/generate.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
