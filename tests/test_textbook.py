"""The case that everybody knows: a data set that waits for each item, no
workers, a small model, a free core.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 2000
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.ones(32), 1.0

def main():
    torch.set_num_threads(1)
    model = torch.nn.Linear(32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Slow(), batch_size=16)
    for x, y in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()

if __name__ == "__main__":
    main()
"""


def test_the_first_advice_is_worker_processes_and_a_rewrite_is_the_alternative(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    subprocess.run(
        [sys.executable, "-m", "diagnose", "--quiet", "--out", "out", "train.py"], cwd=tmp_path, check=True
    )
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    if document["metrics"]["crowded"]["value"]:
        pytest.skip("other processes had every core: whether a fetch waits cannot be told")
    first, *_ = document["plan"]
    assert first["rule"] == "input-wait-no-workers"
    assert first["alone_ms"] >= 0.85 * document["metrics"]["input_wait_ms"]["value"]  # nearly the whole wait
    assert "num_workers=" in (tmp_path / "out" / "fixes.diff").read_text()
    rewrite = next(finding for finding in document["findings"] if finding["rule"] == "slow-item-line")
    assert (rewrite["group"], rewrite["alternative_to"]) == ("alternative", "input-wait-no-workers")
