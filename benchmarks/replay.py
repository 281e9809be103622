"""What predicting costs: a replay of one edit in ms, the whole plan as a ratio to reading the trace.

python -m benchmarks replay TRACE...
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.options import parser
from diagnose.errors import DiagnoseError
from diagnose.judge.findings import judge
from diagnose.judge.rules import load_rules
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.predict.plan import assess
from diagnose.predict.prediction import Prediction
from diagnose.predict.replay import Edit

REPETITIONS = 5
TARGET_MS, TARGET_EVENTS = 50, 20_000


def line(path: Path) -> tuple[float, float, str] | None:
    """Seconds for reading and for the plan, and a line on them; None for a trace that cannot be replayed."""
    started = time.perf_counter()
    measured = Measured(load_recording(path))
    read_s = time.perf_counter() - started
    findings = judge(load_rules(), measured)
    prediction = Prediction(measured)
    if prediction.impossible is not None:
        return None
    prediction = Prediction(measured)
    started = time.perf_counter()
    assess(findings, measured, prediction)
    plan_s = time.perf_counter() - started
    view, replay = prediction.measured.timeline, prediction.replay
    assert view is not None
    edit = Edit(events=np.arange(len(view.device)), event_ratio=0.5)
    took_ms = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        replay.step_ns([edit])
        took_ms.append(1000 * (time.perf_counter() - started))
    events = int(
        (view.in_steps.sum() + view.device_in_steps.sum()) / view.step_count * replay.graph.step_count
    )
    said = (
        f"{path.name:40.40s} {events:8,} events in the graph, {len(replay.graph):6,} nodes: "
        f"{np.median(took_ms):6.1f} ms an edit"
    )
    return read_s, plan_s, f"{said}; plan ÷ reading {plan_s / read_s:.2f}"


def main(arguments: Sequence[str]) -> None:
    options = parser("replay", __doc__)
    options.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    read_s = plan_s = 0.0
    for path in options.parse_args(arguments).traces:
        try:
            found = line(path)
        except DiagnoseError:
            continue
        if found:
            read_s, plan_s = read_s + found[0], plan_s + found[1]
            print(found[2], flush=True)
    print(
        f"all: plan ÷ reading {plan_s / read_s:.2f} (target 1); an edit of {TARGET_EVENTS:,} events is to "
        f"take {TARGET_MS} ms at most"
    )
