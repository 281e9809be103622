"""How well savings are predicted: Markdown on stdout, with --write in docs/accuracy.md.

    python -m benchmarks prediction [--traces FOLDER] [--write]

Predicts the healthy twin of every sample from the recording of the sick script alone, and pairs in
FOLDER that others recorded before and after a change. Replays every complete step of the training
traces in FOLDER as it was recorded.
"""

import csv
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from benchmarks.options import parser
from benchmarks.pages import write_part
from benchmarks.samples import FOLDER, SAMPLES, Sample, is_recorded
from benchmarks.side_by_side import mapped
from benchmarks.tables import table
from diagnose.document.text import share
from diagnose.errors import DiagnoseError
from diagnose.judge.findings import judge
from diagnose.judge.rules import load_rules
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.predict.device_lanes import QUEUED_NS, device_lanes
from diagnose.predict.edits import events_of, unblocked
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.saving import saving_of
from diagnose.predict.widths import width_of

PAGE = FOLDER.parent / "docs" / "accuracy.md"
MISSES = FOLDER / "misses.toml"
HEADING = "# How well savings are predicted"
# p50 and p90 of the error of the step, share of steps inside the range
STEP_TARGETS, COVERAGE_TARGET = ((0.05, 0.15), 0.9)
REPLAY_TARGETS = (0.01, 0.03)


@dataclass(frozen=True)
class Pair:
    """Steps before and after a change, ms: as measured, and the one after as predicted, with its range."""

    name: str
    change: str
    before_ms: float
    after_ms: float
    predicted_ms: float
    low_ms: float
    high_ms: float

    @property
    def error(self) -> float:
        return (self.predicted_ms - self.after_ms) / self.after_ms

    @property
    def inside(self) -> bool:
        return self.low_ms <= self.after_ms <= self.high_ms


def sample_pairs(folder: Path = FOLDER) -> dict[str | None, tuple[list[Pair], list[str]]]:
    """By GPU (None without one): the samples recorded in a folder, and why some are left out."""
    runs = [
        (sick, folder / sick.case / sick.name, folder / sick.case / "healthy")
        for sick in SAMPLES
        if sick.rule
    ]
    runs = [run for run in runs if is_recorded(run[1]) and is_recorded(run[2])]
    found: dict[str | None, tuple[list[Pair], list[str]]] = {}
    for (sick, _, _), (gpu, pair) in zip(runs, mapped(_sample_pair, runs), strict=True):
        pairs, without = found.setdefault(gpu, ([], []))
        if isinstance(pair, Pair):
            pairs.append(pair)
        else:
            without.append(f"`{sick.case}`: {pair}")
    return found


def _sample_pair(runs: tuple[Sample, Path, Path]) -> tuple[str | None, Pair | str]:
    """The name of the GPU, and the pair or why there is none."""
    sick, run, twin = runs
    recording = load_recording(run)
    return recording.facts.get("gpu_name"), sick.other_fix or _predicted_pair(sick, Measured(recording), twin)


def _predicted_pair(sick: Sample, measured: Measured, twin: Path) -> Pair | str:
    prediction = Prediction(measured)
    finding = next(one for one in judge(load_rules(), measured) if one.rule.id == sick.rule)
    if finding.state != "fires":
        return "the rule does not fire on this recording"
    saving = saving_of(finding, prediction)
    if saving is None:
        return "what its fix gains cannot be told from a recording"
    typical = np.mean if finding.rule.saving.scope == "average" else np.median
    before = float(typical(measured.recording.step_ns("plain"))) / 1e6
    after = float(typical(load_recording(twin).step_ns("plain"))) / 1e6 / sick.twin_steps
    predicted, low, high = (before - gain for gain in (saving.predicted_ms, saving.high_ms, saving.low_ms))
    return Pair(sick.case, f"`{sick.rule}`", before, after, predicted, low, high)


# ---- recorded by others


def _workers(count: int) -> Callable[[Prediction], Change]:
    return lambda prediction: Change(workers=count)


def _no_syncs(prediction: Prediction) -> Change:
    return Change(tuple(unblocked(events_of(SELECTORS["host_sync"], prediction.measured), 1.0)))


RECORDED = [
    *(
        (
            f"kineto-rn50-w0-{version}",
            f"kineto-rn50-w4-{version}",
            "4 loader workers",
            _workers(4),
            "input-wait-no-workers",
        )
        for version in ("v0", "v1", "v2", "v3")
    ),
    (
        "kineto-rn50-oldapi-w0",
        "kineto-rn50-oldapi-w4",
        "4 loader workers",
        _workers(4),
        "input-wait-no-workers",
    ),
    ("ao-moe-ref", "ao-moe-syncless", "no host sync", _no_syncs, "host-sync"),
]


def recorded_pairs(traces: Path) -> list[Pair]:
    """Pairs that others recorded; steps as recorded, for no plain ones were."""
    return [_recorded_pair(traces, *pair) for pair in RECORDED]


def _recorded_pair(
    traces: Path, before: str, after: str, words: str, change: Callable[[Prediction], Change], rule: str
) -> Pair:
    first, second = (
        Prediction(Measured(load_recording(next(traces.glob(f"{name}.*"))))) for name in (before, after)
    )
    gain_ms = first.recorded_ms - first.step_ms([change(first)])
    # The first step after a loader starts is no steady one: the median is.
    after_ms = (
        float(np.median(np.diff(second.measured.timeline.windows))) / 1e6
        if second.measured.timeline
        else float("nan")
    )
    least_ms, most_ms = width_of(load_rules()[rule].saving).range_ms((gain_ms,), first.recorded_ms)
    low_ms, high_ms = first.recorded_ms - most_ms, first.recorded_ms - least_ms
    return Pair(before, words, first.recorded_ms, after_ms, first.recorded_ms - gain_ms, low_ms, high_ms)


@dataclass(frozen=True)
class Replayed:
    """A training trace: each complete step's self-replay error; µs from launch calls' ends to
    their events, and between queued events.
    """

    errors: list[float]
    latencies: np.ndarray
    gaps: np.ndarray


def replayed_traces(traces: Path) -> tuple[dict[str, Replayed], list[str]]:
    """By training trace; and those that cannot be replayed, with why."""
    found: dict[str, Replayed] = {}
    without = []
    for reading in csv.DictReader((traces / "READINGS.csv").read_text().splitlines()):
        if reading["mode"] != "training":
            continue
        try:
            prediction = Prediction(Measured(load_recording(traces / reading["file"])))
        except DiagnoseError as error:
            without.append(f"`{reading['id']}`: {error.what}")
            continue
        view = prediction.measured.timeline
        if prediction.impossible is not None or view is None:
            reason = prediction.impossible.reason if prediction.impossible else "no complete step"
            without.append(f"`{reading['id']}`: {reason}")
        else:
            found[reading["id"]] = Replayed(prediction.errors(sys.maxsize), *_delays_us(view))
    return found, without


def _delays_us(view: Selection) -> tuple[np.ndarray, np.ndarray]:
    """From the ends of launch calls to the starts of events on an idle stream, and from
    each event to the next queued one; µs.
    """
    lanes, host = device_lanes(view), view.host
    linked = np.flatnonzero((view.device["launch"].to_numpy() >= 0) & (lanes.before >= 0))
    launch, freed = lanes.launch[linked], lanes.end_ns[lanes.before[linked]]
    called, returned = (
        host["start_ns"].to_numpy()[launch],
        (host["start_ns"] + host["dur_ns"]).to_numpy()[launch],
    )
    idle, queued = freed < called, freed > called + QUEUED_NS
    return (lanes.start_ns[linked] - returned)[idle] / 1e3, (lanes.start_ns[linked] - freed)[queued] / 1e3


# ---- the page


def pairs_part(pairs: list[Pair], without: Iterable[str]) -> str:
    left_out = "\n".join(f"- {one}" for one in without)
    if not pairs:
        return f"No pair.\n\nLeft out:\n\n{left_out}" if left_out else "No pair."
    errors = np.abs([pair.error for pair in pairs])
    reached = [*np.percentile(errors, [50, 90]), np.mean([pair.inside for pair in pairs])]
    rows = [_row(pair) for pair in sorted(pairs, key=lambda pair: abs(pair.error))]
    summary = [
        (
            "error of the step, p50",
            share(reached[0]),
            share(STEP_TARGETS[0]),
            _met(reached[0] <= STEP_TARGETS[0]),
        ),
        (
            "error of the step, p90",
            share(reached[1]),
            share(STEP_TARGETS[1]),
            _met(reached[1] <= STEP_TARGETS[1]),
        ),
        (
            "measured step inside the range",
            share(float(reached[2])),
            f"≥ {share(COVERAGE_TARGET)}",
            _met(reached[2] >= COVERAGE_TARGET),
        ),
    ]
    headers = (
        "pair",
        "change",
        "before, ms",
        "predicted, ms",
        "range, ms",
        "measured, ms",
        "error",
        "inside",
    )
    parts = [table((f"{len(pairs)} pairs", "reached", "target", ""), summary), table(headers, rows)]
    causes = tomllib.loads(MISSES.read_text())
    missed = [pair for pair in pairs if not pair.inside or abs(pair.error) > STEP_TARGETS[1]]
    reasons = "\n".join(f"- {pair.name}: {causes.get(pair.name, 'not looked into')}" for pair in missed)
    parts += (
        [f"Outside the range or more than {share(STEP_TARGETS[1])} off, and why:\n\n{reasons}"]
        if missed
        else []
    )
    return "\n\n".join([*parts, *([f"Left out:\n\n{left_out}"] if left_out else [])])


def _row(pair: Pair) -> tuple[str, ...]:
    before, predicted, low, high, after = (
        f"{ms:.4g}" for ms in (pair.before_ms, pair.predicted_ms, pair.low_ms, pair.high_ms, pair.after_ms)
    )
    return (
        pair.name,
        pair.change,
        before,
        predicted,
        f"{low} to {high}",
        after,
        f"{pair.error:+.0%}",
        "yes" if pair.inside else "**no**",
    )


def replay_part(replayed: dict[str, Replayed], without: Iterable[str]) -> str:
    errors = {name: one.errors for name, one in replayed.items()}
    every = np.concatenate([np.array(values) for values in errors.values()])
    median, high = np.percentile(every, [50, 90])
    summary = [
        ("median", f"{median:.2%}", f"≤ {share(REPLAY_TARGETS[0])}", _met(median <= REPLAY_TARGETS[0])),
        ("p90", f"{high:.2%}", f"≤ {share(REPLAY_TARGETS[1])}", _met(high <= REPLAY_TARGETS[1])),
    ]
    worst = [
        (f"`{name}`", str(len(values)), f"{np.median(values):.2%}", f"{max(values):.2%}")
        for name, values in errors.items()
        if max(values) > 0.001
    ]
    worst.sort(key=lambda row: -float(row[3].strip("%")))
    left_out = "\n".join(f"- {one}" for one in without)
    parts = [
        table((f"{len(every)} steps of {len(errors)} traces", "reached", "target", ""), summary),
        "Traces with a step off by more than 0.1 %:",
        table(("trace", "steps", "median", "largest"), worst),
    ]
    delays = [
        (
            "launch call's end to its event, idle stream",
            *_percentiles([one.latencies for one in replayed.values()]),
        ),
        (
            "an event to the next queued one on its stream",
            *_percentiles([one.gaps for one in replayed.values()]),
        ),
    ]
    parts += ["Delays in these traces, the median trace's:", table(("µs", "p10", "p50", "p90"), delays)]
    return "\n\n".join([*parts, *([f"Cannot be replayed:\n\n{left_out}"] if left_out else [])])


def _percentiles(by_trace: Iterable[np.ndarray]) -> list[str]:
    """The medians, over the traces, of what a tenth, half and nine tenths of each one's delays stay below."""
    each = np.array([np.percentile(delays, [10, 50, 90]) for delays in by_trace if len(delays)])
    return [f"{value:.1f}" for value in np.median(each, axis=0)]


def _met(met: bool) -> str:
    return "met" if met else "**missed**"


def part(traces: Path | None) -> str:
    """The page's part on predictions."""
    sections = [
        HEADING,
        "Written by `python -m benchmarks prediction --write`. The step of the healthy twin, predicted from "
        "the recording of the sick script alone, against the plain steps of its own recording, made minutes "
        "apart on a machine that others used too. *Error*: of the predicted step. What is left after a "
        "rewrite is a guess of the rule (`ratio`), made with some of these samples at hand, and the width "
        "of the ranges is calibrated from these pairs too: take the coverage as in-sample.",
    ]
    for gpu, found in sorted(sample_pairs().items(), key=lambda item: item[0] or ""):
        sections += [f"## Bundled samples, {gpu or 'CPU'}", pairs_part(*found)]
    if traces is not None:
        sections += [
            "## Recorded by others before and after a change, GPU",
            "None of them was used to set a number of the replay. Plain steps were not recorded: all times "
            "are under their profiler.",
            pairs_part(recorded_pairs(traces), ()),
            "## Replaying recorded steps as they are",
            "How far the replay of a step ends from the recording, on the host or on both lanes. That it is "
            "small says that the recorded waits are understood; it does not say that a change is.",
            replay_part(*replayed_traces(traces)),
        ]
    return "\n\n".join(sections) + "\n"


def main(arguments: Sequence[str]) -> None:
    options = parser("prediction", __doc__)
    options.add_argument(
        "--traces", type=Path, help="folder of traces that others recorded, with READINGS.csv"
    )
    options.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    given = options.parse_args(arguments)
    written = part(given.traces)
    print(written)
    if given.write:
        write_part(PAGE, HEADING, written)
