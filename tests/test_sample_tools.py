"""What records the samples: torch's patterns of a script."""

import pytest

from benchmarks.torch_patterns import said_by_torch

TRAINING = """
import torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (batch,) in DataLoader(TensorDataset(torch.randn(40, 4)), batch_size=4):
    optimizer.zero_grad(set_to_none=False)
    model(batch).square().mean().backward()
    optimizer.step()
"""
INFERENCE = "import torch\nfor _ in range(10): torch.nn.Linear(4, 1)(torch.randn(2, 4))\n"


def said(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(text)
    return said_by_torch(script)


def test_torchs_patterns_of_a_training_script(tmp_path):
    found = {one["pattern"]: one.get("line") for one in said(tmp_path, TRAINING)}
    assert found["Gradient Set To Zero Instead of None Pattern"] == 7
    assert "Synchronized DataLoader Pattern" in found


@pytest.mark.long
def test_torchs_patterns_of_inference_without_an_optimizer(tmp_path):
    assert said(tmp_path, INFERENCE) == []


def test_a_script_that_fails_is_an_error_of_its_own(tmp_path):
    assert said(tmp_path, "raise ValueError('broken')") == {"error": "ValueError: broken"}
    assert said(tmp_path, "import os; os._exit(7)")["error"].startswith("ended with exit code 7")
