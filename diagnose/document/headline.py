"""The headline: what slows the script, what share that takes, at which line, and what the fix saves.

At most `MOST_WORDS` words: of several ways to say it, the first that fits.
"""

from __future__ import annotations

from diagnose.document.doubt import OUT_OF_MEMORY
from diagnose.document.leads import (
    HEALTHY,
    LINE_LEADS,
    MODEL_ROWS,
    Lead,
    is_healthy,
    is_spare,
    leading,
    line_of_model,
)
from diagnose.document.model import (
    CUT_RECORDING,
    DAMAGED_RECORDING,
    DISK_FULL,
    GPU_NOT_RECORDED,
    LITTLE_MEMORY,
    NOISY_RUN,
    Document,
    Finding,
    LedgerRow,
    SeldomWork,
)
from diagnose.document.queries import (
    each_step,
    in_group,
    is_complete,
    is_severe_without_ms,
    ledger_ms,
    metric,
    of_recorded,
    planned,
    recorded_inside,
    saw_no_step,
    warming_up,
)
from diagnose.document.ranks import ranks_headline
from diagnose.document.savings import before_ms, gaining_with, is_nothing, span
from diagnose.document.seldom import leading_seldom
from diagnose.document.slowed import slowed_headline
from diagnose.document.text import SELDOM, clean, end_of, rough, rough_part, rough_span, share, short_name
from diagnose.document.unjudged import unjudged
from diagnose.measure.memory_parts import RAN_OUT

MOST_WORDS = 15
# of what was recorded, from which first calls come before any fix: what fixes gain was not measured on a step
# like the later ones
LEADING_SHARE = 0.25
LONGEST_PLACE = 40  # characters
MOST_NAME_WORDS = 4
_FILLERS = {  # of memory
    "activations": "activations",
    "parameters": "parameters",
    "gradients": "gradients",
    "state": "optimizer state",
    "before": "older tensors",
}


def headline_of(document: Document) -> str:
    """One sentence without a full stop: what is at stake and where, or that nothing is.

    Of a run that was watched and became slower, that. Of several ranks, the one that holds up the others; if
    memory ran out, that.
    """
    if not is_complete(document):
        return _nothing_recorded(document)
    if of_run := slowed_headline(document.watched):
        return _first_that_fits(*of_run)
    if of_ranks := ranks_headline(document):
        return _first_that_fits(f"{of_ranks} {_in_brackets(_top_place(document))}", of_ranks)
    finding = next(iter(planned(document)), None)
    if finding is not None and finding.rule == OUT_OF_MEMORY:
        return _ran_out("Memory ran out", document)
    if finding is not None and is_severe_without_ms(finding):
        return _of_finding(finding, document)
    if document.badge == GPU_NOT_RECORDED:
        nothing = "No GPU work was recorded"
        return _first_that_fits(f"{nothing}; on the host {_largest_part(document)}", nothing)
    lead = leading(document)
    if cold := _first_calls(document, lead):
        return cold
    if work := leading_seldom(document):
        return _of_seldom(work)
    if lead:
        return _of_lead(lead, document)
    if finding is None:
        return _nothing_planned(document)
    return _of_small(finding, document) or _of_finding(finding, document)


def _of_lead(lead: Lead, document: Document) -> str:
    """Who spends most of what a step need not take: `aten::cat takes 57 % of each step (Python); …`."""
    if lead.row in MODEL_ROWS:
        return _of_line(lead, document)
    name, takes = _spender(lead.name), f"takes {share(lead.share)} of {each_step(document)}"
    known = lead.headroom_ms is not None and lead.headroom_ms >= HEALTHY * lead.ms
    gains = f"; up to {rough_part(lead.headroom_ms or 0.0, lead.ms)} ms to gain" if known else ""
    row = _title(next(row for row in document.ledger if row.row == lead.row))
    return _first_that_fits(
        f"{name} {takes} ({row}){gains}",
        f"{name} {takes}{gains}",
        f"{name}: {share(lead.share)} of {each_step(document)}{gains}",
        f"{name}: {share(lead.share)}{gains}",
        f"{name} {takes} ({row})",
        f"{name} {takes}",
    )


def _of_seldom(work: SeldomWork) -> str:
    """`control.py:62 takes 91 % of the average step (collecting data); no rule knows a fix`."""
    takes = f"{_word(f'{work.file}:{work.line}')} takes {share(work.share)} of the average step"
    what = f"{takes} ({SELDOM[work.kind]})"
    return _first_that_fits(f"{what}; no rule knows a fix", what, takes)


def _of_line(lead: Lead, document: Document) -> str:
    """What is the step's own work is not said to be spare: `model.py:23 takes 46 % of each step (mostly
    aten::index_put); fix 1 saves 2.1 ms`.
    """
    takes = f"{_spender(lead.name)} takes {share(lead.share)} of {each_step(document)}"
    mostly = f" (mostly {short_name(lead.mostly)})" if lead.mostly else ""
    first = next(iter(planned(document)), None)
    saves = _saves(first, document) if first else ""
    fix = f"; fix 1 {saves}" if saves else ""
    return _first_that_fits(f"{takes}{mostly}{fix}", f"{takes}{fix}", takes)


def _spender(name: str) -> str:
    """A name as the subject of a sentence of few words."""
    words = short_name(name).split()
    if len(words) > MOST_NAME_WORDS:
        words = [*words[:MOST_NAME_WORDS], "…"]
    said = clean(" ".join(words), LONGEST_PLACE)
    if said.startswith("after "):
        return f"Time {said}"
    return f"The {said}" if said.startswith("backward of ") else said


def _first_calls(document: Document, lead: Lead | None) -> str:
    """`First calls take 74 % of the recording; record later steps`; empty where something else is more."""
    part = warming_up(document)
    if part is None or (part < LEADING_SHARE and (document.plan or (lead and lead.share > part))):
        return ""
    rows = {row.row: row.share for row in document.ledger}
    compiles = rows.get("compilation", 0.0) > rows.get("first_calls", 0.0)
    what = "Compilation and graph capture" if compiles else "First calls"
    return f"{what} take {share(part)} of {of_recorded(document)}; record later steps"


def _of_small(finding: Finding, document: Document) -> str:
    """Where the best fix is about little, the largest part of the step comes first: `87 % of each step is
    compute; fix 1 (zeroing gradients) saves 4.2–5.3 ms`. Else empty.
    """
    saves = _saves(finding, document)
    if finding.severity != "low" or not saves:
        return ""
    part, cause = _largest_part(document), _within(finding.cause)
    short = part.replace(f" of {each_step(document)}", "")
    return _first_that_fits(
        f"{part}; fix 1 ({cause}) {saves}", f"{short}; fix 1 ({cause}) {saves}", f"{part}; fix 1 {saves}"
    )


def _of_finding(finding: Finding, document: Document) -> str:
    cause, where = finding.cause, _in_brackets(_top_place(document))
    takes, saves = _takes(finding, document), _saves(finding, document)
    if not takes:
        return _first_that_fits(
            f"{cause} {where}; the fix {saves}" if saves else f"{cause} {where}; {_largest_part(document)}",
            f"{cause} {where}",
        )
    shares = [f"{cause} takes {takes} {where}", f"{cause}: {takes} {where}"]
    whole = [f"{way}; {fix} {saves}" for fix in ("the fix", "fix") for way in shares] if saves else shares
    ranks = document.ranks.world_size if document.ranks else 1
    of_job = [f"{ranks:,} ranks; {_within(way)}" for way in whole] if ranks > 1 else []
    part = takes.partition(" of ")[0]
    short = [f"{cause}: {part} {where}; fix {saves}", f"{cause} {where}; the fix {saves}"] if saves else []
    return _first_that_fits(*of_job, *whole, *short, *shares, f"{cause}: {takes}")


def _within(sentence: str) -> str:
    """As the rest of a sentence, but for names: `Loading` becomes `loading`, `GPU` stays."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _takes(finding: Finding, document: Document) -> str:
    """What share the finding takes, `56 % of each step`; empty where that is not known."""
    average = finding.saving.scope == "average"
    if finding.ms_per_step is None or finding.saving.scope not in ("step", "average"):
        return ""
    whole_ms = before_ms(finding, document)
    if is_nothing(finding.ms_per_step) or not whole_ms:
        return ""
    whole = "the average step" if average else each_step(document)
    return f"{share(min(1.0, finding.ms_per_step / whole_ms))} of {whole}"


def _saves(finding: Finding, document: Document) -> str:
    """`saves 31–36 ms`, `saved …` where that was measured; empty where nothing is known of it alone."""
    known = finding.saving
    if known.measured_ms is not None:
        low, high = known.measured_ms.low, known.measured_ms.high
        return f"saved {rough_span(low, high)}" if low > 0 else ""
    if known.predicted_ms is not None:
        low, high = known.predicted_ms.low, known.predicted_ms.high
        return _saves_with_others(document) if is_nothing(high) else f"saves {span(low, high)}"
    if document.prediction_missing or is_nothing(known.at_most_ms) or known.at_most_ms is None:
        return ""
    return f"saves up to {rough(known.at_most_ms)} ms"


def _saves_with_others(document: Document) -> str:
    """Of a first fix that gains nothing alone: `saves 6.2 ms with fix 2`; empty where none helps."""
    number = gaining_with(document, 1)
    saved_ms = document.plan[number - 1].cumulative_ms or 0.0
    return "" if is_nothing(saved_ms) else f"saves {span(saved_ms, saved_ms)} with fix {number}"


def _nothing_planned(document: Document) -> str:
    """The largest part of the step and who spends it, and why there is no fix."""
    row = max(document.ledger, key=lambda part: part.share)
    spenders = next((account.spenders for account in document.account if account.row == row.row), [])
    name = spenders[0].name if spenders and spenders[0].share > row.share / 2 else ""
    if row.row == "backward":
        name = name.replace("backward of ", "that of ", 1)
    most = f", most in {_spender(name)}" if name else ""
    part, lacking = _largest_part(document), unjudged(document)
    if not is_healthy(document) and is_spare(row.row, document):
        why = f"; {lacking}" if lacking else ", in many small parts"
        return f"{share(row.share)} of {each_step(document)} is {_title(row)}{why}"
    name, of_it = _costliest_line(document)
    takes = [f"{name} takes {share(of_it)} of {each_step(document)}"] if of_it >= LINE_LEADS else []
    line = f", costliest line {name}" if name else most
    why = lacking or _why_nothing(document, line_leads=bool(takes))
    return _first_that_fits(*(f"{told}; {why}" for told in (*takes, part + line, part)))


def _why_nothing(document: Document, *, line_leads: bool) -> str:
    """Why nothing is advised. ``line_leads``: whether a line is worth a headline."""
    if is_healthy(document) and (document.badge == NOISY_RUN or in_group(document, "minor")):
        return "no fix beats the noise"
    if line_leads or line_of_model(document) is not None:
        return "no rule knows a fix"
    return "nothing worth fixing" if is_healthy(document) else "the rest is small parts"


def _costliest_line(document: Document) -> tuple[str, float]:
    """The line that takes most with its backward, and its share of the step; no name where none is known."""
    own = [line for line in document.lines if not line.is_part and line.self_ms > 0]
    if not own:
        return "", 0.0
    line = max(own, key=lambda line: line.self_ms + line.backward_ms)
    whole_ms = ledger_ms(document) or 0.0
    of_it = (line.self_ms + line.backward_ms) / whole_ms if whole_ms else 0.0
    return _word(f"{line.file}:{line.line}"), of_it


def _largest_part(document: Document) -> str:
    """`47 % of each step is backward`."""
    row = max(document.ledger, key=lambda part: part.share)
    return f"{share(row.share)} of {each_step(document)} is {_title(row)}"


def _title(row: LedgerRow) -> str:
    return row.title if row.row == "python" else _within(row.title)


def _ran_out(what: str, document: Document) -> str:
    """With the line, and with what most of it was for."""
    told = f"{what} {_in_brackets(_top_place(document))}".rstrip()
    part, of_it, all_of_it = (
        metric(document, name) for name in ("memory_filled_by", "memory_filled_bytes", "memory_tensor_bytes")
    )
    if part in _FILLERS and of_it and all_of_it and any(peak.during == RAN_OUT for peak in document.memory):
        held = f"{share(float(of_it) / float(all_of_it))} is {_FILLERS[str(part)]}"
        return _first_that_fits(f"{told}: {held}", told)
    return told


def _nothing_recorded(document: Document) -> str:
    """Why there is nothing to judge."""
    target, ended = _word(document.run.target), document.run.ended
    if metric(document, "memory_error"):
        return _ran_out("Memory ran out before a complete step was recorded", document)
    if document.plan:
        cause, where = planned(document)[0].cause, _in_brackets(_top_place(document))
        return _first_that_fits(f"{cause} {where}; no complete step was recorded", f"{cause} {where}")
    if document.badge == DISK_FULL:
        return "The disk was full before a complete step was recorded"
    if document.badge == LITTLE_MEMORY:
        return "Recording one step would have taken too much memory"
    if document.badge == CUT_RECORDING:
        return "The recording is cut off, and no step in it is whole"
    if document.badge == DAMAGED_RECORDING:
        return "The recording is damaged, and no step in it can be judged"
    what = "The recorded block" if recorded_inside(document) else "The script"
    if ended in ("crashed", "killed"):
        return (
            f"{what} {'failed' if ended == 'crashed' else 'was killed'} before a complete step was recorded"
        )
    if document.run.torch_imported is False:
        return f"{target} never imported torch, so there was nothing to record"
    if saw_no_step(document) and not recorded_inside(document):
        return f"No step was seen in {target}: no optimizer step, backward or forward of a module"
    if ended in ("timeout", "interrupted"):
        how = "was timed out" if ended == "timeout" else "was interrupted"
        return f"{what} {how} before a complete step was recorded"
    return "No complete step was recorded, so there is nothing to judge"


def _top_place(document: Document) -> str:
    """The line that the plan's first row names; empty where none is known."""
    return _word(document.plan[0].where or "") if document.plan else ""


def _in_brackets(place: str) -> str:
    return f"({place})" if place else ""


def _word(name: str) -> str:
    """A path's end, as one word and whole folders if possible: `…/models/attention.py:41`."""
    shown = end_of(name, LONGEST_PLACE)
    if shown.startswith("…") and "/" in shown:
        shown = f"…{shown[shown.index('/') :]}"
    parts = shown.split()
    return "" if not parts else parts[0] if len(parts) == 1 else f"…{parts[-1].removeprefix('…')}"


def _first_that_fits(*ways: str) -> str:
    """The first with few enough words, without the gaps that unknown parts leave; else the last one, cut."""
    said = [" ".join(way.replace(" ;", ";").split()) for way in ways if way]
    last = " ".join(said[-1].split()[:MOST_WORDS])
    return next((way for way in said if len(way.split()) <= MOST_WORDS), last)
