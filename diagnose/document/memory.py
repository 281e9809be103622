"""What fills memory, as the result document's key `memory`."""

from __future__ import annotations

from diagnose.document import model
from diagnose.measure.memory_parts import TITLES
from diagnose.measure.memory_peak import Holder, MemoryLook, MemoryPeak
from diagnose.measure.memory_remedies import LEAST_BYTES, TEXTS, remedies
from diagnose.measure.sources import Sources


def memory_peaks(
    seen: MemoryLook | None, sources: Sources, forward_ms: float | None = None
) -> list[model.MemoryPeak]:
    """``forward_ms``: of a step, if it is known."""
    return [_peak(peak, seen, sources, forward_ms) for peak in seen.peaks] if seen else []


def _peak(peak: MemoryPeak, seen: MemoryLook, sources: Sources, forward_ms: float | None) -> model.MemoryPeak:
    worth = remedies(seen, peak.device) if peak.tensors >= LEAST_BYTES else []
    return model.MemoryPeak(
        device=peak.device,
        during=peak.during,
        tensors_bytes=peak.tensors,
        parts=[
            model.MemoryPart(
                part=part.part, title=TITLES[part.part], bytes=part.bytes, share=part.bytes / peak.total
            )
            for part in peak.parts
        ],
        curve=_curve(peak),
        holders=[_holder(holder, peak, sources) for holder in peak.holders],
        remedies=[
            model.MemoryRemedy(
                name=remedy.name,
                title=TEXTS[remedy.name],
                what=remedy.what,
                peak_bytes=remedy.peak_bytes,
                frees_bytes=peak.tensors - remedy.peak_bytes,
                costs_ms=remedy.forwards * forward_ms if remedy.forwards and forward_ms else None,
            )
            for remedy in worth
        ],
    )


def _curve(peak: MemoryPeak) -> model.MemoryCurve | None:
    curve = peak.curve
    return model.MemoryCurve(bytes=curve.bytes, peak=curve.peak, backward=curve.backward) if curve else None


def _holder(holder: Holder, peak: MemoryPeak, sources: Sources) -> model.MemoryHolder:
    known = holder.line > 0
    return model.MemoryHolder(
        file=sources.shown(holder.file) if known else None,
        line=holder.line if known else None,
        function=holder.function,
        source=sources.line(holder.file, holder.line) if known else "",
        module=holder.module,
        part=holder.part,
        bytes=holder.bytes,
        share=holder.bytes / peak.tensors,
        count=holder.count,
    )
