"""What the samples' fixes gain when they are made (`make verify-samples`): Markdown on stdout, with --write in docs/accuracy.md.

    python -m sample_traces.verified [--write] [--budget 90s] [case …]

Each sick script whose fix has an automatic form is recorded, and its fix verified. Then the sick script with the fix is held against the
healthy twin, run in turns. With --unchanged N, healthy scripts are held N times against themselves: what is said of no change at all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from diagnose.errors import DiagnoseError
from diagnose.measure.recording import load_recording
from diagnose.report.accuracy import HEADERS, accuracy_rows, in_sum
from diagnose.report.text import share
from diagnose.report.verification import losses, verdict
from diagnose.rules import load_rules
from diagnose.run.settings import Target
from diagnose.run.trial import Job, TrialSettings
from diagnose.verify import statistics
from diagnose.verify.accuracy import pairs_of
from diagnose.verify.duel import Arm, Bench, Outcome, RunFailed
from diagnose.verify.lengths import fitted
from diagnose.verify.store import Store
from diagnose.verifying import duration
from sample_traces.pages import write_part
from sample_traces.prediction import PAGE
from sample_traces.samples import SAMPLES, Sample, is_recorded, samples_for
from sample_traces.tables import table

HEADING = "# What fixes gain when they are made"
PRECISION = 0.03
UNCHANGED_PRECISION, UNCHANGED_S = 0.05, 40.0


@dataclass(frozen=True)
class Verified:
    """One case: verify.json, and the sick script with its fix against the healthy twin; None where that could not be measured."""

    case: str
    proof: dict[str, Any]
    tried: dict[str, Any]
    twin: statistics.Comparison | None
    twin_verdict: str


def verified(sick: Sample, healthy: Sample, folder: Path, budget_s: float) -> Verified | str:
    """Record, verify, hold against the twin; or why that cannot be done."""
    run = folder / sick.case
    said = _diagnose("--out", str(run), sick.script.name, cwd=sick.script.parent)
    if said.returncode:
        return f"recording ended with exit code {said.returncode}"
    options = ["--allow", "numerics", "--budget", f"{budget_s}s", "--precision", str(PRECISION), "--only", sick.rule]
    said = _diagnose("verify", str(run), *options, cwd=sick.script.parent)
    if not (run / "verify.json").is_file():
        return (said.stderr.strip().splitlines() or ["nothing was tried"])[-1].strip()
    proof = json.loads((run / "verify.json").read_text())
    tried = proof["tried"][0]
    if tried["state"] != "measured":
        return verdict(tried)
    twin, words = _against_twin(sick, healthy, tried, run, budget_s)
    return Verified(sick.case, proof, tried, twin, words)


def _diagnose(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "diagnose", *arguments], cwd=cwd, capture_output=True, text=True, errors="replace")


def _against_twin(sick: Sample, healthy: Sample, tried: dict[str, Any], run: Path, budget_s: float) -> tuple[Any, str]:
    if sick.other_fix or sick.twin_steps > 1:
        return None, "the twin does something else"
    spec = {"name": tried["intervention"], "arguments": tried["arguments"], "sites": []}
    settings = TrialSettings(tried["step_to"] - 1, max(1, tried["step_from"] - 1), 1, timeout_s=300)
    bench = Bench(Store(run / "twin"), settings, lambda label: None)
    try:
        outcome = bench.duel(_arm(healthy), _arm(sick, spec), PRECISION, time.monotonic() + budget_s, sick.case)
    except RunFailed as failed:
        return None, str(failed)
    if outcome is None:
        return None, "too few runs"
    return outcome.comparison, statistics.verdict(outcome.comparison, PRECISION)


def _arm(sample: Sample, *specs: dict[str, Any]) -> Arm:
    folder = str(sample.script.parent)
    return Arm(Job(Target(sample.script.name, False, ()), folder, folder, sys.executable), specs)


def unchanged(count: int, folder: Path) -> Counter[str]:
    """The verdicts on healthy scripts against themselves."""
    healthy = [sample for sample in samples_for("cpu") if not sample.rule and sample.case != "healthy" and is_recorded(sample.run)]
    verdicts: Counter[str] = Counter()
    for number, sample in enumerate(islice(cycle(healthy), count)):
        try:
            outcome = _against_itself(sample, folder / str(number))
        except (RunFailed, DiagnoseError) as failed:
            print(f"{number}: {sample}: {failed}", file=sys.stderr)
            continue
        said = statistics.verdict(outcome.comparison, UNCHANGED_PRECISION) if outcome else "too few runs"
        verdicts[said] += 1
        print(f"{number}: {sample}: {said}", outcome.comparison if outcome else "", file=sys.stderr)
    return verdicts


def _against_itself(sample: Sample, folder: Path) -> Outcome | None:
    """As `verify` would, with shorter runs."""
    step_ms = float(np.median(load_recording(sample.run).step_ns("plain"))) / 1e6
    steps = max(20, min(300, round(600 / step_ms)))
    bench = Bench(Store(folder), TrialSettings(steps + 10, 10, 1, timeout_s=300), lambda label: None)
    bench = bench.with_settings(fitted(bench.settings, bench.once(_arm(sample), sample.case)))
    # two arms that differ in name only
    return bench.duel(_arm(sample), _arm(sample), UNCHANGED_PRECISION, time.monotonic() + UNCHANGED_S, sample.case)


# ---- the page


def page(found: Sequence[Verified], without: Sequence[str], same: Counter[str] | None) -> str:
    pairs = [pair for one in found for pair in pairs_of(one.case, one.proof)]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    rows = [(one.case, verdict(one.tried), losses(one.tried), _twin(one)) for one in found]
    parts = [
        HEADING,
        "Written by `make verify-samples`: every sick sample whose fix has an automatic form, recorded and verified afresh on "
        f"torch {torch.__version__}, {device}, {os.cpu_count()} cores. *Against its twin*: the sick script with the fix against the "
        "healthy one, run in turns: where no difference is seen, the fix does all that the twin does, as far as the interval tells.",
        table(("case", "with the fix", "losses", "against its twin"), rows),
        "Predicted before, measured after:",
        table(HEADERS, accuracy_rows(pairs)),
        in_sum(pairs) if pairs else "",
        "Left out:\n\n" + "\n".join(f"- {one}" for one in without) if without else "",
        _unchanged(same) if same else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _twin(one: Verified) -> str:
    if one.twin is None:
        return one.twin_verdict
    words = "no difference seen" if one.twin.low <= 0 <= one.twin.high else one.twin_verdict
    return f"{words}, {100 * one.twin.low:+.1f} to {100 * one.twin.high:+.1f} %"


def _unchanged(verdicts: Counter[str]) -> str:
    total = sum(verdicts.values())
    wrong = verdicts["faster"] + verdicts["slower"]
    rows = [(name, str(count), share(count / total)) for name, count in verdicts.most_common()]
    how = f"{total} times, to within {share(UNCHANGED_PRECISION)}"
    told = f"Healthy scripts against themselves, {how}: a change was seen in {share(wrong / total)} (target: at most 5 %)."
    return f"{told}\n\n{table(('verdict', 'times', 'share'), rows)}"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("cases", nargs="*", metavar="case", help="only these (default: all with an automatic fix)")
    options.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    options.add_argument("--budget", type=duration, default=90.0, help="for each verification and each twin (default 90s)")
    options.add_argument("--unchanged", type=int, default=0, metavar="N", help="hold healthy scripts N times against themselves as well")
    given = options.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    by_name = {str(sample): sample for sample in SAMPLES}
    automatic = {rule.id for rule in load_rules().values() if rule.fix.intervention}
    sick = [one for one in samples_for(device) if one.rule in automatic and (one.case in given.cases or not given.cases)]
    found, without = [], []
    with tempfile.TemporaryDirectory() as folder:
        for one in sick:
            result = verified(one, by_name[f"{one.case}/healthy"], Path(folder), given.budget)
            print(f"{one}: {verdict(result.tried) if isinstance(result, Verified) else result}", file=sys.stderr)
            if isinstance(result, Verified):
                found.append(result)
            else:
                without.append(f"`{one.case}`: {result}")
        same = unchanged(given.unchanged, Path(folder)) if given.unchanged else None
    written = page(found, without, same)
    print(written)
    if given.write:
        write_part(PAGE, HEADING, written)


if __name__ == "__main__":
    main()
