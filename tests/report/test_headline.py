"""The headline says what slows the script in 15 words; the badge and the doubt say what makes its numbers
doubtful.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diagnose.document import savings, text
from diagnose.document.headline import MOST_WORDS, headline_of
from diagnose.document.model import Document
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import Analysis
from diagnose.report import sentences
from diagnose.trace.notes import GPU_UNRECORDED, HOST_AHEAD, Note

from . import documents
from .documents import change

TIMELINE = """
main  0     1000  step  ProfilerStep#1
main  20    960   op    aten::mm
"""
# Twice the standard error of the median of 20 steps: 2 x 1.2533 x 1.4826 x MAD / sqrt(20) = 0.831 MAD.
STEADY = [10.0] * 20
UNEVEN = [10.0, 14.0] * 10  # median 12, MAD 2: 1.66 ms, 14 %
# without a rhythm; median 14, MAD 4: 3.32 ms, 24 %
WILD = [10.0, 18, 18, 10, 10, 10, 18, 10, 18, 18, 18, 10, 10, 18, 10, 18, 10, 10, 18, 18]
# others: 1.0 - 1.0 / 2
TAKEN = {"cpu_cores_used": 1.0, "machine_busy_share": 1.0, "involuntary_switches_per_step": 30.0}
QUIET = {"cpu_cores_used": 1.0, "machine_busy_share": 0.5, "involuntary_switches_per_step": 0.0}


def document_of(plain_ms: list[float], usage: dict[str, float] | None, **facts: Any) -> Document:
    facts = {"cpu_core_count": 2, "machine_core_count": 2, "thread_count": 2, "plain_usage": usage, **facts}
    case = {"timeline": TIMELINE, "plain_ms": plain_ms, "facts": facts, "run": {"ended": "stopped"}}
    return Analysis(measured_case(case)).document


def doubt(plain_ms: list[float], usage: dict[str, float] | None, **facts: Any) -> tuple[str, str]:
    document = document_of(plain_ms, usage, **facts)
    return document.badge, document.doubt


def test_a_script_whose_threads_were_kept_from_the_cores_has_uncertain_times() -> None:
    assert doubt(STEADY, TAKEN) == (
        "noisy run",
        "Other programs used 50 % of the CPU: all times are uncertain. Close them, or `--plain-steps 100`.",
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
    document = document_of(STEADY, usage, **facts)
    assert (document.badge, document.doubt) == ("", "")
    assert document.headline.endswith("; your lines could not be judged")  # no calls were recorded


def test_uneven_steps_say_which_differences_are_not_reliable_and_who_is_to_blame() -> None:
    assert doubt(UNEVEN, TAKEN, thread_count=1) == (
        "noisy run",
        "Other programs used 50 % of the CPU: differences below 14 % are not reliable. Close them, or "
        "`--plain-steps 100`.",
    )
    assert doubt(UNEVEN, QUIET) == (
        "noisy run",
        "Step times vary: differences below 14 % are not reliable. Close other programs, or "
        "`--plain-steps 100`.",
    )
    # batches of many shapes do differ
    assert doubt(WILD, QUIET, forward={"shape_count": 9}) == (
        "noisy run",
        "Batches differ in shape, and steps in length: differences below 24 % are not reliable. Time more of "
        "them: `--plain-steps 100`.",
    )


def test_in_a_noisy_run_without_a_plan_no_fix_beats_the_noise() -> None:
    headline = document_of(WILD, QUIET).headline
    assert headline.endswith("no fix beats the noise") and "nothing worth fixing" not in headline


def test_a_cut_trace_without_a_whole_step_is_told_as_such(tmp_path: Path) -> None:
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 80}
    step = {**operator, "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 100}
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps({"traceEvents": [step, operator]}).removesuffix("]}"))
    document = Analysis(Measured(load_recording(cut))).document
    assert document.headline == "The recording is cut off, and no step in it is whole"
    assert document.badge == "cut recording"
    assert "No step ended" not in sentences.happened(document)
    assert sentences.remedies(document) == [
        "Copy the trace again, or record it again; the disk needs room for all of it."
    ]


def test_the_gravest_doubt_is_set_out_and_the_others_are_notes() -> None:
    document = Analysis(
        measured_case({"timeline": TIMELINE, "plain_ms": UNEVEN, "run": {"ended": "crashed", "exit_code": 1}})
    ).document
    assert (document.badge, document.doubt) == (
        "crashed",
        "The script failed with exit code 1. Fix the error that it printed first.",
    )
    noisy = "Step times vary: differences below 14 % are not reliable. Close other programs, or `--plain-steps 100`."
    assert [note.text for note in document.notes] == [noisy]
    assert sentences.set_out(document) == [noisy]


@pytest.mark.parametrize(
    ("ended", "badge"),
    [
        ("crashed", "crashed"),
        ("killed", "killed"),
        ("timeout", "timed out"),
        ("interrupted", "interrupted"),
        ("running", "still running"),
    ],
)
def test_a_run_that_ended_badly_is_not_called_healthy(ended: str, badge: str) -> None:
    document = Analysis(
        measured_case({"timeline": TIMELINE, "plain_ms": STEADY, "run": {"ended": ended}})
    ).document
    assert document.badge == badge
    assert document.headline.endswith("; fixes could not be judged")


# ---- the first finding of the plan


def test_the_headline_is_cause_share_line_and_saving() -> None:
    document = documents.sick()
    document.findings[0].cause = "Loading without workers"
    share = "takes 33 % of each step (train.py:41)"  # 4.1 of 12.3 ms
    assert headline_of(document) == f"Loading without workers {share}; the fix saves 2.9–4.1 ms"
    change(
        document.findings[0].saving, measured_ms={"best_guess": 3.5, "low": 3.1, "high": 4.0, "of_ms": 12.3}
    )
    assert headline_of(document) == f"Loading without workers {share}; the fix saved 3.1–4.0 ms"


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("Reading the loss in every step", "Reading the loss in every step: 33 % (train.py:41); fix saves"),
        (
            "Slow loading of batches",
            "Slow loading of batches: 33 % of each step (train.py:41); the fix saves",
        ),
        (
            "Reading the loss every step",
            "Reading the loss every step: 33 % of each step (train.py:41); fix saves",
        ),
    ],
)
def test_a_longer_cause_takes_words_from_the_rest(cause: str, said: str) -> None:
    document = documents.sick()
    document.findings[0].cause = cause
    assert headline_of(document) == f"{said} 2.9–4.1 ms"


def test_where_nothing_is_predicted_the_headline_has_no_saving() -> None:
    document = documents.unpredicted()
    document.findings[0].cause = "Loading without workers"
    assert headline_of(document) == "Loading without workers takes 33 % of each step (train.py:41)"


def test_of_a_cause_without_a_share_the_largest_part_of_the_step_is_told() -> None:
    document = documents.sick()
    change(document.findings[0].saving, scope="component", predicted_ms=None, at_most_ms=None)
    document.findings[0].cause = "Memory growth"
    largest = max(document.ledger, key=lambda row: row.share)
    assert headline_of(document) == (
        f"Memory growth (train.py:41); {text.share(largest.share)} of each step is {largest.title.lower()}"
    )


def test_a_long_path_is_cut_to_its_end_as_one_word() -> None:
    document = documents.sick()
    document.findings[0].cause = "Loading without workers"
    document.plan[0].where = "/home/some body/a very long project/src/models/attention.py:41"
    assert headline_of(document) == (
        "Loading without workers takes 33 % of each step (…/src/models/attention.py:41); the fix saves "
        "2.9–4.1 ms"
    )


@pytest.mark.parametrize("name", documents.HOSTILE_NAMES)
def test_hostile_names_leave_a_headline_of_few_words(name: str) -> None:
    for document in (documents.sick(), documents.without_a_step(), documents.crashed()):
        document.run.target = name
        if document.plan:
            document.plan[0].where = f"{name}:41"
        for finding in document.findings:
            finding.cause = name
        assert 0 < len(headline_of(document).split()) <= MOST_WORDS


def test_of_two_fixes_that_only_help_together_the_headline_tells_what_both_save() -> None:
    document = documents.two_fixes()
    change(document.findings[0].saving, predicted_ms={"best_guess": 0.0, "low": 0.0, "high": 0.0})
    change(document.plan[0], alone_ms=0.0, cumulative_ms=0.0, step_ms_after=12.3)
    assert savings.after(document.plan[0], document) == "12.3 ms"
    assert savings.saving(document.findings[0], document) == "0 ms until fix 2 is made, too"
    assert headline_of(document).endswith("saves 6.2 ms with fix 2")


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
    plain = {"plain_ms": [10, 10, 10]}
    document = Analysis(measured_case({"timeline": four_times, **plain})).document
    assert (document.badge, document.doubt) == (
        "distorted",
        "The profiler made the recorded steps 4.0 times as long as plain ones. Do not rely on how the step "
        "divides; `verify` measures without a profiler.",
    )
    assert document.headline.endswith("fixes could not be judged")
    assert Analysis(measured_case({"timeline": once, **plain})).document.badge != "distorted"


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


def of_gpu(facts: dict[str, Any], timeline: str = TIMELINE, **settings: str) -> Document:
    run = {"target": "train.py", "settings": settings}
    return Analysis(
        measured_case({"timeline": timeline, "plain_ms": STEADY, "facts": facts, "run": run})
    ).document


@pytest.mark.parametrize("facts", [ALLOCATED, {"cuda_memory": {"peak_allocated_bytes": 3 * 2**30}}])
def test_a_gpu_that_was_used_and_not_recorded_makes_the_report_worthless(facts: dict[str, Any]) -> None:
    document = of_gpu({"gpu_available": True, **facts})
    assert (document.badge, document.doubt) == (
        "GPU not recorded",
        "The script used 3.00 GiB on a GPU, but no GPU work was recorded: all times are the CPU's. Switch other "
        "profilers off and run again.",
    )
    assert [note.code for note in document.notes] == [GPU_UNRECORDED]
    assert sentences.set_out(document) == []  # the doubt says it
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
    assert (document.badge, document.doubt) == ("", "")
    assert not [note for note in document.notes if "allocated" in note.text]


def test_a_host_that_runs_ahead_is_no_reason_for_caution() -> None:
    document = documents.sick()
    document.notes = [Note(HOST_AHEAD, "The host runs ahead of the GPU."), Note("", "2 events were cut.")]
    assert sentences.set_out(document) == ["2 events were cut."]


def test_what_makes_a_run_worth_nothing_leads() -> None:
    document = documents.sick()
    (first,) = [finding for finding in document.findings if finding.rule == document.plan[0].rule]
    change(first, severity="high", share=None, ms_per_step=None, cause="NaN or infinite loss")
    change(first.saving, scope="component", predicted_ms=None, at_most_ms=None)
    assert headline_of(document).startswith("NaN or infinite loss (train.py:41); ")


def test_a_headline_about_little_names_the_fix() -> None:
    """`fix 1` alone says nothing."""
    document = documents.sick()
    (first,) = [finding for finding in document.findings if finding.rule == document.plan[0].rule]
    change(first, severity="low", cause="Loading")
    assert headline_of(document) == "33 % of each step is input wait; fix 1 (loading) saves 2.9–4.1 ms"
    first.cause = "Loading each sample"
    assert headline_of(document) == "33 % is input wait; fix 1 (loading each sample) saves 2.9–4.1 ms"


def test_a_range_beyond_what_the_finding_takes_is_explained() -> None:
    document = documents.sick()
    (first,) = [finding for finding in document.findings if finding.rule == document.plan[0].rule]
    assert first.saving.predicted_ms is not None and first.ms_per_step == 4.1
    assert savings.more_than_itself(first) == ""
    change(first.saving.predicted_ms, high=5.0)
    assert "more than this takes itself" in savings.more_than_itself(first)
