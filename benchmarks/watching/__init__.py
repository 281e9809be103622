"""Whether slow-downs of watched runs are found and named, what healthy runs are told, what watching costs.

    python -m benchmarks watching [--runs N] [--healthy-minutes M] [--only KIND] [--write]

Each run is a process of its own (`benchmarks/watching/case.py`): a small training, healthy at first, then
with one of eight faults. Windows last a tenth of a second here in place of a second, so that 50 runs end in
half an hour; what is counted in windows is as in the product. With --write the page is docs/watching.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import ROOT
from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.tables import table
from benchmarks.watching.case import WINDOW_S
from diagnose.document.model.watched import Watched
from diagnose.document.watched import watched_run
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources
from diagnose.run.child.watching.changes import LEAST
from diagnose.watched import levels

PAGE = ROOT / "docs" / "watching.md"
RUNS = 50
HEALTHY_MINUTES = 4.0
PAIRS = 6
_CASE = "benchmarks.watching.case"
_NEAR = 0.15  # of the steps before the fault: as near has the change to be


@dataclass(frozen=True)
class Fault:
    """``what``: in words; ``named``: whether the product's answer names it."""

    what: str
    causes: tuple[str, ...] = ()  # of `WatchCause`, one of which has to be there
    function: str = ""  # or a line in it
    slow: bool = False  # or slow steps of its line cost more than before
    memory: bool = False


FAULTS = {
    "files-grow": Fault("a data set's items take longer", ("input",), "__getitem__"),
    "leak": Fault("cycles of objects are kept, and the collector walks them", ("garbage",), "leak"),
    "log-grows": Fault("a history is written out whole each step", (), "log"),
    "others": Fault("other programs take the cores", ("no_core",)),
    "threads-fall": Fault("torch computes with fewer threads", ("threads",)),
    "validation": Fault("a validation every 50 steps gets longer", (), "validate", slow=True),
    "hiccups": Fault("one step in forty takes much longer", (), "hiccup", slow=True),
    "memory": Fault("tensors are kept, step for step", memory=True),
}


@dataclass(frozen=True)
class Outcome:
    """``fault_step``: from which on there was one; ``longer``: what it made of a step, as a share, by a clock
    around the loop; ``noticed``: whether a change, or growth of memory, was told; ``named``: and what it is.
    """

    kind: str
    fault_step: int
    longer: float
    noticed: bool
    named: bool
    said: str


def run_case(kind: str, seed: int, folder: Path, *more: str) -> dict[str, Any]:
    """What the case prints at its end. Raises RuntimeError if it fails."""
    command = [sys.executable, "-m", _CASE, kind, str(seed), str(folder), *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def watched(folder: Path) -> Watched:
    levels.NEAR_S = 45.0 * WINDOW_S
    recording = Recording(source=folder, timeline=None, run={"cwd": str(ROOT)})
    found = watched_run(recording, Sources(recording))
    assert found is not None
    return found


def outcome(kind: str, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        told = run_case(kind, seed, Path(name))
        found = watched(Path(name))
    fault, step = FAULTS[kind], told["fault_step"]
    longer = told["after_ms"] / told["before_ms"] - 1
    if fault.memory:
        grown = found.memory_growth_bytes
        return Outcome(kind, step, longer, bool(grown), bool(grown), f"memory grew by {grown}")
    slower = [
        after
        for before, after in pairwise(found.levels)
        if after.mean_ms > before.mean_ms and after.first >= (1 - _NEAR) * step
    ]
    causes = [cause for level in slower for cause in level.causes]
    lines = {cause.line.function for cause in causes if cause.line}
    lines |= {cause.line.called.rpartition(": ")[2] for cause in causes if cause.line}
    if fault.slow:
        lines |= {part for kind in found.slow[:2] if kind.line for part in (kind.line.function,)}
        lines |= {kind.line.called.rpartition(": ")[2] for kind in found.slow[:2] if kind.line}
    named = any(cause.kind in fault.causes for cause in causes) or fault.function in lines - {""}
    said = "; ".join(f"{cause.kind} {cause.ms:.2f} ms {_where(cause.line)}".strip() for cause in causes)
    return Outcome(kind, step, longer, bool(slower), bool(slower) and named, said or "no change")


def _where(line: Any) -> str:
    return f"{line.function}:{line.line}" if line else ""


def healthy(minutes: float) -> tuple[int, int]:
    """Steps without a fault, and how many changes were told in them."""
    with tempfile.TemporaryDirectory() as name:
        run_case("healthy", 0, Path(name), str(60 * minutes))
        found = watched(Path(name))
    return found.steps, len(found.levels) - 1


def cost(pairs: int) -> list[float]:
    """Ratios of the processor time of a step of 5 ms, watched to not watched, of pairs in turns."""
    ratios = []
    for number in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            told = run_case("cost", number, Path(name))
        ratios.append(told["watched_ms"] / told["plain_ms"])
    return ratios


def page(outcomes: list[Outcome], steps: int, false: int, ratios: list[float]) -> str:
    rows = []
    for kind, fault in FAULTS.items():
        those = [one for one in outcomes if one.kind == kind]
        if those:
            rows.append(
                (
                    fault.what,
                    str(len(those)),
                    _range([one.longer for one in those]),
                    str(sum(one.noticed for one in those)),
                    str(sum(one.named for one in those)),
                )
            )
    noticed, named = sum(one.noticed for one in outcomes), sum(one.named for one in outcomes)
    large = [one for one in outcomes if one.longer >= LEAST or FAULTS[one.kind].memory]
    each = ", ".join(f"{100 * (ratio - 1):+.1f}" for ratio in ratios)
    missed = [
        f"- {one.kind}, {100 * one.longer:+.0f} % from step {one.fault_step} on: {one.said}"
        for one in outcomes
        if not one.named
    ]
    parts = [
        "# Watching: what is found, what it costs",
        f"Written by `python -m benchmarks watching --write`, on {in_words(machine())}.",
        "## Planted slow-downs",
        "Small trainings, healthy at first, then with one fault. Windows last a tenth of a second here in "
        "place of a second. *Noticed*: a change was told at the fault or after it; *named*: and what it is, "
        "or its line.",
        table(["fault", "runs", "a step then took, %", "noticed", "named"], rows).strip(),
        f"Noticed {noticed} of {len(outcomes)}, named {named}. Of the {len(large)} whose steps then took "
        f"{100 * LEAST:.0f} % longer or more, or whose memory grew: noticed "
        f"{sum(one.noticed for one in large)}, named {sum(one.named for one in large)}.",
        *(["Not named:", "\n".join(missed)] if missed else []),
        "## Healthy steps",
        f"{false} changes were told in {steps:,} steps without a fault: {1e5 * false / steps:.1f} in "
        "100,000.",
        "## Cost",
        f"A step of 5 ms takes {100 * (median(ratios) - 1):+.1f} % processor time of its thread when it is "
        f"watched (median of {len(ratios)} pairs; {each}).",
    ]
    return "\n\n".join(parts) + "\n"


def _range(shares: list[float]) -> str:
    return f"{100 * min(shares):+.0f} … {100 * max(shares):+.0f}"


def main(arguments: Sequence[str]) -> None:
    options = parser("watching", __doc__)
    options.add_argument("--runs", type=int, default=RUNS, help="planted runs")
    options.add_argument("--only", choices=FAULTS, help="one kind of fault")
    options.add_argument("--healthy-minutes", type=float, default=HEALTHY_MINUTES)
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    kinds = [given.only] if given.only else list(FAULTS)
    outcomes = []
    for number in range(given.runs):
        outcomes.append(outcome(kinds[number % len(kinds)], number))
        print(outcomes[-1], file=sys.stderr, flush=True)
    steps, false = healthy(given.healthy_minutes)
    made = page(outcomes, steps, false, cost(PAIRS))
    print(made)
    if given.write:
        PAGE.write_text(made, encoding="utf-8")
