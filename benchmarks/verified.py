"""What the samples' fixes gain when they are made: Markdown on stdout, with --write in docs/accuracy.md.

    python -m benchmarks verified [--write] [--budget 90s] [--keep FOLDER] [case …]

Each sick script whose fix has an automatic form is recorded, and its fix verified. Then the sick script with
the fix is held against the healthy twin, run in turns. With --unchanged N, healthy scripts are held N times
against themselves: what is said of no change at all. With --keep, what is in that folder already is not
measured again, so that quiet hours add up. `gpu` does the same in tasks.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.pages import on_machine, write_part
from benchmarks.paired import PRECISION as UNCHANGED_PRECISION
from benchmarks.paired import arm, compare_arms
from benchmarks.prediction import PAGE
from benchmarks.samples import SAMPLES, Sample, is_recorded, samples_for
from benchmarks.tables import table
from benchmarks.tasks import diagnosed, recorded
from diagnose.commands.verify import duration
from diagnose.document.model import FixResult
from diagnose.document.text import share
from diagnose.errors import DiagnoseError
from diagnose.judge.rules import load_rules
from diagnose.measure.recording import load_recording
from diagnose.report.accuracy import HEADERS, accuracy_rows, in_sum
from diagnose.report.verification import losses, verdict
from diagnose.verify import statistics
from diagnose.verify.accuracy import pairs_of
from diagnose.verify.deadline import Deadline
from diagnose.verify.paired import RunFailed, TrialRunner
from diagnose.verify.store import Store
from diagnose.verify.trial import TrialSettings

HEADING = "# What fixes gain when they are made"
PRECISION = 0.03
BUDGET_S, UNCHANGED_S = 90.0, 40.0
RECORDING_S = 300.0
NO_TWIN_YET = "not held against it yet"


@dataclass(frozen=True)
class Verified:
    """One case: verify.json, and the sick script with its fix against the healthy twin:
    `statistics.Comparison` as a dict, None where that could not be measured.
    """

    case: str
    proof: dict[str, Any]
    twin: dict[str, Any] | None = None
    twin_verdict: str = NO_TWIN_YET

    @property
    def tried(self) -> FixResult:
        return msgspec.convert(self.proof["tried"][0], FixResult)


def automatic(device: str) -> list[Sample]:
    """The sick samples that show on the device ("cpu" or "cuda") and whose fix a rerun can make."""
    rules = {rule.id for rule in load_rules().values() if rule.fix.intervention}
    return [sample for sample in samples_for(device) if sample.rule in rules]


def twin_of(sick: Sample) -> Sample:
    return next(sample for sample in SAMPLES if sample.case == sick.case and sample.name == "healthy")


def verified(
    sick: Sample, folder: Path, budget_s: float = BUDGET_S, seconds: float = RECORDING_S
) -> Verified | str:
    """Record and verify, each of which may take so many seconds; or why nothing could be measured.

    Raises RuntimeError if either fails, or there was no time to measure.
    """
    run = folder / sick.case
    recorded("--out", str(run), sick.script.name, cwd=sick.script.parent, seconds=seconds, judged=True)
    if sick.rule not in {row["rule"] for row in json.loads((run / "report.json").read_text())["plan"]}:
        return "the rule is not in the plan of this recording"
    options = [
        "--allow",
        "numerics",
        "--budget",
        f"{budget_s:.0f}s",
        "--precision",
        str(PRECISION),
        "--only",
        sick.rule,
    ]
    said = diagnosed("verify", str(run), *options, cwd=sick.script.parent, seconds=seconds + budget_s)
    if not (run / "verify.json").is_file():
        return (said.stderr.strip().splitlines() or ["nothing was tried"])[-1].strip()
    found = Verified(sick.case, json.loads((run / "verify.json").read_text()))
    if found.tried.state == "no_time":
        raise RuntimeError(verdict(found.tried))
    return found if found.tried.state == "measured" else verdict(found.tried)


def against_twin(found: Verified, sick: Sample, folder: Path, budget_s: float = BUDGET_S) -> Verified:
    """The same, with the sick script and its fix held against the healthy one."""
    if sick.other_fix or sick.twin_steps > 1:
        return Verified(found.case, found.proof, None, "the twin does something else")
    tried = found.tried
    if tried.step_from is None or tried.step_to is None:
        return Verified(found.case, found.proof, None, "no steps were compared")
    spec = {"name": tried.intervention, "arguments": tried.arguments, "sites": []}
    settings = TrialSettings(tried.step_to - 1, max(1, tried.step_from - 1), 1, timeout_s=300)
    bench = TrialRunner(Store(folder / "twin" / sick.case), settings, lambda label: None)
    try:
        outcome = bench.compare_arms(
            arm(twin_of(sick).script),
            arm(sick.script, [spec]),
            PRECISION,
            Deadline.after(budget_s),
            sick.case,
        )
    except RunFailed as failed:
        return Verified(found.case, found.proof, None, str(failed))
    if outcome is None:
        return Verified(found.case, found.proof, None, "too few runs")
    return Verified(
        found.case, found.proof, asdict(outcome.comparison), statistics.verdict(outcome.comparison, PRECISION)
    )


def unchanged(count: int, folder: Path) -> Counter[str]:
    """The verdicts on healthy scripts against themselves."""
    healthy = [
        sample
        for sample in samples_for("cpu")
        if not sample.rule and sample.case != "healthy" and is_recorded(sample.run)
    ]
    verdicts: Counter[str] = Counter()
    for number, sample in enumerate(islice(cycle(healthy), count)):
        try:
            result = against_itself(sample, sample.run, folder / str(number))
        except (RunFailed, DiagnoseError) as failed:
            print(f"{number}: {sample}: {failed}", file=sys.stderr)
            continue
        verdicts[result["verdict"]] += 1
        print(f"{number}: {sample}: {result}", file=sys.stderr)
    return verdicts


def against_itself(sample: Sample, run: Path, folder: Path, budget_s: float = UNCHANGED_S) -> dict[str, Any]:
    """The verdict on no change (`paired.compare_arms`).

    ``run``: the sample's recording, which tells how long a step takes. Raises RunFailed.
    """
    step_ms = float(np.median(load_recording(run).step_ns("plain"))) / 1e6
    return compare_arms(sample.script, sample.script, step_ms, folder, budget_s)


# ---- the page


def page(
    found: Sequence[Verified],
    without: Sequence[str],
    same: Counter[str] | None,
    known: dict[str, Any],
    command: str,
) -> str:
    """``known``: the machine, as `machine.machine` tells it; ``command`` wrote this."""
    pairs = [
        pair
        for one in found
        for pair in pairs_of(one.case, msgspec.convert(one.proof["tried"], list[FixResult]))
    ]
    rows = [(one.case, verdict(one.tried), losses(one.tried), _twin(one)) for one in found]
    parts = [
        on_machine(HEADING, known["gpu"]),
        f"Written by `{command}`: every sick sample whose fix has an automatic form, recorded and verified "
        f"afresh on {in_words(known)}. *Against its twin*: the sick script with the fix against the healthy "
        "one, run in turns: where no difference is seen, the fix does all that the twin does, as far as "
        "the interval tells.",
        table(("case", "with the fix", "losses", "against its twin"), rows)
        if rows
        else "Nothing was verified yet.",
        f"Predicted before, measured after:\n\n{table(HEADERS, accuracy_rows(pairs))}\n\n{in_sum(pairs)}"
        if pairs
        else "",
        "Left out:\n\n" + "\n".join(f"- {one}" for one in without) if without else "",
        _unchanged(same) if same else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _twin(one: Verified) -> str:
    if one.twin is None:
        return one.twin_verdict
    low, high = one.twin["low"], one.twin["high"]
    words = "no difference seen" if low <= 0 <= high else one.twin_verdict
    return f"{words}, {100 * low:+.1f} to {100 * high:+.1f} %"


def _unchanged(verdicts: Counter[str]) -> str:
    total = sum(verdicts.values())
    wrong = verdicts["faster"] + verdicts["slower"]
    rows = [(name, str(count), share(count / total)) for name, count in verdicts.most_common()]
    how = f"{total} times, to within {share(UNCHANGED_PRECISION)}"
    told = (
        f"Healthy scripts against themselves, {how}: a change was seen in {share(wrong / total)} (target: "
        "at most 5 %)."
    )
    return f"{told}\n\n{table(('verdict', 'times', 'share'), rows)}"


def _tried(sick: Sample, folder: Path, budget_s: float) -> dict[str, Any]:
    """`Verified` with its twin, as a dict; else `why_not`."""
    try:
        result = verified(sick, folder, budget_s)
    except RuntimeError as error:
        result = str(error).partition("\n")[0]
    print(f"{sick}: {verdict(result.tried) if isinstance(result, Verified) else result}", file=sys.stderr)
    return saved(
        sick, against_twin(result, sick, folder, budget_s) if isinstance(result, Verified) else result
    )


def saved(sick: Sample, result: Verified | str) -> dict[str, Any]:
    """What `verified` gave, as a dict: `Verified`, or `case` and `why_not`."""
    return asdict(result) if isinstance(result, Verified) else {"case": sick.case, "why_not": result}


def told(results: Iterable[dict[str, Any]]) -> tuple[list[Verified], list[str]]:
    """For `page`, of those that were `saved`: what was measured; and the others, with why they were not."""
    found, without = [], []
    for result in results:
        if "why_not" in result:
            without.append(f"`{result['case']}`: {result['why_not']}")
        else:
            found.append(Verified(**result))
    return found, without


def main(arguments: Sequence[str]) -> None:
    options = parser("verified", __doc__)
    options.add_argument(
        "cases", nargs="*", metavar="case", help="only these (default: all with an automatic fix)"
    )
    options.add_argument("--write", action="store_true", help="into docs/accuracy.md")
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="of each case's result, by its name")
    options.add_argument(
        "--budget", type=duration, default=BUDGET_S, help="for each verification and each twin (default 90s)"
    )
    options.add_argument(
        "--unchanged",
        type=int,
        default=0,
        metavar="N",
        help="hold healthy scripts N times against themselves as well",
    )
    given = options.parse_args(arguments)
    known = machine()
    sick = [
        one
        for one in automatic("cuda" if known["gpu"] else "cpu")
        if one.case in given.cases or not given.cases
    ]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        kept = given.keep or Path(folder) / "kept"
        for one in sick:
            file = kept / f"{one.case}.json"
            if not file.is_file():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(_tried(one, Path(folder), given.budget)), encoding="utf-8")
            results.append(json.loads(file.read_text(encoding="utf-8")))
        same = unchanged(given.unchanged, Path(folder)) if given.unchanged else None
    written = page(*told(results), same, known, "python -m benchmarks verified --write")
    print(written)
    if given.write:
        write_part(PAGE, on_machine(HEADING, known["gpu"]), written)
