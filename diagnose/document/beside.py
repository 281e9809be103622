"""What other recordings of the same run add to the document of a trace: profiles of the CPU, and what Nsight
Compute measured of kernels. Clocks are not aligned: functions and kernels are joined by their names alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from diagnose.document import text
from diagnose.document.model import BesideKind, BesideProfile, BesideRow, Document, Finding, Kernel
from diagnose.measure.kernel_names import short_name
from diagnose.profiles.counters import BOUNDS, CountedKernel, CountersSummary, counted_as
from diagnose.profiles.summary import ProfileSummary
from diagnose.trace.notes import Note

_MOST = 10
_DOMINANT = "dominant-kernel"
BESIDE = "beside"  # the code of its note


def with_beside(document: Document, summaries: Sequence[ProfileSummary | CountersSummary]) -> Document:
    """The document with what these tell of it."""
    tables = [one for one in summaries if isinstance(one, CountersSummary)]
    profiles = [_profile(one) for one in summaries if isinstance(one, ProfileSummary)]
    document = replace(document, beside=profiles)
    if not tables:
        return document
    counted = [kernel for one in tables for kernel in one.kernels]
    kernels = [_measured(kernel, counted) for kernel in document.kernels]
    findings = [_with_bound(finding, document, counted) for finding in document.findings]
    told = Note(code=BESIDE, text=_found(tables, kernels))
    return replace(document, kernels=kernels, findings=findings, notes=[*document.notes, told])


def title_of(kernel: CountedKernel) -> str:
    return next((title for bound, title in BOUNDS.items() if bound == kernel.bound), "")


def _measured(kernel: Kernel, counted: Sequence[CountedKernel]) -> Kernel:
    """Names are short here: kernels that share one count where they are limited by the same."""
    alike = {title_of(one) for one in counted if short_name(one.name) == kernel.name and one.bound}
    return replace(kernel, limited_by=alike.pop()) if len(alike) == 1 else kernel


def _with_bound(finding: Finding, document: Document, counted: list[CountedKernel]) -> Finding:
    name = document.metrics.get("dominant_kernel_name")
    if finding.rule != _DOMINANT or finding.state != "fires" or name is None:
        return finding
    kernel = counted_as(str(name.value), counted)
    if kernel is None or not kernel.bound:
        return finding
    measured = (
        f"Nsight Compute measured what limits it: {title_of(kernel)} (compute {text.share(kernel.compute)}, "
        f"memory {text.share(kernel.memory)} of what the GPU can do). {kernel.meaning}"
    )
    return replace(finding, fix=replace(finding.fix, how=f"{measured} {finding.fix.how}"))


def _found(tables: Sequence[CountersSummary], kernels: Sequence[Kernel]) -> str:
    names = ", ".join(text.clean(one.file) for one in tables)
    known = sum(kernel.limited_by is not None for kernel in kernels)
    whole = sum(kernel.kind == "kernel" for kernel in kernels)
    return (
        f"{names}: what limits it was measured for {known} of the {whole} costliest kernels, by their names."
    )


def _profile(summary: ProfileSummary) -> BesideProfile:
    return BesideProfile(
        file=summary.file,
        profiler=summary.profiler,
        duration_s=summary.duration_s,
        kinds=[BesideKind(title=kind.title, share=kind.share) for kind in summary.account],
        rows=[
            BesideRow(
                file=row.file,
                line=row.line,
                function=row.function,
                share=row.share,
                total_share=row.total_share,
            )
            for row in summary.rows[:_MOST]
        ],
    )
