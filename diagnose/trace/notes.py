"""What a reader of numbers should know of how they came about."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

GPU_UNRECORDED = "gpu-unrecorded"
HOST_AHEAD = "host-ahead"
CUT_OFF = "cut-off"
DAMAGED = "damaged"
MERGED = "merged"
UNSEEN_WORK = "unseen-work"

# How steps are marked, by framework.
MARK_STEPS = {
    "torch": "Call profiler.step() after each step to be sure.",
    "tensorflow": "Run each step in `tf.profiler.experimental.Trace('train', step_num=N, _r=1)` to be sure.",
    "jax": "Run each step in `jax.profiler.StepTraceAnnotation('train', step_num=N)` to be sure.",
}


class Note(Struct, frozen=True):
    """What was lost, repaired or assumed, or what makes numbers doubtful."""

    code: Annotated[str, Meta(description="What it is about, for programs; empty where none needs to know.")]
    text: Annotated[str, Meta(description="In sentences.")]
