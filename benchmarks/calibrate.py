"""How wide the ranges of predictions have to be: from all predictions that are kept beside a measurement.

    python -m benchmarks calibrate [--write]     the widths by kind of prediction; --write: into widths.toml
    python -m benchmarks calibrate --keep FOLDER   first keeps what `verify` measured in the runs below FOLDER

Three sources: what verifications measured, and what others recorded before and after a change
(`pairs.jsonl`, which only grows; with a verdict it was verified), the oracles of first contact
beside the latest answers, and the bundled scripts beside their healthy twins. Only the first two are
predictions of scripts that the rules were not written with: the width of a kind covers 80 % of all its
pairs and 80 % of these.

A width is in odds, gain ÷ what is left of the step: as a part of small gains, as a part of what is left
where nearly all of the step goes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import msgspec

from benchmarks import ROOT
from benchmarks.first_contact.answers import kept as answers
from benchmarks.first_contact.entries import Fault, entries
from benchmarks.first_contact.judge import Judged, judged
from benchmarks.options import parser
from benchmarks.pages import write_part
from benchmarks.prediction import sample_pairs
from benchmarks.tables import table
from diagnose.document.text import share
from diagnose.judge.rules import load_rules
from diagnose.predict.widths import FILE, KINDS, Kind, Width, kind_of
from diagnose.verify.accuracy import Pair, pairs_below

KEPT = Path(__file__).with_name("pairs.jsonl")
PAGE = ROOT / "docs" / "accuracy.md"
HEADING = "# How wide ranges are, and why"
COVERED = 0.8
FEWEST = 9  # scripts: of fewer none lies beyond the tenth at either end that a range leaves out
MOST_ODDS = 99.0  # of a gain that leaves nothing of the step
# a row of the plan that stands at a fault's line, and what the oracle timed there instead of its fix
ANOTHER_FIX = {
    ("e28-ncf", "input-wait-epoch-start"): "no workers, and batches cut from tensors",
    ("e22-social-stgcnn", "other-loader-restarts"): "no workers; scenes of equal size in one forward",
}
# the numbers of each pair of runs, as oracles tell them
_EACH_MS = re.compile(r"cost per pair in ms: ([-\d., ]+\d)")
_EACH_SHARE = re.compile(r"shares per pair: ([-\d. ]+\d)")


@dataclass(frozen=True)
class Known:
    """A prediction, and what was measured of it, as shares of the step: least, most. ``seen``: the rules were
    written with the script at hand.
    """

    source: str
    name: str
    rule: str
    kind: Kind
    predicted: float
    measured: tuple[float, float]
    seen: bool = False

    @property
    def script(self) -> str:
        """What variants of one script share: `kineto-rn50` of `kineto-rn50-w0-v2`."""
        return "-".join(self.name.split("-")[:2])

    @property
    def factor(self) -> float:
        """Odds measured ÷ odds predicted, by the end of the measured interval that is nearer to the
        prediction: 1 where the measurement cannot tell them apart.
        """
        low, high = (_odds(end) / _odds(self.predicted) for end in self.measured)
        return low if low > 1 else high if high < 1 else 1.0

    @property
    def tells(self) -> bool:
        """Not where the measurement spans more than the prediction and holds it."""
        low, high = self.measured
        return self.predicted > 0 and not (low < self.predicted < high and high - low > self.predicted)


def _odds(gain: float) -> float:
    """Of a share of the step; 0 where nothing is gained."""
    return min(MOST_ODDS, max(0.0, gain) / max(1 - gain, 1e-9))


# ---- the pairs


def all_known() -> list[Known]:
    return [*verified(), *first_contact(), *twins()]


def verified() -> list[Known]:
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.is_file() else []
    found = []
    for told in map(json.loads, lines):
        pair = msgspec.convert({key: value for key, value in told.items() if key != "date"}, Pair)
        low, predicted, high = (
            gain / pair.before_ms for gain in (pair.measured_ms[0], pair.expected_ms[1], pair.measured_ms[2])
        )
        source = "verified" if pair.verdict else "recorded by others"
        found += _known(source, pair.run, pair.rule, predicted, (low, high))
    return found


def first_contact() -> list[Known]:
    """The latest answer to each entry, where the plan held faults: a pair for each row of the plan."""
    latest: dict[str, Judged] = {one.entry.name: one for one in judged(entries(), answers())}
    return [known for one in latest.values() for known in _of_rows(one)]


def _of_rows(met: Judged) -> list[Known]:
    found = []
    for row in met.answer["plan"]:
        faults = [fault for fault in met.entry.faults if met.found(fault) is row]
        costs = [measured for fault in faults if (measured := cost_shares(fault))]
        other = (met.entry.name, row["rule"]) in ANOTHER_FIX
        step_ms = met.step_ms_of(row)
        if costs and row["predicted_ms"] and step_ms and not other:
            guess = row["predicted_ms"]["best_guess"] / step_ms
            found += _known("first contact", met.entry.name, row["rule"], guess, together(costs))
    return found


def together(costs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """From the least of several faults to all of them, each a share of what the others leave: a row of the
    plan at the lines of several may mean any.
    """
    return min(low for low, _ in costs), 1 - math.prod(1 - high for _, high in costs)


def cost_shares(fault: Fault) -> tuple[float, float] | None:
    """From the least to the most that the oracle's pairs of runs say; None where they are not told and the
    oracle is not sure.
    """
    for pattern, whole in ((_EACH_MS, fault.step_ms), (_EACH_SHARE, 1.0)):
        if told := pattern.search(fault.how):
            each = [float(one) / whole for one in told[1].replace(",", " ").split()]
            return min(each), max(each)
    return (fault.share, fault.share) if fault.sure else None


def twins() -> list[Known]:
    return [
        known
        for pairs, _ in sample_pairs().values()
        for one in pairs
        for known in _known(
            "twin",
            one.name,
            one.change.strip("`"),
            1 - one.predicted_ms / one.before_ms,
            (1 - one.after_ms / one.before_ms,) * 2,
            seen=True,
        )
    ]


def _known(
    source: str, name: str, rule: str, predicted: float, measured: tuple[float, float], *, seen: bool = False
) -> list[Known]:
    """Empty where the rule is gone or the pair tells nothing."""
    rules = load_rules()
    if rule not in rules:
        return []
    known = Known(source, name, rule, kind_of(rules[rule].saving), predicted, measured, seen)
    return [known] if known.tells else []


def keep(folder: Path) -> int:
    """Add what was measured below the folder, once each; how many were new."""
    there = set(KEPT.read_text(encoding="utf-8").splitlines()) if KEPT.is_file() else set()
    known = {json.dumps(json.loads(line) | {"date": ""}) for line in there}
    new = [asdict(pair) | {"date": ""} for pair in pairs_below(folder)]
    new = [pair for pair in new if json.dumps(pair) not in known]
    with KEPT.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(pair | {"date": date.today().isoformat()}) + "\n" for pair in new)
    return len(new)


# ---- the widths


def width(pairs: Sequence[Known]) -> Width:
    """The range of factors that leaves out a tenth at either end, told as if one more pair were to come, and
    that holds 80 % of those not seen before. Raises ValueError without a pair.
    """
    factors = sorted(pair.factor for pair in pairs)
    left_out = math.floor(round((1 - COVERED) / 2 * (len(factors) + 1), 6))
    low, high = factors[max(0, left_out - 1)], factors[min(len(factors) - 1, len(factors) - left_out)]
    low, high = min(low, 1.0), max(high, 1.0)
    unseen = [pair.factor for pair in pairs if not pair.seen]
    while _coverage(unseen, low, high) < COVERED:
        missed = [factor for factor in unseen if not low <= factor <= high]
        nearest = min(missed, key=lambda factor: low - factor if factor < low else factor - high)
        low, high = min(low, nearest), max(high, nearest)
    return Width(low, high, len(pairs), _scripts(pairs) >= FEWEST)


def _scripts(pairs: Sequence[Known]) -> int:
    return len({pair.script for pair in pairs})


def _coverage(factors: Sequence[float], low: float, high: float) -> float:
    return sum(low <= factor <= high for factor in factors) / len(factors) if factors else 1.0


def widths_of(pairs: Sequence[Known]) -> dict[Kind, Width]:
    """By kind; of one with pairs of too few scripts the width of all together, and at least its own."""
    whole = width(pairs)
    found = {}
    for kind in KINDS:
        of_kind = [pair for pair in pairs if pair.kind == kind]
        own = width(of_kind) if of_kind else Width(1.0, 1.0)
        few = _scripts(of_kind) < FEWEST
        found[kind] = Width(
            min(own.low, whole.low) if few else own.low,
            max(own.high, whole.high) if few else own.high,
            len(of_kind),
            not few,
        )
    return found


def covered(pairs: Sequence[Known], widths: Callable[[Known], dict[Kind, Width]]) -> list[bool]:
    """Whether each is inside the range that the widths for it give."""
    given = [widths(pair)[pair.kind] for pair in pairs]
    return [one.low <= pair.factor <= one.high for one, pair in zip(given, pairs, strict=True)]


# ---- the page


def page(pairs: Sequence[Known]) -> str:
    widths = widths_of(pairs)
    inside = covered(pairs, lambda pair: widths)
    without = covered(pairs, lambda pair: widths_of([other for other in pairs if other is not pair]))
    both = list(zip(pairs, inside, without, strict=True))
    rows = []
    for kind, of_kind in widths.items():
        chosen = [one for one in both if one[0].kind == kind]
        note = "" if of_kind.known else f"of fewer than {FEWEST} scripts: as wide as all together"
        rows.append((kind, str(len(chosen)), *_ends(of_kind), *_shares(chosen), note))
    sources = [
        (name, str(len(chosen)), *_shares(chosen))
        for name in dict.fromkeys(pair.source for pair in pairs)
        if (chosen := [one for one in both if one[0].source == name])
    ]
    sources.append(("all", str(len(both)), *_shares(both)))
    missed = [
        (pair.source, pair.name, f"`{pair.rule}`", share(pair.predicted), _span(pair.measured))
        for pair, holds, _ in both
        if not holds
    ]
    parts = [
        HEADING,
        "Written by `python -m benchmarks calibrate --write`, which also writes "
        "`diagnose/predict/widths.toml`. A range goes from *low* to *high* times the odds of the best guess "
        "(gain ÷ what is left of the step). *Covered* is by construction; *left out* is the same pair "
        "by pair, with widths from all others.",
        table(("kind", "pairs", "low", "high", "a gain of 20 % is", "covered", "left out", ""), rows),
        table(("source", "pairs", "covered", "left out"), sources),
        "Outside:\n\n" + table(("source", "script", "rule", "predicted", "measured"), missed)
        if missed
        else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _shares(of: Sequence[tuple[Known, bool, bool]]) -> tuple[str, str]:
    if not of:
        return "–", "–"
    return share(sum(one[1] for one in of) / len(of)), share(sum(one[2] for one in of) / len(of))


def _ends(width: Width) -> tuple[str, str, str]:
    low, high = width.range_ms((20.0,), 100.0)
    return f"{width.low:.2f}", f"{width.high:.2f}", f"{low:.0f}–{high:.0f} %"


def _span(measured: tuple[float, float]) -> str:
    low, high = measured
    return share(low) if low == high else f"{100 * low:.0f} to {100 * high:.0f} %"


def written(widths: dict[Kind, Width]) -> str:
    """As `diagnose.predict.widths` reads it."""
    lines = ["# Written by `python -m benchmarks calibrate --write` (docs/accuracy.md)."]
    for kind, one in widths.items():
        lines += ["", f"[{kind}]", f"low = {one.low:.2f}", f"high = {one.high:.2f}"]
        lines += [f"pairs = {one.pairs}", f"known = {str(one.known).lower()}"]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> None:
    options = parser("calibrate", __doc__)
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="first keep what was verified there")
    options.add_argument("--write", action="store_true", help="into docs/accuracy.md and widths.toml")
    given = options.parse_args(arguments)
    if given.keep:
        print(f"{keep(given.keep)} new pairs")
    pairs = all_known()
    said = page(pairs)
    print(said)
    if given.write:
        FILE.write_text(written(widths_of(pairs)), encoding="utf-8")
        write_part(PAGE, HEADING, said)
