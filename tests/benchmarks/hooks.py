"""What the idle hooks cost: a plain script against the same script in its plain phase, interleaved A B B A runs.

    python tests/benchmarks/hooks.py [runs]

Prints the ratio hooked ÷ plain of the median step times: the median over the quartets, and their range. The target is at most 1.02.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

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
times = []
for epoch in range(10):
    for x, y in torch.utils.data.DataLoader(data, batch_size=32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.perf_counter())
steps = [later - earlier for earlier, later in zip(times[100:], times[101:])]
print(statistics.median(steps))
"""
PLAIN_FOR_EVER = 1_000_000


def step_seconds(script: Path, environment: dict[str, str]) -> float:
    run = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)
    return float(run.stdout)


def main(quartets: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(SCRIPT, encoding="utf-8")
        (folder / "run" / "rank0").mkdir(parents=True)
        settings = asdict(Settings(steps=PLAIN_FOR_EVER))
        del settings["timeout_s"]  # the parent's
        plan = {**settings, "folder": str(folder / "run"), "script_folder": str(folder), "cwd": str(folder)}
        plain, hooked, ratios = [], [], []
        for number in range(quartets):
            hooks = _with_hooks(dict(os.environ), f"bench{number}", plan)
            seconds = []
            for environment in (dict(os.environ), hooks, hooks, dict(os.environ)):
                (folder / "run" / "rank0" / "elected").unlink(missing_ok=True)
                seconds.append(step_seconds(script, environment))
            plain += [seconds[0], seconds[3]]
            hooked += [seconds[1], seconds[2]]
            ratios.append((seconds[1] + seconds[2]) / (seconds[0] + seconds[3]))
    print(f"plain script  {statistics.median(plain) * 1e6:8.1f} µs a step")
    print(f"hooks idle    {statistics.median(hooked) * 1e6:8.1f} µs a step")
    print(f"ratio         {statistics.median(ratios):8.3f} (target: at most 1.02)")
    print(f"              {min(ratios):.3f} to {max(ratios):.3f} over {quartets} ABBA quartets")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
