"""Other batch sizes: the runs that are made for them, and the command itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from diagnose.errors import DiagnoseError
from diagnose.run.settings import Target
from diagnose.verify.batches import Fitting, Probe, Probing, with_argument
from diagnose.verify.trial import Job, TrialSettings
from tests.predict.test_batch_size import by_hand

SCRIPT = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
size = int(sys.argv[2]) if len(sys.argv) > 2 else 16
net = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
data = TensorDataset(torch.randn(4096, 100), torch.randint(0, 10, (4096,)))
for epoch in range(1000):
    for x, y in DataLoader(data, batch_size=size, drop_last=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


def test_the_value_of_an_argument() -> None:
    assert with_argument(["--epochs", "3", "--batch-size", "8"], "--batch-size", 4)[2:] == (
        "--batch-size",
        "4",
    )
    assert with_argument(["--batch-size=8", "x"], "--batch-size", 4) == ("--batch-size=4", "x")
    assert with_argument(["x"], "--bs", 4) == ("x", "--bs", "4")


class Runs:
    """Stands in for the script: what it is run with, and how it ends."""

    def __init__(self, held: bool = True, ended: str = "stopped", printed: str = "") -> None:
        self.held, self.ended, self.printed = held, ended, printed
        self.made: list[tuple[tuple[str, ...], list[dict[str, Any]]]] = []

    def __call__(
        self, job: Job, fixes: Sequence[dict[str, Any]], settings: TrialSettings, folder: Path
    ) -> dict[str, Any]:
        self.made.append((job.target.args, [fix["arguments"] for fix in fixes]))
        (folder / "rank0").mkdir(parents=True)
        (folder / "printed.txt").write_text(self.printed)
        if self.ended == "stopped":
            told = {"devices": ["cpu"], "origins": [], "storages": [], "step_ends": [1, 2]}
            (folder / "rank0" / "memory.json").write_text(json.dumps(told))
        ticks = [number * 2_000_000 for number in range(settings.steps)]
        return {
            "ended": self.ended,
            "tick_ns": ticks,
            "interventions": [{"held": self.held}],
            "device_ms": None,
        }


def probing(folder: Path, runs: Runs, argument: str = "") -> Probing:
    job = Job(Target("train.py", False, ("--batch", "16")), str(folder), str(folder), sys.executable)
    return Probing(job, folder, now=16, ticks_per_step=1, argument=argument, tell=lambda what: None, run=runs)


def test_loaders_or_an_argument_are_changed_and_nothing_for_the_size_as_it_is(tmp_path: Path) -> None:
    runs = Runs()
    loaders, words = probing(tmp_path / "a", runs), probing(tmp_path / "b", runs, "--batch")
    assert loaders.probe(16).step_ms == 2 and loaders.probe(8).batch_size == 8
    words.probe(8)
    assert runs.made == [
        (("--batch", "16"), []),
        (("--batch", "16"), [{"batch_size": 8}]),
        (("--batch", "8"), []),
    ]


def test_what_cannot_be_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DiagnoseError, match="not that of a DataLoader") as unheld:
        probing(tmp_path / "a", Runs(held=False)).probe(8)
    assert "--argument=--batch-size" in str(unheld.value)
    with pytest.raises(DiagnoseError, match="failed with a batch of 8") as failed:
        probing(tmp_path / "b", Runs(ended="crashed", printed="Traceback\nValueError: no")).probe(8)
    assert "ValueError: no" in str(failed.value)
    with pytest.raises(DiagnoseError, match="was not seen"):
        probing(tmp_path / "c", Runs(ended="finished")).probe(8)


def probe(batch: int, step_ms: float) -> Probe:
    return Probe(batch, by_hand(batch).memory, step_ms)


def test_time_and_memory_of_any_size() -> None:
    fitting = Fitting(probe(16, 5.0), probe(8, 3.0))
    assert fitting.fit(32).step_ms == pytest.approx(9.0) and fitting.fit(16).step_ms == 5.0
    assert fitting.fit(32).peak_bytes == 1100 + 32 * 32
    assert not fitting.fit(64).is_far and fitting.fit(65).is_far
    largest = fitting.largest(1100 + 32 * 50)
    assert largest and largest.batch_size == 50
    assert fitting.largest(10) is None


def test_a_larger_batch_that_was_not_slower_says_nothing_of_time() -> None:
    fitting = Fitting(probe(16, 3.0), probe(8, 3.1))
    assert fitting.fit(32).step_ms is None and fitting.fit(8).step_ms == 3.1


@pytest.mark.long
@pytest.mark.live
@pytest.mark.parametrize("argument", ["", "--batch-size"])
def test_the_command(tmp_path: Path, argument: str) -> None:
    """Activations of 300 and 10 columns and what the backward needs of them are in proportion to the batch. For
    small ones the optimizer's step is the peak, for larger ones the backward: more for each sample.
    """
    (tmp_path / "train.py").write_text(SCRIPT)
    words = ["--batch-size", "16"] if argument else []

    def diagnose(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "diagnose", *more]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert diagnose("--quiet", "--steps", "2", "--out", "run", "train.py", *words).returncode == 0
    options = ["--batch", "32", "64", "--fits", "2G", *([f"--argument={argument}"] if argument else [])]
    answer = diagnose("whatif", "run", *options, "--json")
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["run_with"] == [16, 8] and told["recorded_batch_size"] == 16
    sizes = {row["batch_size"]: row["tensor_bytes"] for row in told["batches"]}
    assert list(sizes) == [16, 32, 64]
    assert sizes[64] - sizes[32] >= 2 * (sizes[32] - sizes[16]) > 0
    assert 4 * 32 * 600 < sizes[64] - sizes[32] < 4 * 32 * 1000
    assert told["largest_that_fits"]["batch_size"] > 1000 and told["largest_that_fits"]["far"]
    said = diagnose("whatif", "run", *options).stdout
    assert re.search(r"The largest batch that fits in 2.00 GiB: about [\d,]+ \(far from what was run", said)


@pytest.mark.live
def test_a_trace_cannot_be_run() -> None:
    (trace,) = (Path(__file__).parents[2] / "sample_traces/input-wait/sick").rglob(
        "timeline.pt.trace.json.gz"
    )
    done = subprocess.run(
        [sys.executable, "-m", "diagnose", "whatif", str(trace), "--batch", "8"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "is no run folder" in done.stderr
