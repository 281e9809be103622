"""Annotated traces that others recorded: what we add lies exactly over what is there.

Skipped without ``../shared/traces``.
"""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from diagnose.pipeline import analysis_of
from diagnose.report.timeline.annotated import write_annotated
from diagnose.report.timeline.annotations import FIRST_PID, annotation_events
from tests.timeline.viewer import seen, thread_names
from tests.trace.test_recorded import FOLDER

# The clocks and numberings there are: µs rounded, ns since 1970, ns from a base; ROCm; no
# GPU; several streams; Python frames.
NAMES = [
    "kineto-rn50-oldapi-w0",
    "hta-ns-resolution",
    "hta-negqueue",
    "tl-mi300-nsfw",
    "tl-h100-nsfw",
    "neg-hta-cpuonly",
    "param-dlrm-r3",
    "ao-moe-ref",
    "luatil-05",
]
LARGE = {"kineto-rn50-oldapi-w0", "hta-negqueue"}
DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
BUSY = ("Compute", "Exposed communication", "Exposed copies")


def read(path: Path) -> Any:
    with gzip.open(path) as file:
        return json.loads(file.read(), parse_float=Decimal)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LARGE else []) for name in NAMES]
)
def test_slices_begin_and_end_with_recorded_events_and_arrows_land(name: str, tmp_path: Path) -> None:
    source, path = FOLDER / f"{name}.json.gz", tmp_path / "annotated.trace.json.gz"
    analysis = analysis_of(source)
    measured = analysis._measured
    ours = annotation_events(measured, analysis._assessed, analysis.document)
    write_annotated(source, ours, path)
    document, recorded = read(path), read(source)
    events, before = (one if isinstance(one, list) else one["traceEvents"] for one in (document, recorded))
    assert events[len(ours) :] == before
    shown = seen(events, FIRST_PID)
    assert shown.faults == []
    borders = {
        Decimal(one["ts"]) + shift
        for one in before
        if one.get("ph") == "X" and "ts" in one
        for shift in (0, Decimal(one["dur"]))
    }
    tracks = thread_names(events, FIRST_PID)
    steps = shown.tracks[tracks["Steps, as recorded"]]
    borders |= {border for step in steps for border in (step.start_us, step.end_us)}
    (ledger,) = [shown.tracks[track] for title, track in tracks.items() if title.startswith("Where")]
    busy = [one for one in ledger if one.name in BUSY]
    assert bool(busy) == bool(measured.timeline and measured.timeline.has_device)
    assert [one for one in busy if one.start_us not in borders or one.end_us not in borders] == []
    marked = [
        one
        for one in before
        if str(one.get("name", "")).startswith("ProfilerStep#") and one.get("cat") != "gpu_user_annotation"
    ]
    ends = {Decimal(one["ts"]) + Decimal(one["dur"]) for one in marked}
    assert not marked or all(step.end_us in ends for step in steps)
