"""Facts and marks of small scripts whose every number is known beforehand."""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from diagnose.run.child.facts import machine
from diagnose.run.child.facts.models import CallCounts
from diagnose.run.child.memory import memory
from diagnose.run.child.places import Places

from .running import SCRIPTS, Recorded
from .test_recording import events

Run = Callable[..., Recorded]


def line_of(script: str, comment: str) -> int:
    lines = (SCRIPTS / f"{script}.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {comment}"))


def place(script: str, comment: str, function: str = "main") -> dict[str, object]:
    return {"file": str(SCRIPTS / f"{script}.py"), "line": line_of(script, comment), "function": function}


@pytest.fixture
def habits(run_script: Run) -> Recorded:
    run = run_script("habits")
    assert (run.outcome.ended, run.stderr) == ("stopped", "")
    assert {run.steps_in("plain"), run.steps_in("timeline"), run.steps_in("detail")} == {10, 4, 1}
    return run


def test_what_the_plain_phase_used(habits: Recorded) -> None:
    usage = habits.facts["plain_usage"]
    assert 0.1 < usage["cpu_cores_used"] < 3
    assert 0 < usage["machine_busy_share"] <= 1
    assert 0 <= usage["iowait_share"] < 1
    assert usage["read_bytes_per_s"] >= 0
    assert usage["swap_in_bytes_per_s"] >= 0
    assert usage["involuntary_switches_per_step"] >= 0 and usage["page_faults_per_step"] >= 0


def test_losses_memory_and_collections_of_the_plain_phase(habits: Recorded) -> None:
    facts = habits.facts
    assert facts["losses"] == [16.0] * 10
    resident, steps = facts["rss_series_bytes"], facts["memory_series_steps"]
    assert len(resident) == len(steps) >= 2  # as many as take little time
    assert steps == sorted(set(steps) & set(range(1, 11)))
    growth = (resident[-1] - resident[0]) / (steps[-1] - steps[0])
    assert (1 << 22) * 0.95 < growth < (1 << 22) * 1.2  # four megabytes a step
    assert facts["allocated_series_bytes"] is facts["cuda_memory"] is None
    assert facts["gc"]["collections_per_step"][2] == 1
    assert 0 < facts["gc"]["longest_ms"] < 1000
    assert facts["gc"]["ms_per_step"] > 0
    assert facts["gc"]["frozen_count"] > 1000
    (called,) = facts["gc"]["called"]  # once a step
    assert called.pop("ms_per_step") == pytest.approx(facts["gc"]["ms_per_step"], rel=0.5)
    assert called == {**place("habits", "collect"), "count": 10}


def test_losses_that_are_not_numbers(run_script: Run) -> None:
    losses = run_script("diverges").facts["losses"]
    assert len(losses) == 10
    assert all(map(math.isnan, losses))


@pytest.mark.long
def test_a_scaler_that_refuses_steps_and_the_losses_behind_its_scale(run_script: Run) -> None:
    facts = run_script("scaled").facts
    scaler = facts["grad_scaler"]
    assert scaler["step_count"] - scaler["skipped_count"] == 10  # the clock ticks when the optimizer steps
    assert scaler["skipped_count"] in (3, 4)
    assert set(facts["losses"]) == {16.0}
    assert "grad_scaler" not in run_script("diverges").facts


@pytest.mark.long
def test_gradients_set_to_zero(habits: Recorded, run_script: Run) -> None:
    recorded = habits.facts["forward"]["count"]  # one in each recorded step
    assert recorded >= 2 + 1 + 4 + 1  # early, of the timeline and of the detail
    assert habits.facts["zero_grad"] == {
        "to_none_count": 0,
        "to_zero_count": recorded,
        **place("habits", "zero"),
    }
    lines = run_script("lines").facts
    assert lines["zero_grad"]["to_none_count"] == lines["forward"]["count"] >= 8
    assert run_script("conv").facts["zero_grad"] is None


def test_the_same_tensor_moved_in_every_step(habits: Recorded) -> None:
    moves = {move.pop("kind"): move for move in habits.facts["repeated_uploads"]}
    assert set(moves) == {"dtype", "device"}  # each batch is converted as well, but only once
    recorded = habits.facts["forward"]["count"]
    for kind, comment in (("dtype", "convert"), ("device", "move")):
        assert moves[kind].pop("ms_per_step") > 0
        assert moves[kind] == {
            **place("habits", comment),
            "per_step": pytest.approx((recorded - 1) / recorded),
            "bytes": 16,
        }


def test_a_loader_with_batches_of_a_class_of_its_own(habits: Recorded) -> None:
    (loader,) = habits.facts["loaders"]
    starts = loader.pop("iterator_start_ms")
    assert len(starts) >= 5
    begun = loader.pop("iterator_start_ns")
    assert len(starts) == min(len(begun), 20) and begun == sorted(begun)
    assert all(0 < start < 1000 for start in starts)
    assert 0 < loader.pop("collating_share") < 1
    assert loader == {
        **place("habits", "loader"),
        "num_workers": 0,
        "batch_size": 8,
        "pin_memory": False,
        "prefetch_factor": None,
        "persistent_workers": False,
        "dataset": "TensorDataset",
        "dataset_length": 30,
        "iterable": False,
        "in_order": True,
        "sampler": "RandomSampler",
        "distributed_sampler": False,
        "collate": "__main__.together",
        "worker_info_used": None,
        "batches_per_epoch": 4,
        "batches_per_step": 1.0,
        "fed_share": 1.0,
        "batch_type": "Batch",
        "batch_pinnable": False,
        "batch_tensor_count": 1,
        "batch_bytes": 128,  # 8 samples of 4 floats
        "draws_random": False,
        "sample_start": None,
        "iterator_end_ms": [],
        "system_ms_after_start": [],
        "sample_made": None,  # by torch's TensorDataset
        "collated": {"file": str(SCRIPTS / "habits.py"), "line": 18, "function": "together"},
    }


@pytest.mark.parametrize(
    ("how", "asks"), [("asks", True), pytest.param("repeats", False, marks=pytest.mark.long)]
)
def test_an_iterable_dataset_in_workers(run_script: Run, how: str, asks: bool) -> None:
    run = run_script("stream", how)
    (loader,) = run.facts["loaders"]
    assert run.outcome.ended == "stopped"
    assert (loader["iterable"], loader["worker_info_used"], loader["batches_per_epoch"]) == (True, asks, None)
    assert (loader["collate"], loader["batch_type"], loader["batch_pinnable"], loader["sampler"]) == (
        "default",
        "tensor",
        True,
        None,
    )
    assert len(loader["iterator_start_ms"]) >= 3  # the workers persist, the epochs count all the same
    assert loader["iterator_end_ms"] == []


@pytest.mark.long
def test_how_long_ending_the_workers_of_an_epoch_takes(run_script: Run) -> None:
    (loader,) = run_script("workers", "fork", "4").facts["loaders"]
    assert len(loader["iterator_end_ms"]) >= 3
    assert all(0.1 < end < 10_000 for end in loader["iterator_end_ms"])


def test_what_the_model_is_given_and_made_of(habits: Recorded, run_script: Run) -> None:
    forward = habits.facts["forward"]
    # the last batch has 6
    assert (forward["batch_size"], forward["shape_count"], forward["inference_mode_count"]) == (8, 2, 0)
    (model,), (optimizer,) = habits.facts["models"], habits.facts["optimizers"]
    assert (model["module_types"], model["sync_batchnorm_count"], model["conv_norm_pair_count"]) == (
        {"Linear": 1},
        0,
        0,
    )
    assert optimizer["state_bytes"] == 16  # momentum of four weights
    (model,) = run_script("conv").facts["models"]
    assert model["conv_norm_pair_count"] == 1
    assert model["module_types"]["Conv2d"] == 2


def test_how_much_input_each_step_of_a_recording_gets(habits: Recorded) -> None:
    phases = {phase["name"]: phase for phase in habits.steps["phases"]}
    # one epoch: four steps, the last batch is shorter
    assert sorted(phases["timeline"]["input_elements"]) == [6 * 4, 8 * 4, 8 * 4, 8 * 4]
    assert phases["detail"]["input_elements"][0] in (6 * 4, 8 * 4)
    assert "input_elements" not in phases["plain"]


def test_elements_of_all_tensors_given_to_a_model_with_parameters() -> None:
    calls = CallCounts(Places(str(SCRIPTS), str(SCRIPTS)))
    one, frame = torch.ones, sys._getframe()
    model = torch.nn.Linear(1, 1)
    calls.forward(
        frame,
        (model, one(2, 3), [one(5), "text"], 7),
        {"mask": one(11), "more": {"a": one(1, 13), "deeper": [one(100)]}},
    )
    calls.forward(frame, (torch.nn.MSELoss(), one(1000), one(1000)), {})
    calls.forward(frame, (model, one(4, 20, 2)), {})  # a batch of four sequences
    assert calls.taken_elements() == (6 + 5 + 11 + 13 + 160, 160)
    assert calls.taken_elements() == (0, 0)
    facts = calls.forward_facts()
    assert (facts["shape_count"], facts["sample_count"]) == (2, 6)


def test_batches_of_an_evaluation_are_told_apart_from_those_of_training() -> None:
    """Two batches of 128 are trained on; a third model call of the loss's teacher and 50 samples one by one,
    then a rest of 7, are not.
    """
    calls, frame = CallCounts(Places(str(SCRIPTS), str(SCRIPTS))), sys._getframe()
    model, teacher = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    def evaluate() -> None:
        with torch.no_grad():
            calls.forward(frame, (teacher, torch.ones(64, 2)), {})
            for rows in [1] * 50 + [7]:
                calls.forward(frame, (model.eval(), torch.ones(rows, 2)), {})
        model.train()

    def told() -> tuple[int, int, int, int]:
        facts = calls.forward_facts()
        return tuple(
            facts[name]
            for name in ("batch_size", "shape_count", "training_batch_size", "training_shape_count")
        )

    evaluate()
    assert told() == (1, 2, 1, 2)  # nothing is trained
    for _ in range(2):
        calls.forward(frame, (model, torch.ones(128, 2)), {})
        calls.backward()
    assert told() == (1, 3, 128, 1)


def test_a_model_that_is_trained_in_evaluation_mode_is_given_its_batches_in_training() -> None:
    """As one whose statistics stay: a call with gradients is nearer to training than one without."""
    calls, frame = CallCounts(Places(str(SCRIPTS), str(SCRIPTS))), sys._getframe()
    model = torch.nn.Linear(2, 1).eval()
    calls.forward(frame, (model, torch.ones(32, 2)), {})
    calls.backward()
    with torch.no_grad():
        for _ in range(3):
            calls.forward(frame, (model, torch.ones(1, 2)), {})
    assert calls.forward_facts()["training_batch_size"] == 32


def test_memory_is_read_after_a_step_and_costs_a_hundredth(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, 50_000)  # each look takes 50 µs
    monkeypatch.setattr(memory, "perf_counter_ns", lambda: next(clock))
    monkeypatch.setattr(memory, "heap_reader", lambda: None)
    series = memory.Memory()
    series.begin()
    for step in range(1, 1001):
        series.step(step, step * 1_000_000)
    series.stop()
    facts = series.facts(1000)
    assert facts["memory_series_steps"] == list(range(1, 1001, 5))
    assert len(facts["rss_series_bytes"]) == 200
    assert facts["heap_series_bytes"] is facts["allocated_series_bytes"] is None


@pytest.mark.parametrize(("reads_us", "is_read"), [((60, 2), True), ((60, 60, 60), False)])
def test_a_heap_whose_first_read_was_interrupted_is_read(
    reads_us: tuple[int, ...], is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 µs are the limit: a read that another program interrupts says nothing of the next ones."""
    clock = iter([ns for us in reads_us for ns in (0, us * 1000)])
    monkeypatch.setattr(memory, "perf_counter_ns", lambda: next(clock))
    assert (memory.heap_reader() is not None) is is_read


def test_of_a_long_phase_memory_is_read_after_every_second_fourth_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "perf_counter_ns", lambda: 0)
    series = memory.Memory()
    series.begin()
    for step in range(1, 501):
        series.step(step, step)
    series.stop()
    # thinned out after 201 and after 402 steps
    assert series.facts(500)["memory_series_steps"] == list(range(4, 501, 4))


def test_marks_of_libraries_collections_and_iterators(habits: Recorded) -> None:
    timeline, _ = events(habits, "timeline")
    marks = Counter(event["name"] for event in timeline if event["name"].startswith("diagnose::"))
    script = SCRIPTS / "habits.py"

    def named(kind: str, comment: str) -> dict[str, int]:
        start = f"diagnose::{kind}|{script}|{line_of('habits', comment)}|main"
        return {name.removeprefix(start): count for name, count in marks.items() if name.startswith(start)}

    ((via, count),) = named("bool", "clip").items()
    assert via.startswith("|torch.nn.utils.clip_grad:")
    assert count == 4
    assert named("gc", "collect") == {"": 4}
    assert named("iter", "loop") == {"": 1}  # four batches an epoch
    assert named("repr", "print") == {"": 4} or named("format", "print") == {"": 4}


def test_calls_name_what_is_called(habits: Recorded) -> None:
    calls = habits.json("rank0/detail.calls.json")
    called = {
        (line, calls["callees"][callee]) for line, callee in zip(calls["line"], calls["callee"], strict=True)
    }
    for comment, callee in [
        ("zero", "torch/optim/optimizer.py: zero_grad"),
        ("clip", "torch/nn/utils/clip_grad.py: _no_grad_wrapper"),
        ("convert", "<built-in method double of Tensor object>"),
        ("print", "<built-in function print>"),
        ("collect", "<built-in function collect>"),
        ("loop", "torch/utils/data/dataloader.py: __next__"),
    ]:
        assert (line_of("habits", comment), callee) in called
    # our own callbacks are no calls
    assert all(len(callee) <= 200 and not callee.startswith("_") for callee in calls["callees"])


@pytest.mark.long
def test_what_the_compiler_says(run_script: Run) -> None:
    compiled = run_script("compiled", keep_going=True)
    facts = compiled.facts["compile"]
    # the forward and its rest after the break, each for a fixed and then for any size
    assert facts["frame_count"] == 4
    (broken,) = {(row["file"], row["line"]) for row in facts["graph_breaks"]}
    script = SCRIPTS / "compiled.py"
    item = next(
        number for number, line in enumerate(script.read_text().splitlines(), 1) if ".item() > -1" in line
    )
    assert broken == (str(script), item)
    assert any("item" in row["reason"] for row in facts["graph_breaks"])
    assert all("size mismatch" in row["reason"] for row in facts["recompiles"])
    assert [(row["count"], row["file"]) for row in facts["recompiles"]] == [(1, str(script))] * 2
    assert facts["recompiles_in_steps"] == 0
    assert run_script("lines").facts["compile"] is None


def test_a_distributed_model(run_script: Run, tmp_path: Path) -> None:
    facts = run_script("distributed", str(tmp_path / "rendezvous")).facts
    assert facts["ddp"] == [
        {
            **place("distributed", "wrapped", "<module>"),
            "find_unused_parameters": True,
            "bucket_cap_mb": 7.0,
            "static_graph": False,
            "parameter_bytes": 40,
        }
    ]
    assert facts["process_group"] == {"backend": "gloo", "world_size": 1, "rank": 0}
    assert facts["data_parallel"] is False


def test_the_machine(habits: Recorded) -> None:
    facts = habits.facts
    assert facts["machine_core_count"] >= facts["cpu_core_count"] >= 1
    assert facts["numa_node_count"] is None or facts["numa_node_count"] >= 1
    assert any(name in facts["libraries"] for name in ("libgomp", "libiomp5", "libomp"))
    assert facts["gpu_available"] is (facts["device"] != "cpu")
    assert facts["cudnn_deterministic"] is False


@pytest.mark.parametrize(
    ("text", "cores"), [("max 100000", 8), ("150000 100000", 2), ("5000 100000", 1), ("", 8)]
)
def test_a_containers_quota_limits_the_cores(
    text: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text(text)
    monkeypatch.setattr(machine, "_QUOTA", str(quota))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert machine.usable_cores() == cores


def test_the_driver_s_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "version").write_text("580.65.06\n")
    monkeypatch.setattr(machine, "_DRIVER", str(tmp_path / "version"))
    assert machine._driver_version() == "580.65.06"
    monkeypatch.setattr(machine, "_DRIVER", str(tmp_path / "none"))
    assert machine._driver_version() is None


def test_the_precision_of_products_in_its_old_and_new_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise RuntimeError("you have used mix of the legacy and new APIs")

    matmul = SimpleNamespace(fp32_precision="tf32")
    monkeypatch.setattr(torch.backends.cuda, "matmul", matmul)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", refuse)
    assert machine._matmul_precision() == "high"
    matmul.fp32_precision = "none"
    assert machine._matmul_precision() == "highest"
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    assert machine._matmul_precision() == "medium"


def test_steps_before_anything_is_recorded_are_kept_apart_where_memory_is_given_back(run_script: Run) -> None:
    """Two tensors of 64 MB in each step: 32,768 pages of 4 KiB, fewer if they are larger."""
    run = run_script("gives_back", stacks=False)
    before, plain = run.facts["unrecorded_usage"], run.facts["plain_usage"]
    assert before.keys() == plain.keys() and before != plain
    assert before["page_faults_per_step"] >= 50 and before["system_ms_per_step"] > 0


def test_malloc_may_learn_where_no_memory_is_given_back(run_script: Run) -> None:
    """10 to 14 MB a step: alone, malloc keeps them from the second round on. Held still after two steps, it
    would give back those that are larger than the first two, 3,100 and 3,600 pages of a round's five steps.
    """
    run = run_script("learns")
    assert "unrecorded_usage" not in run.facts
    assert run.facts["plain_usage"]["page_faults_per_step"] < 1000


def test_nothing_waits_where_no_memory_is_given_back(habits: Recorded) -> None:
    assert "unrecorded_usage" not in habits.facts
