"""What a step gets done, in words: samples a second, and how much of the GPU the model uses. Plain text."""

from __future__ import annotations

from diagnose.document.model import Document
from diagnose.document.queries import launchers
from diagnose.document.text import count, share, significant


def told(document: Document) -> list[str]:
    """As far as known: `2,230 samples/s`, `MFU 31 % (bf16)`."""
    steps, parts = document.steps, []
    if steps.samples_per_s is not None:
        several = document.ranks is not None or launchers(document) > 1
        rate = count(float(f"{steps.samples_per_s:.3g}"))  # three significant digits
        parts.append(f"{rate} samples/s{' per process' if several else ''}")
    if steps.mfu is not None:
        parts.append(f"MFU {share(steps.mfu)} ({steps.mfu_format})")
    return parts


def explained(document: Document) -> list[str]:
    """How the same was worked out."""
    steps, parts = document.steps, []
    if steps.samples_per_step is not None:
        parts.append(f"Samples per step of one process: {count(steps.samples_per_step)}.")
    if steps.model_flop is not None:
        parts.append(
            f"MFU (model FLOPs utilisation): the model needs {significant(steps.model_flop / 1e9)} GFLOP a "
            f"step, {share(steps.mfu)} of what the GPU can compute in {steps.mfu_format} meanwhile."
        )
    return parts
