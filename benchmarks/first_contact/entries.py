"""The oracles: what is true of a script, written before the product met it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "entries"
STAND_INS = Path(__file__).parent / "stand-ins"
WORTH = 0.08  # of the step, from which a fault has to be found


@dataclass(frozen=True)
class Fault:
    """``lines``: `file.py:41`, where a person would change something. ``cost_ms`` of a step of ``step_ms``,
    by timing; ``sure``: the pairs of runs agreed; ``how``: it was measured.
    """

    lines: tuple[str, ...]
    cost_ms: float
    step_ms: float
    sure: bool
    fix: str
    how: str = ""

    @property
    def share(self) -> float:
        return self.cost_ms / self.step_ms


@dataclass(frozen=True)
class Entry:
    """A script, its command and its faults; healthy scripts have none. ``source`` is empty for our own."""

    name: str
    kind: Literal["planted", "healthy", "real"]
    says: str
    source: str
    command: tuple[str, ...]
    folder: Path
    cwd: str  # below the script's folder
    stand_ins: tuple[str, ...]  # for libraries that are not installed: names in `STAND_INS`
    faults: tuple[Fault, ...]

    @property
    def to_find(self) -> tuple[Fault, ...]:
        """The faults worth finding, costliest first."""
        worth = [fault for fault in self.faults if fault.share >= WORTH]
        return tuple(sorted(worth, key=lambda fault: -fault.share))


def entries() -> list[Entry]:
    """By name."""
    return [read(path.parent) for path in sorted(FOLDER.glob("*/oracle.toml"))]


def read(folder: Path) -> Entry:
    told = tomllib.loads((folder / "oracle.toml").read_text(encoding="utf-8"))
    path = folder / "recipe.toml"
    recipe = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return Entry(
        name=folder.name,
        kind=told["kind"],
        says=told["says"],
        source=told.get("source", ""),
        command=tuple(told["command"]),
        folder=folder,
        cwd=told.get("cwd", ""),
        stand_ins=tuple(recipe.get("stand_ins", [])),
        faults=tuple(_fault(one) for one in told.get("fault", [])),
    )


def _fault(told: dict[str, Any]) -> Fault:
    lines = told["line"] if isinstance(told["line"], list) else [told["line"]]
    return Fault(
        lines=tuple(lines),
        cost_ms=float(told["cost_ms"]),
        step_ms=float(told["step_ms"]),
        sure=told.get("certainty", "sure") != "uncertain",
        fix=told.get("fix", ""),
        how=told.get("how_measured", ""),
    )
