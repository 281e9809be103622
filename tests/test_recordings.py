"""Every trace that others recorded ends in a document whose ledger adds up, or in one clear refusal."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from benchmarks import corpus
from benchmarks.consistency import contradictions
from diagnose.document.model import Document
from diagnose.document.schema import problems
from diagnose.document.stored import read_document, to_json
from diagnose.errors import TraceUnreadable
from diagnose.measure.ledger import dispatching_threads
from diagnose.measure.measured import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import Analysis, analyse, analysis_of
from diagnose.predict.retiming import works_of
from diagnose.predict.utilisation import model_flop
from diagnose.trace.intervals import total
from tests.report.whole import assert_whole

FOLDER = Path(__file__).parents[2] / "shared" / "traces"
TRACES = [*sorted(FOLDER.glob("*.gz")), *sorted((FOLDER.parent / "more_traces").glob("*.gz"))]

QUICK_BYTES = 1_000_000  # packed: what is larger takes as long as ten others

CORPUS = corpus.lines(corpus.PAGE.read_text(encoding="utf-8"))

if not TRACES:
    pytest.skip("no folder with traces that others recorded", allow_module_level=True)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.name.split(".")[0],
            marks=[pytest.mark.long] if path.stat().st_size > QUICK_BYTES else [],
        )
        for path in TRACES
    ],
)
def test_a_document_or_one_refusal(path: Path) -> None:
    """And docs/corpus.md says the same of the trace, and its report contradicts itself nowhere."""
    try:
        recording = load_recording(path)
    except TraceUnreadable as refusal:
        assert refusal.what and refusal.do
        assert CORPUS[corpus.name(path)] == corpus.line(corpus.refusal(path, refusal)), (
            "python -m benchmarks corpus"
        )
        return
    measured = Measured(recording)
    analysis = Analysis(measured)
    document = analysis.document
    assert problems(document) == []
    assert list(contradictions(analysis)) == []
    assert_whole(read_document(to_json(document).encode()))
    assert CORPUS[corpus.name(path)] == corpus.line(corpus.row(path, document)), "python -m benchmarks corpus"
    view = measured.timeline
    if view is not None:
        on_dispatching = view.named((view.kind == "op") & dispatching_threads(view))
        assert bool(document.operators) == bool(len(on_dispatching)), "a table of the operators"
        assert bool(document.kernels) == bool(view.device_in_steps.any()), "a table of the kernels"
        assert sum(row.share for row in document.operators) <= 1 + 1e-9
    if measured.ledger is not None:
        assert sum(measured.ledger.ns(row) for row in measured.ledger.rows) == total(measured.ledger.span)


@functools.cache
def analysed(name: str) -> Document:
    return analyse(FOLDER / f"{name}.json.gz")


def test_the_report_of_a_job_says_one_thing() -> None:
    analysis = analysis_of(sorted(FOLDER.glob("param-dlrm-r*")))
    assert list(contradictions(analysis)) == []
    assert_whole(analysis.document)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("kineto-rn50-w0-v1", "input-wait-no-workers"),
        ("kineto-rn50-w0-v2", "input-wait-no-workers"),
        ("bench-h2d-2", "pageable-htod-copies"),
        ("luatil-04", "fp32-matmul"),
        ("luatil-05", "fp32-matmul"),  # its kernels run inside CUDA graphs
        ("ao-gtx1650", "launch-bound-short-kernels"),
    ],
)
def test_what_a_person_saw_comes_first(name: str, rule: str) -> None:
    assert analysed(name).plan[0].rule == rule


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("kineto-rn50-w4-v1", "input-wait-no-workers"),  # four workers keep up
        ("bench-h2d-1", "pageable-htod-copies"),  # pinned
        ("ao-moe-syncless", "host-sync"),
        ("tl-h100-qwen05", "launch-bound-short-kernels"),
    ],
)
def test_the_healthy_twin_stays_quiet(name: str, rule: str) -> None:
    states = {finding.rule: finding.state for finding in analysed(name).findings}
    assert states[rule] != "fires"


@pytest.mark.parametrize(("name", "ratio"), [("tl-mi300-ddp-rn18", 2.0), ("tl-mi300-rn-actckpt", 2.93)])
def test_activation_checkpointing_is_no_work_of_the_model(name: str, ratio: float) -> None:
    """Of two ResNet-18 the second computes its forward again; either needs three forwards."""
    view = Measured(load_recording(FOLDER / f"{name}.json.gz")).timeline
    assert view is not None
    flop = dict.fromkeys((False, True), 0)
    for call, work in works_of(view, np.unique(view.device["op"].to_numpy())).items():
        if view.in_steps[call]:
            flop[bool(view.host["backward"].iloc[call])] += work.flop
    assert flop[True] / flop[False] == pytest.approx(ratio, abs=0.005)
    model = model_flop(view)
    assert model is not None
    assert model.per_step * view.step_count == pytest.approx(3 * flop[False], rel=0.005)


@pytest.mark.parametrize("version", range(4))
def test_four_workers_really_gained_less_than_the_bound(version: int) -> None:
    """The same job recorded without workers and with four: what that gained
    lies below what is promised at most.
    """
    without, with_four = (analysed(f"kineto-rn50-w{workers}-v{version}") for workers in (0, 4))
    at_most = {row.rule: row.at_most_ms for row in without.plan}["input-wait-no-workers"]
    gained = without.metrics["step_ms"].value - with_four.metrics["step_ms"].value
    assert 0 < gained < at_most
