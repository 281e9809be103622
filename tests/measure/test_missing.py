"""Why a number cannot be known: what is said of a lone trace is not what is said of a run."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.missing import ONLY_IN_A_RUN, Missing

STEP = "main  0  100  step  ProfilerStep#1\nmain  10  10  op  aten::mm"


def why(name: str, **case: Any) -> Missing:
    value = measured_case({"timeline": STEP, **case}).metric(name)
    assert isinstance(value, Missing)
    return value


@pytest.mark.parametrize(
    "name",
    [
        "warmup_excess_s",
        "warmup_excess_steps",
        "plain_step_ms",
        "cpu_cores_used",
        "suggested_workers",
        "own_lines_ms",
        "skipped_step_count",
    ],
)
def test_what_no_trace_holds_is_not_said_to_lack_steps(name: str) -> None:
    assert why(name) == ONLY_IN_A_RUN


def test_the_option_for_a_gpu_is_torch_profilers_for_a_trace_and_ours_for_a_run() -> None:
    assert why("compute_share").option == "activities=[…, ProfilerActivity.CUDA]"
    assert why("compute_share", facts={"cpu_core_count": 4}).option == "--device cuda"


@pytest.mark.parametrize(
    ("name", "fact", "option"),
    [
        ("compute_share", {"gpu_available": False}, ""),
        ("compute_share", {"gpu_available": True}, "--device cuda"),
        ("late_pattern", {"process_group": None}, ""),
        (
            "late_pattern",
            {"process_group": {"world_size": 2}},
            "torchrun --nproc-per-node N -m diagnose YOUR_SCRIPT.py",
        ),
    ],
)
def test_no_option_is_named_that_would_record_nothing_here(
    name: str, fact: dict[str, Any], option: str
) -> None:
    assert why(name, facts=fact).option == option


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("warmup_excess_s", "no step was timed without a profiler"),
        ("skipped_step_count", "no GradScaler was used"),
        ("recompile_count", "torch.compile is not in use"),
        ("loss_count", "no loss was recorded"),
        ("throttle_reasons", "no GPU in this recording"),
        ("missing_clock_share", "no GPU in this recording"),
    ],
)
def test_a_run_names_what_it_lacks(name: str, reason: str) -> None:
    assert why(name, facts={"cpu_core_count": 4}).reason == reason


def test_a_run_that_ended_before_its_facts_is_no_trace() -> None:
    assert why("loss_count", run={"ended": "killed"}).reason == "the run ended before this was recorded"


def test_links_are_not_judged_by_one_rank() -> None:
    assert why("link_share_reached").reason == "one rank was recorded"
