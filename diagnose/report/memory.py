"""What fills memory, as texts that every report can show."""

from __future__ import annotations

from diagnose.document.model import Document, MemoryHolder, MemoryPeak, MemoryRemedy
from diagnose.document.text import count, ms, quoted, share, size
from diagnose.measure.memory_parts import RAN_OUT
from diagnose.report.operators import Table

HEADING = "What fills memory"
_DURING = {
    "forward": "in the forward",
    "backward": "in the backward",
    "optimizer": "in the optimizer's step",
    "state": "in the optimizer's step",
    "gradients": "in the backward",
    "inputs": "when a batch arrives",
}
_WHOSE = {  # what no line of a step makes
    "parameters": "model",
    "gradients": "model",
    "state": "optimizer",
    "before": "earlier lines",
}
_RAN_OUT_NOTE = (
    "As found when the error was raised: by the variables of the functions that ran, and by what graphs keep "
    "for the backward, which has the name of the function that needs it."
)
_NOTE = (
    "Seen in two steps after the recording. What an operator takes while it runs, and gives back before it "
    "ends, is not in it."
)


_LOWER = "What would lower it, each by itself."
_LOWER_NOTE = (
    "By replaying how tensors come and go. Checkpoints make a block's activations again in its backward; "
    "autocast is an estimate. A smaller batch with gradients accumulated lowers it, too: `whatif --batch`."
)


def ran_out(document: Document) -> bool:
    """What was held when memory ran out: then it is the answer, and no side matter."""
    return any(peak.during == RAN_OUT for peak in document.memory)


def sentence(peak: MemoryPeak) -> str:
    """`Tensors hold at most 194 MiB on the CPU, in the backward: activations 61 %, gradients 20 %.`"""
    device = "the CPU's memory" if peak.device == "cpu" else f"`{peak.device}`"
    if peak.during == RAN_OUT:
        return f"When memory ran out, tensors held {size(peak.tensors_bytes)} of {device}."
    when = f", {_DURING[peak.during]}" if peak.during in _DURING else ""
    return f"Tensors hold at most {size(peak.tensors_bytes)} of {device}{when}."


def tables(document: Document) -> list[Table]:
    return [table for peak in document.memory for table in tables_of(peak)]


def tables_of(peak: MemoryPeak) -> list[Table]:
    """Of a device its parts, then its lines, then what would lower it."""
    parts: list[tuple[str, ...]] = [(part.title, size(part.bytes), share(part.share)) for part in peak.parts]
    parts.append(("All", size(sum(part.bytes for part in peak.parts)), share(1.0)))
    titles = {part.part: part.title for part in peak.parts}
    holders = [_holder(holder, titles) for holder in peak.holders]
    columns = ("Line", "What", "Size", "Of the tensors", "Tensors")
    note = _RAN_OUT_NOTE if peak.during == RAN_OUT else _NOTE
    found = [
        Table(sentence(peak), ("Part", "Size", "Share"), parts, (), named=False),
        Table("Who holds it", columns, holders, (note,)),
    ]
    if peak.remedies:
        columns = ("Change", "To", "Tensors then", "Frees", "A step takes longer")
        lowered = [_remedy(remedy) for remedy in peak.remedies]
        found.append(Table(_LOWER, columns, lowered, (_LOWER_NOTE,), named=False))
    return found


def _holder(holder: MemoryHolder, titles: dict[str, str]) -> tuple[str, ...]:
    known = holder.line is not None
    place = f"{holder.file}:{holder.line}" if known else holder.module or _WHOSE.get(holder.part, "unknown")
    what = titles[holder.part].partition(",")[0]
    module = f" ({quoted(holder.module)})" if holder.module and known else ""
    return place, f"{what}{module}", size(holder.bytes), share(holder.share), count(holder.count)


def _remedy(remedy: MemoryRemedy) -> tuple[str, ...]:
    longer = f"up to {ms(remedy.costs_ms)}" if remedy.costs_ms else "–"
    return remedy.title, remedy.what or "–", size(remedy.peak_bytes), size(remedy.frees_bytes), longer
