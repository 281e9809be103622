"""Print the oldest version of a dependency that pyproject.toml claims: `.ci/oldest.py torch` says 2.4."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest(name: str) -> str:
    for dependency in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]:
        if found := re.fullmatch(rf"{re.escape(name)}>=([\d.]+)", dependency):
            return found[1]
    raise SystemExit(f"pyproject.toml names no oldest version of {name}")


if __name__ == "__main__":
    print(oldest(sys.argv[1]))
