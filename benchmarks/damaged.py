"""What is said of damaged traces: a cut file must not become a slow program.

    python -m benchmarks damaged FOLDER …

Each trace is damaged in several ways in a temporary folder. The largest row of the ledger is compared with
that of the whole file, or of the same steps of it: *right* is a largest row that is within ten points in
both. What differs is *refused* (no ledger), has the badge *GPU not recorded* (where the file holds no more
event of a GPU), another *badge* or *only a note* that the whole file has not, or is *wrong*: nothing tells.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.options import parser
from diagnose.document.model import GPU_NOT_RECORDED
from diagnose.errors import DiagnoseError
from diagnose.measure.metrics import Measured
from diagnose.measure.recording import load_recording
from diagnose.pipeline import Analysis
from diagnose.report.blocks import table
from diagnose.trace.schema import Trace

Json = dict[str, Any]
NEAR = 0.1  # of the step
LEAST_BYTES, MOST_BYTES = 15_000, 10_000_000  # of a trace, packed
STUB_US = 20
SEED = 1
RANKS_JOINED, JOINED = "two ranks joined", "two recordings joined"
RANK = re.compile(r"-[rw]\d+(?=[-.])")  # in the name of a file
OUTCOMES = ("right", "refused", "GPU not recorded", "badge", "only a note", "wrong")


class Answer(NamedTuple):
    """What a report says: its largest row (none where it was refused), the shares of all, badge and notes;
    and the numbers of the steps that it is of.
    """

    row: str | None
    shares: dict[str, float]
    badge: str
    notes: frozenset[str]
    steps: frozenset[int] = frozenset()

    def near(self, other: Answer) -> bool:
        """The largest row of each is about as large in the other."""
        if self.row is None or other.row is None:
            return self.row == other.row
        rows = (self.row, other.row)
        return all(abs(self.shares.get(row, 0) - other.shares.get(row, 0)) <= NEAR for row in rows)


def answer(path: Path, only: Collection[int] | None = None) -> Answer:
    """What is said of a trace, or of only these steps of it."""
    try:
        recording = load_recording(path)
        trace = recording.timeline
        if trace is not None and only is not None:
            kept = trace.steps["complete"] & trace.steps["number"].isin(only)
            recording = replace(recording, timeline=replace(trace, steps=trace.steps.assign(complete=kept)))
        document = Analysis(Measured(recording)).document
    except DiagnoseError:
        return Answer(None, {}, "", frozenset())
    shares = {row.row: row.share for row in document.ledger}
    texts = frozenset(note.text for note in document.notes)
    largest = max(shares, key=lambda row: shares[row], default=None)
    return Answer(largest, shares, document.badge, texts, _complete(recording.timeline))


def _complete(trace: Trace | None) -> frozenset[int]:
    return frozenset(trace.steps["number"][trace.steps["complete"]]) if trace is not None else frozenset()


def outcome(damaged: Answer, whole: Sequence[Answer]) -> str:
    """One of `OUTCOMES`; ``whole``: the answers that are right (a file of two ranks has two)."""
    if damaged.row is None:
        return "refused"
    if any(damaged.near(right) for right in whole):
        return "right"
    if damaged.badge not in ("", whole[0].badge):
        return GPU_NOT_RECORDED if damaged.badge == GPU_NOT_RECORDED else "badge"
    return "only a note" if damaged.notes - whole[0].notes else "wrong"


def damages(text: bytes, partner: bytes | None, other: bytes | None) -> Iterator[tuple[str, bytes]]:
    """Each kind of damage with the bytes of the damaged file; ``partner``: the trace of another rank;
    ``other``: another trace.
    """
    for tenth in range(1, 10):
        yield f"cut at {tenth}0 %", text[: len(text) * tenth // 10]
    document, random_ = _decoded(text), random.Random(SEED)
    events = document["traceEvents"]
    for tenths in (3, 6, 9):
        what = f"cut at {tenths}0 % and closed"
        yield what, _encoded(document, events[: len(events) * tenths // 10])
    yield "doubled", _encoded(document, events + events)
    yield "shuffled", _encoded(document, random_.sample(events, len(events)))
    yield "a tenth of the durations negated", _encoded(document, [_negated(e, random_) for e in events])
    if steps := [e for e in events if str(e.get("name")).startswith("ProfilerStep#")]:
        stub = steps[len(steps) // 2]
        yield "a stub step", _encoded(document, [{**e, "dur": STUB_US} if e is stub else e for e in events])
    if partner is not None:
        yield RANKS_JOINED, _encoded(document, events + _decoded(partner)["traceEvents"])
    if other is not None:
        yield JOINED, _encoded(document, events + _decoded(other)["traceEvents"])


def _negated(event: Json, random_: random.Random) -> Json:
    has_time = isinstance(event.get("dur"), (int, float)) and random_.random() < 0.1
    return {**event, "dur": -event["dur"]} if has_time else event


def _decoded(text: bytes) -> Json:
    document = json.loads(text)
    return document if isinstance(document, dict) else {"traceEvents": document}


def _encoded(document: Json, events: Sequence[Json]) -> bytes:
    return json.dumps({**document, "traceEvents": events}).encode()


def _partner(path: Path) -> Path | None:
    """The trace of another rank of the same job, by its name."""
    if not RANK.search(path.name):
        return None
    others = [other for other in sorted(path.parent.glob("*.json.gz")) if other != path]
    return next((one for one in others if RANK.sub("", one.name) == RANK.sub("", path.name)), None)


def _chosen(folders: Sequence[Path], count: int) -> Iterator[tuple[Path, Answer]]:
    """Traces of moderate size with a ledger of a GPU, evenly among the names, with what is said of them."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.json.gz"))]
    moderate = [path for path in paths if LEAST_BYTES <= path.stat().st_size <= MOST_BYTES]
    for number in range(min(count, len(moderate))):
        path = moderate[number * len(moderate) // count]
        if (whole := answer(path)).row is not None:
            yield path, whole


def _largest(told: Answer) -> str:
    return f"{told.row} {told.shares.get(told.row or '', 0):.0%}"


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def main(arguments: Sequence[str]) -> None:
    options = parser("damaged", __doc__)
    options.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="of *.json.gz")
    options.add_argument("--count", type=int, default=24, help="how many traces are damaged")
    given = options.parse_args(arguments)
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        last: Path | None = None
        for path, whole in _chosen(given.folders, given.count):
            for what, result in _outcomes(path, whole, Path(folder, "damaged.json"), last):
                counts[re.sub(r" at \d+ %", "", what), result] += 1
            last = path
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    rows = [(kind, *(str(counts[kind, name]) for name in OUTCOMES)) for kind in kinds]
    total = [str(sum(counts[kind, name] for kind in kinds)) for name in OUTCOMES]
    print(f"{sum(counts.values())} damaged files")
    print(table(("Damage", *OUTCOMES), [*rows, ("all", *total)]))


def _outcomes(path: Path, whole: Answer, file: Path, last: Path | None) -> Iterator[tuple[str, str]]:
    """Each damage done to a trace with its outcome; those that tell another answer are printed. ``last``: the
    trace before, which is joined to it.
    """
    partner = _partner(path)
    right = {RANKS_JOINED: [whole, answer(partner)] if partner else [whole]}
    right[JOINED] = [whole, answer(last)] if last else [whole]
    of_steps: dict[frozenset[int], Answer] = {whole.steps: whole}
    for what, data in damages(_unpacked(path), *(_unpacked(one) if one else None for one in (partner, last))):
        file.write_bytes(data)
        damaged = answer(file)
        result = outcome(damaged, right.get(what, [whole]))
        if result not in ("right", "refused") and what not in right and damaged.steps < whole.steps:
            same = of_steps.setdefault(damaged.steps, answer(path, only=damaged.steps))
            result = outcome(damaged, [whole, same])
        yield what, result
        if result not in ("right", "refused"):
            rows = f"{_largest(whole)} → {_largest(damaged)}"
            print(f"{result}: {path.name}, {what}: {rows}", file=sys.stderr, flush=True)
