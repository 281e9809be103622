"""The verdict begins with measuring again where other processes, or the run's
own noise, make its numbers worthless.
"""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.document import savings
from diagnose.judge.timelines import measured_case
from diagnose.pipeline import Analysis
from diagnose.report import sentences
from diagnose.trace.notes import Note

from ..trace.build import launch, read
from . import documents
from .documents import change, changed

TIMELINE = """
main  0     1000  step  ProfilerStep#1
main  100   800   op    aten::mm
"""
# Twice the standard error of the median of 20 steps: 2 x 1.2533 x 1.4826 x MAD / sqrt(20) = 0.831 MAD.
STEADY = [10.0] * 20
UNEVEN = [10.0, 14.0] * 10  # median 12, MAD 2: 1.66 ms, 14 %
WILD = [10.0, 18.0] * 10  # median 14, MAD 4: 3.32 ms, 24 %
# others: 1.0 - 1.0 / 2
TAKEN = {"cpu_cores_used": 1.0, "machine_busy_share": 1.0, "involuntary_switches_per_step": 30.0}
QUIET = {"cpu_cores_used": 1.0, "machine_busy_share": 0.5, "involuntary_switches_per_step": 0.0}


def verdict(plain_ms: list[float], usage: dict[str, float] | None, **facts: Any) -> str:
    facts = {"cpu_core_count": 2, "machine_core_count": 2, "thread_count": 2, "plain_usage": usage, **facts}
    document = Analysis(measured_case({"timeline": TIMELINE, "plain_ms": plain_ms, "facts": facts})).document
    return str(document.headline)


def test_a_script_whose_threads_were_kept_from_the_cores_is_to_be_measured_again() -> None:
    said = verdict(STEADY, TAKEN)
    assert said.startswith(
        "Measure again on a quiet machine: other processes used 50 % of this machine's processor time while "
        "no core was idle, and took cores from the script's 2 threads 30 times a step, so the numbers of "
        "this run cannot be trusted. As measured: no rule fires"
    )


@pytest.mark.parametrize(
    ("usage", "facts"),
    [
        (TAKEN, {"thread_count": 1}),  # the one thread has a core of its own
        (TAKEN | {"involuntary_switches_per_step": 0.5}, {}),  # not even once a step
        (TAKEN | {"machine_busy_share": 0.85}, {}),  # a core idles at times
        # the others may be ranks of the same job
        (TAKEN, {"process_group": {"backend": "gloo", "world_size": 4}}),
        (QUIET, {}),
        (None, {}),
    ],
)
def test_steady_steps_are_trusted_where_the_threads_have_their_cores(
    usage: dict[str, float] | None, facts: dict[str, Any]
) -> None:
    assert verdict(STEADY, usage, **facts).startswith("Nothing worth fixing")


def test_uneven_steps_on_a_busy_machine_are_to_be_measured_again() -> None:
    said = verdict(UNEVEN, TAKEN, thread_count=1)
    assert said.startswith(
        "Measure again on a quiet machine: other processes used 50 % of this machine's processor time while "
        "no core was idle, and the plain steps differ so much that savings below 14 % of the step cannot be "
        "told from noise, so"
    )
    assert not verdict(UNEVEN, QUIET).startswith("Measure again")


def test_steps_that_differ_wildly_are_to_be_measured_again_whoever_is_to_blame() -> None:
    noisy = "the plain steps differ so much that savings below 24 % of the step cannot be told from noise, so"
    assert verdict(WILD, None).startswith(f"Measure again on a quiet machine: {noisy}")
    assert verdict(WILD, QUIET).startswith(f"Measure again with more steps (`--plain-steps 100`): {noisy}")
    # batches of many shapes do differ
    assert not verdict(WILD, QUIET, forward={"shape_count": 9}).startswith("Measure again")


def test_notes_that_make_the_numbers_doubtful_are_known_as_such() -> None:
    noisy = Analysis(measured_case({"timeline": TIMELINE, "plain_ms": UNEVEN})).document
    notes = [*noisy.notes, *read(launch(5, 1, 1)).doubts]
    assert [(note.code, note.text.partition(":")[0][:22]) for note in notes] == [
        ("noisy-steps", "The plain steps differ"),
        ("gpu-unrecorded", "GPU activity was not r"),
    ]
    others = changed(noisy, notes=[Note("", "5 events are damaged"), *notes])
    assert sentences.cautions(others) == [note.text for note in notes]


def test_the_stake_is_the_first_fix_of_the_plan() -> None:
    assert savings.attributed(documents.sick()) == "predicted saving 2.9–4.1 ms a step, 24–33 %"
    assert (
        savings.attributed(documents.some_steps())
        == "predicted saving 0.90–1.5 ms a step on average, 6.7–11 %"
    )
    assert savings.attributed(documents.unpredicted()) == "costs 4.10 ms a step, 33 %"


def test_without_a_prediction_of_this_finding_the_stake_is_an_upper_bound_or_nothing() -> None:
    document = documents.sick()
    change(document.findings[0].saving, predicted_ms=None, confidence=None, reason=None)
    assert savings.attributed(document) == "at most 3.90 ms a step, 32 %"  # 3.9 of 12.3
    document.findings[0].saving.at_most_ms = None
    assert savings.attributed(document) == ""


def test_of_two_fixes_that_only_help_together_the_stake_is_both() -> None:
    document = documents.two_fixes()
    change(document.findings[0].saving, predicted_ms={"best_guess": 0.0, "low": 0.0, "high": 0.0})
    change(document.plan[0], alone_ms=0.0, cumulative_ms=0.0, step_ms_after=12.3)
    assert savings.together(document.plan[0], document) == "nothing yet"
    assert savings.attributed(document) == "predicted saving 6.2 ms a step together with fix 2"


def test_a_recording_that_the_profiler_made_another_one_is_not_trusted() -> None:
    # Both recorded steps take 40 ms, plain ones 10: four times as long. Where one of two takes
    # that long by itself, nothing is said.
    op = "main {at} 30000 op aten::mm\n"
    four_times = (
        "main 0 40000 step ProfilerStep#1\nmain 40000 40000 step ProfilerStep#2\n"
        + op.format(at=0)
        + op.format(at=40000)
    )
    once = (
        "main 0 10000 step ProfilerStep#1\nmain 10000 40000 step ProfilerStep#2\nmain 0 9000 op aten::mm\n"
        + op.format(at=10000)
    )
    said = Analysis(measured_case({"timeline": four_times, "plain_ms": [10, 10, 10]})).document.headline
    assert said.startswith(
        "Do not trust how this step divides: the profiler made the recorded steps 4.0 times as long as "
        "plain ones"
    )
    assert "Nothing worth fixing" not in said
    assert not Analysis(
        measured_case({"timeline": once, "plain_ms": [10, 10, 10]})
    ).document.headline.startswith("Do not trust")


# ---- a GPU that was used and not seen

ON_GPU = 'main 110 5 runtime cudaLaunchKernel {"correlation": 1}\ngpu 120 800 kernel gemm {"correlation": 1}'
ALLOCATED = {
    "accelerator": {
        "initialized": True,
        "allocated_bytes": 3 * 2**30,
        "devices": ["cuda:0"],
        "parameters_on": [],
    }
}


def of_gpu(facts: dict[str, Any], timeline: str = TIMELINE, **settings: str) -> dict[str, Any]:
    run = {"target": "train.py", "settings": settings}
    return Analysis(
        measured_case({"timeline": timeline, "plain_ms": STEADY, "facts": facts, "run": run})
    ).document


@pytest.mark.parametrize("facts", [ALLOCATED, {"cuda_memory": {"peak_allocated_bytes": 3 * 2**30}}])
def test_a_gpu_that_was_used_and_not_recorded_makes_the_report_worthless(facts: dict[str, Any]) -> None:
    document = of_gpu({"gpu_available": True, **facts})
    said = "The script allocated 3.00 GiB on a GPU, and the profiler recorded nothing that ran there"
    assert document.headline.startswith(f"Do not trust this report. {said}. What the host did: ")
    assert [note for note in document.notes if note.text.startswith(said)]
    assert not [row for row in document.plan if row.rule == "gpu-not-used"]


@pytest.mark.parametrize(
    ("facts", "timeline", "settings"),
    [
        ({}, TIMELINE, {}),  # a recording of an older version
        ({"accelerator": {"initialized": True, "allocated_bytes": 0}}, TIMELINE, {}),
        ({"accelerator": {"initialized": False, "allocated_bytes": None}}, TIMELINE, {}),
        (ALLOCATED, TIMELINE, {"device": "cpu"}),  # nothing else was asked for
        (ALLOCATED, TIMELINE + ON_GPU, {}),
    ],
)
def test_a_gpu_that_was_recorded_or_not_used_makes_no_caution(
    facts: dict[str, Any], timeline: str, settings: dict[str, str]
) -> None:
    document = of_gpu(facts, timeline, **settings)
    assert not document.headline.startswith("Do not trust")
    assert not [note for note in document.notes if "allocated" in note]
