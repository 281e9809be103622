"""A table of Nsight Compute as Markdown, and in short for the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.document.text import clean, code, count, ms, prose, quoted, share
from diagnose.profiles.counters import BOUNDS, CountedKernel, CountersSummary
from diagnose.report.blocks import bullets, section, table

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ROWS = 30
_SHORT = 5
_SHORT_NAME = 60
_NOTES = (
    "Nsight Compute runs each kernel alone, several times, and fixes the GPU's clock: times are not those of "
    "the running script. Which kernels matter there, and what leaves the GPU idle, a trace shows.",
    "Bounds are by the thresholds of Nsight Compute's own rule SOLBottleneck (section SpeedOfLight): latency "
    "where neither compute nor memory throughput reaches 60 %, both where they differ by 10 points or less.",
)


def counters_page(summary: CountersSummary) -> str:
    """The whole report."""
    return (
        "\n\n".join(
            filter(
                None,
                [
                    f"# What limits the kernels in {code(summary.file)}",
                    f"**{prose(counters_headline(summary))}**",
                    section("Kernels, by their time", _rows(summary)),
                    section("What that means", *_meanings(summary)),
                    section("How to read it", bullets(_NOTES)),
                ],
            )
        )
        + "\n"
    )


def print_counters(summary: CountersSummary, out: Path, console: Console) -> None:
    """What fits a small terminal."""
    from rich.text import Text

    console.print()
    console.print(Text(clean(counters_headline(summary)).replace("`", ""), style="bold"))
    console.print()
    for kernel in summary.kernels[:_SHORT]:
        console.print(
            Text(f"{share(kernel.share):>7}  {bound_of(kernel):<18}  {clean(kernel.name, _SHORT_NAME)}")
        )
    console.print()
    console.print(Text(f"Report       {out / 'profile.md'}"), soft_wrap=True)


def counters_headline(summary: CountersSummary) -> str:
    first = summary.kernels[0]
    name = quoted(first.name, _SHORT_NAME)
    takes = f", {share(first.share)} of the time measured" if first.share is not None else ""
    if first.bound is None:
        return f"What limits {name} was not measured{takes}."
    return f"{name}{takes}: limited by {bound_of(first)} ({busy(first)})."


def bound_of(kernel: CountedKernel) -> str:
    return next((title for bound, title in BOUNDS.items() if bound == kernel.bound), "not measured")


def busy(kernel: CountedKernel) -> str:
    """`compute 31 %, memory 88 %`."""
    return f"compute {share(kernel.compute)}, memory {share(kernel.memory)}"


def _rows(summary: CountersSummary) -> str:
    shown = summary.kernels[:_MOST_ROWS]
    rows = [
        (
            code(kernel.name),
            ms(kernel.ms),
            share(kernel.share),
            count(kernel.launches),
            share(kernel.compute),
            share(kernel.memory),
            share(kernel.dram),
            share(kernel.occupancy),
            bound_of(kernel),
        )
        for kernel in shown
    ]
    heads = ("Kernel", "Time", "Share", "Launches", "Compute", "Memory", "DRAM", "Occupancy", "Limited by")
    more = len(summary.kernels) + summary.left_out - len(shown)
    return table(heads, rows, right=heads[1:-1]) + (f"\n\n{more:,} more are shorter." if more else "")


def _meanings(summary: CountersSummary) -> list[str]:
    """Each once, with the kernels that it is about."""
    about: dict[str, list[str]] = {}
    for kernel in summary.kernels[:_SHORT]:
        about.setdefault(kernel.meaning, []).append(code(kernel.name, _SHORT_NAME))
    return [f"- {', '.join(names)}: {prose(meaning)}" for meaning, names in about.items()]
