"""What the recorder costs the script it watches: a loop of many short launches, and one of a few long ones.

The script by itself and with the hooks idle, as they are during the plain steps, in turns (A B B A); then one
recording, whose phases say how much longer a step takes under the light and the heavy profiler.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.samples import FOLDER
from benchmarks.tables import table
from benchmarks.tasks import called, recorded
from diagnose.measure.recording import load_recording
from diagnose.run.launch import _with_hooks
from diagnose.run.settings import Settings

LOOP = FOLDER / "loops" / "loop.py"
KINDS = {"launches": "many short launches", "compute": "few long kernels"}
QUARTETS = 4
PLAIN_FOR_EVER = 1_000_000
TARGET = 1.02  # of the hooks' ratio


def costs(kind: str, seconds: float, enough_s: float) -> dict[str, Any]:
    """Of one of `KINDS`: µs a step without and with the hooks, the ratio of each quartet, and ms a step in
    each phase of a recording. Of quartets there is one, and more as far as they fit into ``enough_s``. Raises
    RuntimeError if a run fails, or all take longer than ``seconds``.
    """
    began = time.monotonic()
    ends_at, enough_at = began + seconds, began + enough_s
    with tempfile.TemporaryDirectory() as name:
        phases = _phases(kind, Path(name) / "recorded", seconds)
        plain: list[float] = []
        hooked: list[float] = []
        ratios: list[float] = []
        longest_s = 0.0
        while len(ratios) < QUARTETS and (
            not ratios or time.monotonic() + longest_s < min(ends_at, enough_at)
        ):
            started = time.monotonic()
            us = [
                _step_us(kind, Path(name), hooks, ends_at - started) for hooks in (False, True, True, False)
            ]
            plain += [us[0], us[3]]
            hooked += [us[1], us[2]]
            ratios.append((us[1] + us[2]) / (us[0] + us[3]))
            longest_s = max(longest_s, time.monotonic() - started)
    return {
        "kind": kind,
        "plain_us": statistics.median(plain),
        "hooked_us": statistics.median(hooked),
        "ratios": ratios,
        "phases_ms": phases,
    }


def _step_us(kind: str, folder: Path, hooks: bool, seconds: float) -> float:
    environment = dict(os.environ)
    if hooks:
        (folder / "run" / "rank0").mkdir(parents=True, exist_ok=True)
        (folder / "run" / "rank0" / "elected").unlink(missing_ok=True)
        # the parent's
        settings = {
            name: value
            for name, value in asdict(Settings(steps=PLAIN_FOR_EVER)).items()
            if name != "timeout_s"
        }
        plan = {
            **settings,
            "folder": str(folder / "run"),
            "script_folder": str(LOOP.parent),
            "cwd": str(LOOP.parent),
        }
        environment = _with_hooks(environment, "costs", plan)
    done = called([sys.executable, LOOP.name, kind], LOOP.parent, environment, max(1.0, seconds))
    if done.returncode:
        raise RuntimeError(
            f"{LOOP.name} {kind} ended with exit code {done.returncode}\n{done.stderr[-1000:]}"
        )
    return float(done.stdout)


def _phases(kind: str, out: Path, seconds: float) -> dict[str, float]:
    recorded("--out", str(out), LOOP.name, kind, cwd=LOOP.parent, seconds=seconds)
    recording = load_recording(out)
    steps = {name: recording.step_ns(name) for name in ("plain", "timeline", "detail")}
    return {name: float(np.median(step_ns)) / 1e6 for name, step_ns in steps.items() if len(step_ns)}


def page(found: Iterable[dict[str, Any]]) -> str:
    """A row a loop."""
    header = (
        "loop",
        "step, µs",
        "with idle hooks, µs",
        f"ratio (target: at most {TARGET})",
        "lowest–highest",
        "timeline ÷ plain",
        "detail ÷ plain",
    )
    return table(header, [_row(one) for one in found])


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    ratio, phases = statistics.median(one["ratios"]), one["phases_ms"]
    slower = [
        f"{phases[name] / phases['plain']:.2f}" if {name, "plain"} <= set(phases) else "–"
        for name in ("timeline", "detail")
    ]
    spread = f"{min(one['ratios']):.3f}–{max(one['ratios']):.3f} of {len(one['ratios'])}"
    return (
        KINDS[one["kind"]],
        f"{one['plain_us']:.0f}",
        f"{one['hooked_us']:.0f}",
        f"{ratio:.3f}",
        spread,
        *slower,
    )
