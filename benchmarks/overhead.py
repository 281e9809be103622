"""What the profiler costs a recorded event: where the constants of
`diagnose/measure/distortion.py` come from.

    python -m benchmarks overhead [--recordings FOLDER]

Compares the phases of the bundled recordings: whole steps of the timeline with plain steps; rows of the
detail phase's ledger with the same rows of the plain step. Costs are fitted by least absolute deviations, so
that steps which something else disturbed hardly count.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.options import parser
from benchmarks.samples import FOLDER, SAMPLES, is_recorded
from benchmarks.side_by_side import mapped
from benchmarks.tables import table
from diagnose.measure.distortion import EventCosts, RecordedEvents
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.measure.selection import Selection

KINDS = {
    "Python frame": EventCosts(frame=1.0, other=0.0, first_frame=0.0, first_other=0.0),
    "first Python frame of a name, more": EventCosts(frame=0.0, other=0.0, first_frame=1.0, first_other=0.0),
    "other event": EventCosts(frame=0.0, other=1.0, first_frame=0.0, first_other=0.0),
    "first other event of a name, more": EventCosts(frame=0.0, other=0.0, first_frame=0.0, first_other=1.0),
}
FRAMES, OTHERS = list(KINDS)[:2], list(KINDS)[2:]
FEWEST = 20  # recordings
MANY = 300  # events a step: with fewer, what they cost is lost in what steps differ by
LEAST_US = 30.0  # deviations below this weigh alike: no two steps agree better


@dataclass(frozen=True)
class Slowed:
    """A row of a recording's ledger, or the whole step: µs beyond the plain
    step's, and its events by kind, per step.
    """

    row: str
    excess_us: float
    counts: dict[str, float]

    def of(self, kinds: Iterable[str]) -> list[float]:
        return [self.counts[kind] for kind in kinds]


def whole_steps(measured: Measured) -> Iterator[Slowed]:
    """The timeline's step, where a plain one was measured."""
    if measured.timeline is not None and measured.number("plain_step_ms") > 0:
        counts = {kind: sum(rows.values()) for kind, rows in _counts(measured.timeline).items()}
        yield Slowed("", 1e3 * (measured.timeline.step_ns / 1e6 - measured.number("plain_step_ms")), counts)


def detail_rows(measured: Measured) -> Iterator[Slowed]:
    """The rows of the detail phase's ledger that the timeline has as well."""
    if measured.detail is None or measured.ledger is None or not measured.number("plain_step_ms") > 0:
        return
    counts = _counts(measured.detail)
    for row, intervals in measured.detail.ledger.rows.items():
        if len(intervals) and measured.row_ms(row) > 0:
            excess_ms = measured.detail.ms_per_step(intervals) - measured.row_ms(row)
            yield Slowed(row, 1e3 * excess_ms, {kind: rows[row] for kind, rows in counts.items()})


def _counts(view: Selection) -> dict[str, dict[str, float]]:
    """Kind → row → events per step: what they would cost at a microsecond each."""
    return {
        kind: {row: 1e3 * ms for row, ms in RecordedEvents(view, one).row_costs_ms.items()}
        for kind, one in KINDS.items()
    }


def fitted_us(
    slowed: list[Slowed], kinds: list[str], known_us: dict[str, float] | None = None
) -> dict[str, float]:
    """µs for an event of each kind, fitted by least absolute deviations;
    ``known_us``: the costs of other kinds.
    """
    counts = np.array([one.of(kinds) for one in slowed])
    excess = np.array(
        [
            one.excess_us - sum(cost * one.counts[kind] for kind, cost in (known_us or {}).items())
            for one in slowed
        ]
    )
    weights = np.ones(len(slowed))
    for _ in range(200):  # reweighted least squares come as close to it as is needed
        root = np.sqrt(weights)
        found = np.linalg.lstsq(counts * root[:, None], excess * root, rcond=None)[0]
        weights = 1 / np.maximum(np.abs(excess - counts @ found), LEAST_US)
    return dict(zip(kinds, found.tolist(), strict=True))


def _slowed(run: Path) -> tuple[list[Slowed], list[Slowed]]:
    measured = Measured(load_recording(run))
    return list(whole_steps(measured)), list(detail_rows(measured))


def event_costs(folder: Path) -> str:
    """The costs fitted to the recordings in a folder, as Markdown.

    Raises ValueError for too few recordings.
    """
    runs = [folder / sample.case / sample.name for sample in SAMPLES]
    measured = mapped(_slowed, [run for run in runs if is_recorded(run)])
    steps = [one for whole, _ in measured for one in whole]
    rows = [one for _, each in measured for one in each]
    if len(steps) < FEWEST:
        raise ValueError(f"{len(steps)} recordings are too few to fit costs to; {FEWEST} are the least")
    timeline_us = fitted_us(steps, OTHERS)
    # hardly an operator begins there
    frames_us = fitted_us([row for row in rows if row.row == "python"], FRAMES)
    others_us = fitted_us([row for row in rows if row.row != "python"], OTHERS, frames_us)
    detail_us = {**frames_us, **others_us}
    costs = table(
        ["µs", "timeline", "detail"],
        [(kind, _shown(timeline_us, kind), _shown(detail_us, kind)) for kind in KINDS],
    )
    many = [
        step.excess_us / step.counts["other event"] for step in steps if step.counts["other event"] >= MANY
    ]
    median = f"{np.median(many):.2f} µs" if many else "–"
    lines = [
        f"Timelines with {MANY} events a step or more: {len(many)}; excess ÷ events, median {median}.",
        f"Timelines, {_spread(steps, timeline_us)}",
        f"Rows of the detail phase, {_spread(rows, detail_us)}",
    ]
    return costs + "\n" + "\n\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    options = parser("overhead", __doc__)
    options.add_argument(
        "--recordings", type=Path, default=FOLDER, help="where the recordings are, if not beside the scripts"
    )
    print(event_costs(options.parse_args(arguments).recordings))


def _spread(slowed: list[Slowed], costs_us: dict[str, float]) -> str:
    usual = [
        (one.excess_us, sum(cost * one.counts[kind] for kind, cost in costs_us.items())) for one in slowed
    ]
    parts = [excess / cost for excess, cost in usual if cost > 0]
    if not parts:
        return "no cost above zero."
    quantiles = ", ".join(f"{np.quantile(parts, at):.2f}" for at in (0.1, 0.25, 0.5, 0.75, 0.9))
    return f"excess ÷ these costs; 0.1, 0.25, 0.5, 0.75 and 0.9 of {len(parts)} are below: {quantiles}."


def _shown(costs_us: dict[str, float], kind: str) -> str:
    return f"{costs_us[kind]:.2f}" if kind in costs_us else "–"
