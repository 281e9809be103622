"""What records the samples: torch's patterns of a script, the GPU machine's time."""

import time

from sample_traces import gpu
from sample_traces.samples import SAMPLES
from sample_traces.torch_patterns import said_by_torch

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


def test_torchs_patterns_of_inference_without_an_optimizer(tmp_path):
    assert said(tmp_path, INFERENCE) == []


def test_a_script_that_fails_is_an_error_of_its_own(tmp_path):
    assert said(tmp_path, "raise ValueError('broken')") == {"error": "ValueError: broken"}
    assert said(tmp_path, "import os; os._exit(7)")["error"].startswith("ended with exit code 7")


def test_recording_on_a_gpu_stops_in_time_and_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    def record_one(sample, out):
        if time.monotonic() > ends_at:
            raise AssertionError("started too late")
        folder = gpu.folder_of(sample, out)
        folder.mkdir(parents=True)
        (folder / "run.json").touch()
        if len(gpu.missing(SAMPLES, out, "run.json")) == len(SAMPLES) - 2:
            monkeypatch.setattr(gpu, "FIRST_GUESS_S", 3600.0)
        return "recorded"

    ends_at = time.monotonic() + 1800
    monkeypatch.setattr(gpu, "record_once", record_one)
    assert gpu.record_all(SAMPLES[:2], tmp_path, ends_at) == []
    assert gpu.record_all(gpu.missing(SAMPLES, tmp_path, "run.json"), tmp_path, ends_at) == []
    assert "the time is up" in capsys.readouterr().out
    assert gpu.missing(SAMPLES, tmp_path, "run.json") == SAMPLES[2:]


def test_a_sample_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def fail(sample, out):
        raise RuntimeError("its own traceback")

    monkeypatch.setattr(gpu, "record_once", fail)
    assert gpu.record_all(SAMPLES[:2], tmp_path, time.monotonic() + 1800) == SAMPLES[:2]
    assert capsys.readouterr().out.count("its own traceback") == 2
