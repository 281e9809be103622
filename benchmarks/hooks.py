"""What the idle hooks cost: a plain script against the same script in its
plain phase, interleaved A B B A runs.

    python -m benchmarks hooks [--quartets N]

Prints what a step costs more with our hooks, in µs and as a ratio, for a step of some 0.4 ms and one of
some 2 ms: in wall time and in the training thread's own processor time, which other programs on the
machine disturb less; the median over the quartets, and the range of the ratio. The targets are at most
10 µs, and 1.02 on a step of 2 ms. The steps measured are those in which every hook has work to do: a
plain phase keeps its first 200 losses.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.options import parser
from diagnose.run.child.shared_state import SharedState
from diagnose.run.launch import _with_hooks
from diagnose.run.settings import Settings

SCRIPT = """
import statistics, sys, time, torch
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
width = int(sys.argv[1])
model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(12800, 64), torch.randint(0, 10, (12800,)))
wall, processor = [], []
for x, y in torch.utils.data.DataLoader(data, batch_size=32):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    loss.item()
    wall.append(time.perf_counter())
    processor.append(time.thread_time())
for times in wall, processor:
    # of steps that belong to the plain phase: warm-up takes fewer than 40, and half of all are plain
    print(statistics.median(later - earlier for earlier, later in zip(times[40:200], times[41:201])))
"""
WIDTHS = (256, 4096)  # of the layer between
CLOCKS = ("wall time", "processor time")


def step_seconds(script: Path, width: int, environment: dict[str, str]) -> tuple[float, ...]:
    """By each of the clocks."""
    command = [sys.executable, str(script), str(width)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(float, run.stdout.split()))


def measured_costs(quartets: int) -> list[list[str]]:
    """A row for each step and clock: the step without and with our hooks, what
    they cost, the ratio and its range.
    """
    with tempfile.TemporaryDirectory() as name:
        return [row for width in WIDTHS for row in _rows(_quartets(Path(name), width, quartets))]


def _quartets(folder: Path, width: int, count: int) -> list[list[tuple[float, ...]]]:
    """Each quartet's four runs, in the order plain, hooked, hooked, plain."""
    script = folder / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    (folder / "run" / "rank0").mkdir(parents=True, exist_ok=True)
    settings = asdict(Settings(plain_steps=300, keep_going=True))
    del settings["timeout_s"]  # the parent's
    plan = {**settings, "folder": str(folder / "run"), "script_folder": str(folder), "cwd": str(folder)}
    runs: list[list[tuple[float, ...]]] = []
    for number in range(count):
        hooks = _with_hooks(dict(os.environ), f"bench{number}", plan)
        runs.append([])
        for environment in (dict(os.environ), hooks, hooks, dict(os.environ)):
            (folder / "run" / "rank0" / "elected").unlink(missing_ok=True)
            (folder / "run" / SharedState.FILE).unlink(missing_ok=True)
            runs[-1].append(step_seconds(script, width, environment))
    return runs


def _rows(runs: list[list[tuple[float, ...]]]) -> Iterator[list[str]]:
    for at, clock in enumerate(CLOCKS):
        quartets = [[seconds[at] for seconds in quartet] for quartet in runs]
        plain = [seconds for first, _, _, last in quartets for seconds in (first, last)]
        costs = [(second + third - first - last) / 2 for first, second, third, last in quartets]
        hooked = [seconds for _, second, third, _ in quartets for seconds in (second, third)]
        ratios = [(second + third) / (first + last) for first, second, third, last in quartets]
        step_ms = f"{statistics.median(plain) * 1e3:.2g} ms"
        told = [f"{statistics.median(values) * 1e6:.1f} µs" for values in (plain, hooked, costs)]
        yield [
            step_ms,
            clock,
            *told,
            f"{statistics.median(ratios):.3f}",
            f"{min(ratios):.3f} to {max(ratios):.3f}",
        ]


def main(arguments: Sequence[str]) -> None:
    options = parser("hooks", __doc__)
    options.add_argument("--quartets", type=int, default=5, metavar="N", help="of runs (default 5)")
    for row in measured_costs(options.parse_args(arguments).quartets):
        print(" · ".join(row), flush=True)
