"""A snapshot of a GPU's memory as Markdown."""

from __future__ import annotations

import os

from diagnose.document.text import code, seconds, share, size
from diagnose.report.blocks import table
from diagnose.snapshot.idle import SERVES, Idle
from diagnose.snapshot.stacks import TITLES
from diagnose.snapshot.summary import DeviceMemory, Failure, Growing, Holder, Summary, advice


def snapshot_page(summary: Summary) -> str:
    """All devices, one after the other."""
    parts = [f"# Memory in {code(summary.file)}"]
    for memory in summary.devices:
        parts += _device(memory)
    if not summary.devices:
        parts.append("Nothing is allocated in it, and no event was recorded.")
    return "\n\n".join(parts) + "\n"


def _device(memory: DeviceMemory) -> list[str]:
    start = _common_start([holder.file for holder in memory.holders if holder.line > 0])
    return [
        f"## GPU {memory.device}",
        _headline(memory),
        *([_failed(memory.out_of_memory, start)] if memory.out_of_memory else []),
        "### What fills it at the peak",
        table(
            ("Part", "Size", "Share"),
            [
                *((row.title, size(row.bytes), share(row.share)) for row in memory.ledger),
                ("**All that is reserved**", f"**{size(memory.reserved)}**", "**100 %**"),
            ],
            right=("Size", "Share"),
        ),
        "### Who holds it",
        table(
            ("Line", "Function", "What", "Size", "Tensors"),
            [_holder(holder, start) for holder in memory.holders],
            right=("Size", "Tensors"),
        ),
        *_growing(memory.growing, start),
        *_idle(memory.idle_by_size),
        *_advised(advice(memory), start),
    ]


def _headline(memory: DeviceMemory) -> str:
    if not memory.events:
        return (
            f"**{size(memory.allocated)} in tensors, {size(memory.reserved)} reserved.** No events were "
            "recorded: this is how it was when the snapshot was taken, and the peak is not known."
        )
    when = f", {seconds(memory.peak_s)} after the first event" if memory.peak_s is not None else ""
    over = f" over {seconds(memory.recorded_s)}" if memory.recorded_s is not None else ""
    return (
        f"**At most {size(memory.allocated)} in tensors{when}; {size(memory.reserved)} reserved then.** "
        f"{memory.events:,} events{over} were recorded."
    )


def _failed(failed: Failure, start: str) -> str:
    left = f"; the device had {size(failed.device_free)} left" if failed.device_free is not None else ""
    at = f" at {code(failed.where.removeprefix(start))}" if failed.where else ""
    return (
        f"**Out of memory{at}**: {size(failed.wanted)} were asked for{left}. {size(failed.allocated)} were "
        f"in tensors, and {size(failed.idle)} were reserved but in none."
    )


def _holder(holder: Holder, start: str) -> tuple[str, ...]:
    known = holder.line > 0
    place = code(f"{holder.file.removeprefix(start)}:{holder.line}") if known else "no line of yours is known"
    title = next(title for part, title in TITLES.items() if part == holder.part)
    function = code(holder.function) if holder.function else "–"
    return place, function, title.partition(" (")[0], size(holder.bytes), f"{holder.count:,}"


def _growing(lines: list[Growing], start: str) -> list[str]:
    heads = ("Line", "After a quarter", "Half", "Three quarters", "At the end")
    rows = [
        (code(f"{line.file.removeprefix(start)}:{line.line}"), *(size(held) for held in line.quarters))
        for line in lines
    ]
    return ["### What grows", table(heads, rows, right=heads[1:])] if rows else []


def _idle(by_size: list[Idle]) -> list[str]:
    heads = (
        "Serves tensors",
        "Reserved",
        "Idle between tensors",
        "Pieces",
        "Largest piece",
        "Without a tensor",
    )
    rows = [
        (
            SERVES[idle.serves],
            size(idle.reserved),
            size(idle.pieces_bytes),
            f"{idle.pieces:,}",
            size(idle.largest),
            size(idle.whole_bytes),
        )
        for idle in by_size
    ]
    note = (
        "At the end of the recording. A piece between tensors serves only what fits into it. Segments "
        "without a tensor are given back before memory runs out. `torch.cuda.empty_cache()` does so at "
        "once, which helps other programs on the GPU, and not this one."
    )
    return ["### What lies idle", table(heads, rows, right=heads[1:]), note] if rows else []


def _advised(advised: list[str], start: str) -> list[str]:
    told = [f"{number}. {text.removeprefix(start)}" for number, text in enumerate(advised, 1)]
    return ["### What to do", "\n".join(told)] if told else []


def _common_start(files: list[str]) -> str:
    """The folder that all of them lie in, which need not be told at every line."""
    folders = {os.path.dirname(file) for file in files}
    try:
        common = os.path.commonpath(folders) if folders else ""
    except ValueError:  # of several drives
        return ""
    return f"{common}/" if len(common) > 1 else ""
