"""run.json: what is recorded, with which settings, how it ended; and free names for the folder it lies in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from diagnose import __version__
from diagnose.run.settings import Settings


def new_record(
    target: str, argv: Sequence[str], settings: Settings, *, module: bool = False
) -> dict[str, Any]:
    """run.json at the begin of a recording. ``argv``: the target's own."""
    return {
        "schema": 1,
        "tool": {"name": "diagnose", "version": __version__},
        "target": target,
        "module": module,
        "argv": list(argv),
        "cwd": os.getcwd(),
        "python": sys.executable,
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": asdict(settings),
        "ended": "running",
        "exit_code": None,
        "signal": None,
        "wall_s": None,
        "gpu_state": None,
    }


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write run.json, the whole file or none of it. Raises OSError."""
    unfinished = folder / "run.json.unfinished"
    unfinished.write_text(json.dumps(record, indent=1), encoding="utf-8")
    unfinished.replace(folder / "run.json")


def numbered(folder: Path) -> list[Path]:
    """The folder, and its names with -2, -3 … at the end for where it is taken."""
    return [folder, *(folder.with_name(f"{folder.name}-{number}") for number in range(2, 1000))]
