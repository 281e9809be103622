"""What fills memory, as the result document's key `memory`."""

from __future__ import annotations

from diagnose.document import model
from diagnose.measure.memory_parts import TITLES
from diagnose.measure.memory_peak import Holder, MemoryPeak, seen_memory
from diagnose.measure.recording import Recording
from diagnose.measure.sources import Sources


def memory_peaks(recording: Recording, sources: Sources) -> list[model.MemoryPeak]:
    """Empty where nothing was seen."""
    seen = seen_memory(recording)
    return [_peak(peak, sources) for peak in seen.peaks()] if seen else []


def _peak(peak: MemoryPeak, sources: Sources) -> model.MemoryPeak:
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
        holders=[_holder(holder, peak, sources) for holder in peak.holders],
    )


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
