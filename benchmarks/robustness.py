"""Runs every shape of script in shapes.toml under the command, and plants faults: what was
recorded, and how the script fared.

    python -m benchmarks robustness [--write] [--faults EVERY]

Prints the tables of docs/robustness.md, or writes them there. ``--faults``: of all functions of ours that run
inside a script every n-th is made to raise (1: all, about 20 minutes).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.hooks import measured_costs
from benchmarks.options import parser
from diagnose.report.blocks import table

PAGE = ROOT / "docs" / "robustness.md"
SCRIPTS = ROOT / "tests" / "run" / "scripts"
PHASES = ("plain", "parts", "timeline", "detail")
PRELUDE = """import time
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def LOOP(steps, ms=2):
    for step in range(steps):
        if ms:
            time.sleep(ms / 1000)
        optimizer.zero_grad()
        model(torch.randn(16, 8)).square().mean().backward()
        optimizer.step()
"""
LIMIT_S = 120
ABOUT_SHAPES = (
    "Steps of each phase of the recording; where a script ends before it has warmed up, those of its first "
    "steps. *Lines*: whether source lines are known. The exits are the script's own (or what ended it) and "
    "ours. *Of ours*: lines in the script's output that speak of us, other than our own messages."
)
ABOUT_FAULTS = (
    "Of all functions of ours that run inside a script, one in {every} raised an exception in turn "
    "(RuntimeError, SystemError, MemoryError, AttributeError, OSError), in three scripts whose classes raise "
    "on attributes that they do not have. Unharmed: the script printed, returned and ended as without us. "
    "Told: in a note of the report, or in a line on stderr."
)
ABOUT_COSTS = (
    "A plain training loop with one loader and one optimizer, with and without us, A B B A, in the phase in "
    "which no profiler runs."
)


def run(shape: dict[str, Any], folder: Path) -> list[str]:
    """A row of the table: what was recorded, the script's own exit code and ours, whether
    anything of ours reached its streams.
    """
    command, cwd = prepared(shape, folder)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    options = ["--quiet", "--out", str(folder / "out")] + (
        ["--timeout", str(shape["timeout"])] if "timeout" in shape else []
    )
    ours = subprocess.run(
        [sys.executable, "-m", "diagnose", *options, *command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    document = json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))
    steps = document["steps"]
    counts = " · ".join(f"{name} {steps['phases'][name]}" for name in PHASES if steps["phases"].get(name))
    lines = "yes" if document["lines"] else "no" if counts else ""
    ended = document["run"]["signal"] or document["run"]["exit_code"]
    told = [
        line for line in ours.stderr.splitlines() if "diagnose" in line and not line.startswith("diagnose: ")
    ]
    early = " (while it warmed up)" if steps["cold"] else ""
    return [
        shape["name"],
        steps["clock"] if counts else "–",
        (counts + early) or "nothing",
        lines,
        str(ended),
        str(ours.returncode),
        "; ".join(told) or "none",
    ]


def prepared(shape: dict[str, Any], folder: Path) -> tuple[list[str], Path]:
    """What follows `python -m diagnose`, and where it is run."""
    if "script" in shape:
        return [str(SCRIPTS / f"{shape['script']}.py"), *shape.get("args", [])], folder
    module = shape.get("module", "train")
    file = folder.joinpath(*module.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PRELUDE + shape["source"], encoding="utf-8")
    return (["-m", module] if "module" in shape else [file.name]), folder


def shapes() -> list[dict[str, Any]]:
    listed = tomllib.loads((Path(__file__).parent / "shapes.toml").read_text(encoding="utf-8"))["shape"]
    return [shape for shape in listed if all(map(find_spec, shape.get("needs", [])))]


def faults(every: int, folder: Path) -> list[list[str]]:
    """A row a script: faults planted, reached, in how many the script was unharmed, and in
    how many the report or a line tells.
    """
    command = [sys.executable, "-m", "tests.faults.driver", str(folder), "0", str(every)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    for row in rows:
        if not row["unharmed"]:
            print(json.dumps(row), file=sys.stderr)
    table_rows = []
    for script in dict.fromkeys(row["script"] for row in rows):
        own = [row for row in rows if row["script"] == script]
        reached = [row for row in own if row["reached"]]
        told = [row for row in reached if row["notes"] or "diagnose: " in row["stderr"]]
        counts = (len(own), len(reached), sum(row["unharmed"] for row in own), len(told))
        table_rows.append([f"`{script}`", *map(str, counts)])
    return table_rows


def page(every: int) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for number, shape in enumerate(shapes()):
            folder = Path(name) / f"shape{number}"
            folder.mkdir()
            rows.append(run(shape, folder))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        planted = faults(every, Path(name) / "faults")
    costs = measured_costs(quartets=5)
    parts = [
        "# What a script has to bear, and what is recorded of it",
        "Written by `python -m benchmarks robustness --write`, which runs all of this anew.",
        "## Shapes of scripts",
        ABOUT_SHAPES,
        table(
            ("Shape", "Clock", "Steps recorded", "Lines", "The script's exit", "Our exit", "Of ours"), rows
        ),
        "## Faults planted in our own code",
        ABOUT_FAULTS.format(every=every),
        table(
            ("Script", "Planted", "Reached", "Unharmed", "Told"),
            planted,
            right=["Planted", "Reached", "Unharmed", "Told"],
        ),
        "## What a plain step pays",
        ABOUT_COSTS,
        table(
            ("Step", "Clock", "Plain", "With our hooks", "Cost a step", "Ratio", "Range of the ratio"), costs
        ),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> None:
    options = parser("robustness", __doc__)
    options.add_argument("--write", action="store_true")
    options.add_argument("--faults", type=int, default=4, metavar="EVERY")
    given = options.parse_args(arguments)
    made = page(given.faults)
    if given.write:
        PAGE.write_text(made, encoding="utf-8")
    else:
        print(made)
