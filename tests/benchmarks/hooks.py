"""What the idle hooks cost: a plain script against the same script in its plain phase, interleaved A B B A runs.

    python tests/benchmarks/hooks.py [quartets]

Prints the ratio hooked ÷ plain of the median step, in wall time and in the training thread's own processor time, which other programs on
the machine disturb less: the median over the quartets, and their range. The target is at most 1.02. The steps measured are those in which
every hook has work to do: a plain phase keeps its first 200 losses.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from diagnose.run.child.live import Live
from diagnose.run.launch import _with_hooks
from diagnose.run.settings import Settings

SCRIPT = """
import statistics, time, torch
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(2048, 64), torch.randint(0, 10, (2048,)))
wall, processor = [], []
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(data, batch_size=32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        wall.append(time.perf_counter())
        processor.append(time.thread_time())
for times in wall, processor:
    print(statistics.median(later - earlier for earlier, later in zip(times[40:], times[41:])))
"""
PLAIN_FOR_EVER = 1_000_000
CLOCKS = ("wall time", "processor time")


def step_seconds(script: Path, environment: dict[str, str]) -> tuple[float, ...]:
    """By each of the clocks."""
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)
    return tuple(map(float, run.stdout.split()))


def main(quartets: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(SCRIPT, encoding="utf-8")
        (folder / "run" / "rank0").mkdir(parents=True)
        settings = asdict(Settings(steps=PLAIN_FOR_EVER))
        del settings["timeout_s"]  # the parent's
        plan = {**settings, "folder": str(folder / "run"), "script_folder": str(folder), "cwd": str(folder)}
        runs = []  # each quartet's four, in the order plain, hooked, hooked, plain
        for number in range(quartets):
            hooks = _with_hooks(dict(os.environ), f"bench{number}", plan)
            runs.append([])
            for environment in (dict(os.environ), hooks, hooks, dict(os.environ)):
                (folder / "run" / "rank0" / "elected").unlink(missing_ok=True)
                (folder / "run" / Live.FILE).unlink(missing_ok=True)
                runs[-1].append(step_seconds(script, environment))
    for at, clock in enumerate(CLOCKS):
        print_result(clock, [[seconds[at] for seconds in quartet] for quartet in runs])


def print_result(clock: str, quartets: list[list[float]]) -> None:
    plain = [seconds for first, _, _, last in quartets for seconds in (first, last)]
    hooked = [seconds for _, second, third, _ in quartets for seconds in (second, third)]
    ratios = [(second + third) / (first + last) for first, second, third, last in quartets]
    print(f"{clock}: plain script {statistics.median(plain) * 1e6:.1f} µs a step, hooks idle {statistics.median(hooked) * 1e6:.1f} µs")
    spread = f"{min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} quartets"
    print(f"  ratio {statistics.median(ratios):.3f} (target: at most 1.02), {spread}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
