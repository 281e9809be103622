"""How near the ledger's rows are to a timer: small scripts timed bare and, in turns with that, recorded.

    python -m benchmarks rows [name …]

A script times its own ranges with nothing of ours in the process. Those in which it had to wait for a core do
not count, where the kernel tells; a range is the median of the others. All scripts compute with one thread,
so that this is sure. The same timer runs in the recorded script as well: what it says in the plain steps
leaves out how fast the machine is from one process to the next. Beside these stands what the report says: of
the row of the ledger that the range is, or of the line that it is alone on.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.tables import table

SKIPPED = 30  # steps of a bare run
DELAYED_SHARE = 0.02  # of a range, from which it does not count
NEAR_SHARE, NEAR_MS = 0.15, 0.1

BEGIN = """
import atexit, json, os, sys, time
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
STEPS = int(sys.argv[1])
TIMES = {}
SCHEDSTAT = "/proc/thread-self/schedstat"
KERNEL = os.open(SCHEDSTAT, os.O_RDONLY) if os.path.exists(SCHEDSTAT) else -1


def delay():
    return int(os.pread(KERNEL, 64, 0).split()[1]) if KERNEL >= 0 else 0


class timed:
    def __init__(self, name):
        self.times = TIMES.setdefault(name, [])

    def __enter__(self):
        self.delay = delay()
        self.begin = time.perf_counter_ns()

    def __exit__(self, *error):
        took = time.perf_counter_ns() - self.begin
        self.times.append((self.begin, took, delay() - self.delay))


@atexit.register
def write():
    with open(os.environ["TIMES"], "w") as file:
        json.dump(TIMES, file)


"""
LOOP = """
optimizer = torch.optim.{optimizer}(model.parameters())
for number in range(STEPS):
    with timed("step"):
{before}
        optimizer.zero_grad()
        with timed("forward"):
            y = model(x)
        loss = y.square().mean()
        with timed("backward"):
            loss.backward()
        with timed("optimizer"):
            optimizer.step()
"""


def loop(setup: str, before: str = "", optimizer: str = "SGD") -> str:
    lines = "\n".join("        " + line for line in before.splitlines())
    return BEGIN + setup + LOOP.format(before=lines, optimizer=optimizer)


MLP = "model, x = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(64, 64)\n"
SCRIPTS = {
    "sleep and a small MLP": loop(
        MLP, "with timed('line: sleep'):\n    time.sleep(0.005)  # line: sleep", "Adam"
    ),
    "small CNN": loop(
        "model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), "
        "nn.Flatten())\n"
        "x = torch.randn(16, 3, 16, 16)\n"
    ),
    "tiny operators": loop(
        MLP + "rows = torch.randn(200, 8)\n",
        "total = torch.zeros(8)\nwith timed('line: rows'):\n    for row in rows:\n        total = "
        "total + row "
        "* 2  # not alone on a line",
    ),
    "file reads": loop(
        MLP + "open('read.bin', 'wb').write(bytes(8_000_000))\n",
        "with timed('line: read'):\n    data = open('read.bin', 'rb').read()  # line: read",
    ),
    "numpy": loop(
        MLP + "matrix = np.random.rand(220, 220)\n",
        "with timed('line: numpy'):\n    inverse = np.linalg.inv(matrix)  # line: numpy",
    ),
    "LSTM of three layers": loop(
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.lstm, self.head = nn.LSTM(32, 64, 3, batch_first=True), nn.Linear(64, 4)\n\n"
        "    def forward(self, x):\n"
        "        return self.head(self.lstm(x)[0][:, -1])\n\n\n"
        "model, x = Net(), torch.randn(16, 20, 32)\n",
        optimizer="Adam",
    ),
    "transformer block": loop(
        "model, x = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), torch.randn(8, 32, 64)\n",
        optimizer="Adam",
    ),
    "a wait for the loader": loop(
        MLP
        + "class Slow(torch.utils.data.Dataset):\n"
        + "    def __len__(self):\n        return 64 * 10**6\n\n"
        + "    def __getitem__(self, index):\n        time.sleep(0.0001)\n        return "
        "torch.randn(64)\n\n\n" + "batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=32))\n",
        "with timed('input_wait'):\n    x = next(batches)",
    ),
}
ROWS = ("forward", "backward", "optimizer", "input_wait")


# of each range: when it began, how long it took, how much of that without a core, ns
Times = dict[str, list[tuple[int, int, int]]]


def times_of(script: Path, *command: str) -> Times:
    """What the script timed itself, run by this command."""
    file = script.with_suffix(".json")
    environment = {**os.environ, "TIMES": str(file), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, *command], cwd=script.parent, env=environment, capture_output=True, check=True
    )
    return dict(json.loads(file.read_text(encoding="utf-8")))


def usual_ms(times: Times, first_ns: float, last_ns: float) -> dict[str, float]:
    """The median of each range between two moments, of those that were not delayed."""
    found = {}
    for name, ranges in times.items():
        quiet = [
            took
            for begin, took, delayed in ranges
            if first_ns <= begin <= last_ns and delayed < DELAYED_SHARE * took
        ]
        found[name] = statistics.median(quiet) / 1e6 if quiet else float("nan")
    return found


def bare_ms(script: Path, steps: int) -> dict[str, float]:
    times = times_of(script, script.name, str(steps))
    return usual_ms(times, times["step"][SKIPPED][0], float("inf"))


def recorded(script: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """The result document of the recorded script, and what its own timer said in the plain steps."""
    out = script.parent / "recorded"
    times = times_of(script, "-m", "diagnose", "--out", str(out), script.name, "1000000")
    phases = json.loads((out / "rank0" / "steps.json").read_text(encoding="utf-8"))["phases"]
    plain_ns = next(phase["tick_ns"] for phase in phases if phase["name"] == "plain")
    return dict(json.loads((out / "report.json").read_text(encoding="utf-8"))), usual_ms(
        times, plain_ns[0], plain_ns[-1]
    )


def said_ms(document: dict[str, Any], script: Path, bare: dict[str, float]) -> dict[str, float]:
    """What the document says of the ranges."""
    ledger = {row["row"]: row["ms_per_step"] for row in document["ledger"]}
    said = {row: ledger.get(row, 0.0) for row in ROWS if row in bare}
    lines = script.read_text(encoding="utf-8").splitlines()
    for name in bare:
        if name.startswith("line: ") and any(line.endswith(f"# {name}") for line in lines):
            number = next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {name}"))
            said[name] = next((line["total_ms"] for line in document["lines"] if line["line"] == number), 0.0)
    return said | {
        "the rest": sum(ledger.values()) - sum(said[row] for row in ROWS if row in said),
        "step": sum(ledger.values()),
    }


@dataclass(frozen=True)
class Compared:
    """A range of a script, ms: timed bare, by the script itself in the plain steps of the
    recorded run, and what the ledger says.
    """

    script: str
    part: str
    bare: float
    plain: float
    said: float


def compared(name: str, folder: Path, steps: int) -> list[Compared]:
    script = folder / "script.py"
    script.write_text(SCRIPTS[name], encoding="utf-8")
    before = bare_ms(script, steps)
    document, plain = recorded(script)
    after = bare_ms(script, steps)
    bare = {part: (ms + after[part]) / 2 for part, ms in before.items()}
    for times in bare, plain:
        times["the rest"] = times["step"] - sum(times[row] for row in ROWS if row in times)
    said = said_ms(document, script, bare)
    return [Compared(name, part, bare[part], plain[part], said[part]) for part in bare if part in said]


def is_near(bare: float, said: float) -> bool:
    return abs(said - bare) <= max(NEAR_MS, NEAR_SHARE * bare)


def _mark(timed: float, said: float) -> str:
    return "" if is_near(timed, said) else "off"


def main(arguments: Sequence[str]) -> None:
    options = parser("rows", __doc__)
    options.add_argument("names", nargs="*", default=list(SCRIPTS), help=f"which of: {', '.join(SCRIPTS)}")
    options.add_argument("--steps", type=int, default=400, help="of a bare run")
    chosen = options.parse_args(arguments)
    found = []
    for name in chosen.names:
        with tempfile.TemporaryDirectory() as folder:
            found += compared(name, Path(folder), chosen.steps)
    rows = [
        (
            one.script,
            one.part,
            *(f"{ms:.3f}" for ms in (one.bare, one.plain, one.said)),
            *(_mark(ms, one.said) for ms in (one.bare, one.plain)),
        )
        for one in found
    ]
    print(
        table(
            [
                "script",
                "part of a step",
                "ms bare",
                "ms in the plain steps",
                "ms in the ledger",
                "bare",
                "plain",
            ],
            rows,
        )
    )
    for what, times in (
        ("bare", [one.bare for one in found]),
        ("in the plain steps", [one.plain for one in found]),
    ):
        near = sum(is_near(ms, one.said) for ms, one in zip(times, found, strict=True))
        print(f"{near} of {len(found)} within {NEAR_SHARE:.0%} or {NEAR_MS} ms of what a timer says {what}.")
