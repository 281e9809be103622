"""What the fixes were measured to gain, in words: the report's section
*Measured*, and the terminal's lines.
"""

from __future__ import annotations

from pathlib import PurePath

from diagnose.document.measurements import predicted_shares
from diagnose.document.model import Comparison, Document, FixResult, Peak, Verification
from diagnose.document.queries import report_folder, shell_line, start_command
from diagnose.document.text import (
    UNKNOWN,
    code,
    count,
    ms,
    prose,
    rough_span,
    share,
    signed_span,
    significant,
    size,
)
from diagnose.fixes.all import FIXES
from diagnose.report.blocks import bullets, folded, section, table
from diagnose.verify.statistics import LOOKS, exceeds, falls_short

MOST_PAIRS = LOOKS[-1]
_LEADS = {
    "not_held": "did not take hold",
    "failed": "failed",
    "not_comparable": "could not be compared",
    "no_time": "not measured",
}
WORK_SHARE = 0.02  # a change of the processor time worth a sentence
MEMORY_SHARE = 0.1  # a change of a peak worth a sentence
START = "fixes.sh"  # beside the report
CORES = "affinity"  # the fix that binds the process to them
MEMORY_BYTES = 50 * 2**20
HOW = (
    "Each fix was made inside a run of the script; the script's files did not change. Runs without (A) and "
    "with the fix (B) came in the order A B B A: each a fresh process, without a profiler, over the same "
    "steps."
)
_MEMORY = {
    "peak_allocated_bytes": "GPU memory in use",
    "peak_reserved_bytes": "GPU memory reserved",
    "peak_resident_bytes": "Host memory",
}


def measured(document: Document) -> str:
    """The section; empty if nothing was verified."""
    proof = document.verification
    if not proof:
        return ""
    rows = [
        (
            _fix(one),
            prose(predicted(one)),
            prose(saved(one)),
            prose(verdict(one)),
            prose(losses(one)),
            pairs(one),
        )
        for one in all_tried(proof)
    ]
    return section(
        "Measured",
        table(("Fix", "Predicted", "Measured", "Verdict", "Losses", "Pairs"), rows, right=["Pairs"]),
    )


def behind(document: Document, *, collapsible: bool) -> str:
    """How it was measured, and what is to be said of it; empty if nothing was verified."""
    if not document.verification:
        return ""
    return folded(
        "How the fixes were measured",
        HOW,
        bullets(remarks(document)),
        holds="runs, noise, memory",
        collapsible=collapsible,
    )


def all_tried(proof: Verification) -> list[FixResult]:
    """Each fix, and last all that are faster together."""
    return [one for one in (*proof.tried, proof.together) if one]


def _fix(result: FixResult) -> str:
    return " ".join(filter(None, [prose(title(result)), code(call(result))]))


def title(result: FixResult) -> str:
    """What was tried, in words; empty where only the call says it."""
    return result.title if result.rule or not result.intervention else ""


def call(result: FixResult) -> str:
    """The same as it was made: `dataloader(num_workers=2)`; empty for several fixes together."""
    arguments = ", ".join(f"{name}={value}" for name, value in result.arguments.items())
    return f"{result.intervention}({arguments})" if result.intervention else ""


def predicted(result: FixResult) -> str:
    """What was predicted when the fix was tried."""
    known = result.predicted_ms
    return rough_span(known.low, known.high) if known else UNKNOWN


def saved(result: FixResult) -> str:
    """`26–30 ms of 62.5 ms`; a dash where nothing was measured, or by too few pairs to say."""
    if result.change is None or _is_unsettled(result, result.change):
        return UNKNOWN
    low, _, high = result.change.saved_ms
    before, after = result.batch_sizes or (None, None)
    samples = "" if before == after else f", for {count(before)} samples" if before else ""
    return f"{signed_span(low, high)} of {ms(result.change.before_ms)}{samples}"


def verdict(result: FixResult) -> str:
    """In words: `faster by 38–42 %`."""
    if result.state == "not_tried":
        return result.why
    if result.state != "measured":
        return f"{_LEADS[result.state]}: {result.why}"
    change = result.change
    assert change is not None
    low, high = change.low, change.high
    if _is_unsettled(result, change):
        lead = "changes the result; " if result.verdict == "changes_result" else ""
        return f"{lead}too noisy to say after {_pairs(change)}; {_how_to_go_on(change)}"
    if result.verdict == "changes_result":
        return f"changes the result; {_effect(low, high)}"
    if result.verdict == "no_such_gain":
        return f"no such gain: {_effect(low, high)}, predicted {_predicted_share(result)}"
    if result.verdict == "less_work" and result.work is not None:
        less = _span(-result.work.high, -result.work.low)
        return (
            f"does {less} % less work (processor time); too noisy to say whether it is faster: "
            f"{_effect(low, high)}"
        )
    if result.verdict == "no_change":
        return f"no change beyond noise (within ± {_percent(max(abs(low), abs(high)))} %)"
    if result.verdict == "too_noisy":
        return f"too noisy to say: {_effect(low, high)}; {_remedy(change.pairs + change.outliers)} would tell"
    return f"{_effect(low, high)}{_beside_predicted(result, change)}"


def _beside_predicted(result: FixResult, change: Comparison) -> str:
    """Where a faster fix gains something else than predicted: `, less than predicted (20–30 %)`."""
    expected = predicted_shares(result)
    if result.verdict != "faster" or expected is None:
        return ""
    if falls_short(change, expected):
        return f", less than predicted ({_predicted_share(result)})"
    return f", more than predicted ({_predicted_share(result)})" if exceeds(change, expected) else ""


def _predicted_share(result: FixResult) -> str:
    expected = predicted_shares(result)
    return f"{_span(*expected)} %" if expected else "more"


def _is_unsettled(result: FixResult, change: Comparison) -> bool:
    """Whether the interval is not worth telling: there are fewer pairs than a verdict needs, and those of two
    or three can span anything, or it is wider than the step itself.
    """
    unsettled = result.verdict == "too_noisy" or (
        result.verdict == "changes_result" and change.low <= 0 <= change.high
    )
    few = change.pairs + change.outliers < LOOKS[0]
    return unsettled and (few or change.high - change.low > 1)


def _pairs(change: Comparison) -> str:
    number = change.pairs + change.outliers
    return f"{count(number)} pair{'s' * (number != 1)}"


def _how_to_go_on(change: Comparison) -> str:
    if change.pairs + change.outliers >= MOST_PAIRS:
        return f"{_remedy(MOST_PAIRS)} would tell"
    return "run the same command again to continue"


def _remedy(pairs: int) -> str:
    return "a quieter machine" if pairs >= MOST_PAIRS else "a larger --budget or a quieter machine"


def _effect(low: float, high: float) -> str:
    """The change of the step time as a range, in plain words."""
    if high < 0:
        return f"faster by {_span(-high, -low)} %"
    if low > 0:
        return f"slower by {_span(low, high)} %"
    return f"between {_percent(-low)} % faster and {_percent(high)} % slower"


def _span(low: float, high: float) -> str:
    ends = [_percent(low), _percent(high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}" if abs(value) >= 0.0995 else f"{100 * value:.1f}"


def losses(result: FixResult) -> str:
    """Whether the results stayed as they were."""
    found = result.results
    if found is None:
        return UNKNOWN
    told = {
        "unknown": "none to compare",
        "other_data": "not compared: with the fix the script sees other batches",
        "unsteady": "differ from run to run without the fix as well",
        "same": f"the same to the bit ({count(found.compared)} compared)",
    }
    deviation = (
        f"by {share(found.deviation)} at most" if found.deviation is not None else "by an unknown amount"
    )
    if found.agreement == "close" and result.safety == "exact":
        return f"deviate {deviation}: sums may be added in another order"
    return told.get(
        found.agreement,
        f"deviate {deviation} (tolerance {share(found.tolerance)}, {count(found.compared)} compared)",
    )


def pairs(result: FixResult) -> str:
    if result.change is None:
        return UNKNOWN
    outliers = result.change.outliers
    return count(result.change.pairs) + (f" (and {count(outliers)} set aside)" if outliers else "")


def remarks(document: Document) -> list[str]:
    """Sentences below the table: how much noise, what makes it doubtful, what the fixes do together."""
    proof = document.verification
    if proof is None:
        return []
    tried = proof.tried
    said = [
        _unfinished(proof),
        _noise(proof),
        *proof.warnings,
        _searched(proof),
        _together(proof),
        _start(document),
        *map(_curve, tried),
        *map(_work, tried),
        *map(_memory, tried),
    ]
    said += [f"{one.title}: {one.why}." for one in all_tried(proof) if one.state == "measured" and one.why]
    if proof.seeded_batches:
        said.append(
            "A fix made the script load other batches. Its losses are of runs that seed the random numbers "
            "of each batch. The column *Losses* says where that did not help."
        )
    if proof.same_losses is False:
        said.append(
            "Two runs without a fix give different losses or outputs, so results cannot be compared to the "
            "bit."
        )
    if proof.interrupted:
        said.append(
            "Interrupted: this shows what was measured until then. Run `python -m diagnose verify` on this "
            "folder again to continue."
        )
    return [sentence for sentence in said if sentence]


def _unfinished(proof: Verification) -> str:
    """What there was no time for, and what to do."""
    late = [one.title for one in all_tried(proof) if one.state == "no_time"]
    if not late or proof.interrupted:
        return ""
    if not proof.runs:
        return "No run of the script ended within the budget: give it a larger --budget."
    return f"Not measured within the budget: {'; '.join(late)}. Run the same command again to continue."


def _noise(proof: Verification) -> str:
    if proof.noise is None:
        return ""
    return (
        f"Noise floor: averages of runs without a fix differ by up to {share(proof.noise)} by chance. "
        f"{count(proof.runs)} runs took {count(round(proof.wall_s))} s."
    )


def _searched(proof: Verification) -> str:
    if not any(result.beside for result in proof.tried):
        return ""
    return (
        "Each fix was tried beside those above it that had been faster; the last row is all of these at once."
    )


def _together(proof: Verification) -> str:
    together = proof.together
    if not (together and together.change) or together.verdict != "faster":
        return ""
    alone = [one.change for one in proof.tried if one.change and one.verdict == "faster"]
    total = sum(change.saved_ms[1] for change in alone)
    low, best, high = together.change.saved_ms
    why = "as much as separately"
    if not low <= total <= high:
        because = "in part they shorten the same time" if best < total else "each makes the others gain more"
        why = f"separately they add up to {significant(total)} ms: {because}"
    return f"Together, the {count(len(alone))} faster fixes save {rough_span(low, high)}, {why}."


def _curve(result: FixResult) -> str:
    """`Step time by num_workers: 1 → 42.0 ms, 2 → 30.1 ms. Best: 2.`, where memory changes much with its
    peak: `64 → 42.0 ms (2.1 GiB)`.
    """
    curve = result.curve
    if not curve or len(curve.ms) < 2:
        return ""
    peaks = curve.peak_bytes.values()
    told = len(peaks) > 1 and max(peaks) - min(peaks) > max(MEMORY_SHARE * min(peaks), MEMORY_BYTES)
    memory = {number: f" ({size(peak)})" for number, peak in curve.peak_bytes.items() if told}
    points = ", ".join(
        f"{number} → {ms(value)}{memory.get(number, '')}" for number, value in curve.ms.items()
    )
    return f"Step time by {curve.argument}: {points}. Best: {curve.knee}."


def _work(result: FixResult) -> str:
    """`Load ahead: 8–12 % more processor time.` where that is certain, and not said by the verdict."""
    work = result.work
    if work is None or result.verdict == "less_work" or work.low <= 0 <= work.high:
        return ""
    if abs(work.change) <= max(WORK_SHARE, work.noise):
        return ""
    less = work.high < 0
    span = _span(-work.high, -work.low) if less else _span(work.low, work.high)
    return f"{result.title}: {span} % {'less' if less else 'more'} processor time."


def _memory(result: FixResult) -> str:
    """What a fix does to the peaks, where that is much."""
    peaks = result.memory or {}
    said = [
        f"{name}, at its peak: {size(peaks[kind].before)} before, {size(peaks[kind].after)} with the fix"
        for kind, name in _MEMORY.items()
        if kind in peaks and _is_much(peaks[kind])
    ]
    return f"{result.title}: {'; '.join(said)}." if said else ""


def _is_much(peak: Peak) -> bool:
    return (
        peak.before is not None
        and peak.after is not None
        and abs(peak.after - peak.before) > max(MEMORY_SHARE * peak.before, MEMORY_BYTES)
    )


def faster_starts(document: Document) -> list[FixResult]:
    """Fixes of the start that were measured to be faster. Without a search each was measured by itself: then
    it is the best of them.
    """
    proof = document.verification
    faster = [
        result
        for result in (proof.tried if proof else [])
        if result.verdict == "faster" and _is_of_start(result)
    ]
    if proof and proof.searched:
        return faster
    return sorted(faster, key=lambda result: result.change.change if result.change else 0.0)[:1]


def _is_of_start(result: FixResult) -> bool:
    fix = FIXES.get(result.intervention)
    return fix is not None and (fix.environment is not None or fix.name == CORES)


def _start(document: Document) -> str:
    """What to type to start the script as it was faster; empty where nothing of the start was."""
    faster = faster_starts(document)
    if not (faster and start_command(document)):
        return ""
    script = shell_line(["sh", str(PurePath(report_folder(document)) / START)])
    return f"`{script}` starts the script with {', '.join(map(call, faster))}."
