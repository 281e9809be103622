"""What memory is for: parts of `diagnose.measure.memory_peak`. It imports nothing, for reports read it."""

from __future__ import annotations

TITLES = {
    "parameters": "Parameters and buffers",
    "gradients": "Gradients",
    "state": "State of the optimizer",
    "inputs": "Inputs",
    "activations": "Activations, made in the forward and still held",
    "forward": "Passing through the forward",
    "backward": "Passing through the backward",
    "optimizer": "Passing through the optimizer's step",
    "elsewhere": "Made by other lines of the step",
    "before": "Held from before the step",
    "cached": "Reserved by the allocator, in no tensor",
    "unseen": "Counted by the allocator, in no tensor that was seen",
    "outside": "Outside tensors: Python, libraries, arrays, what is freed and kept",
}
NO_TENSORS = ("cached", "unseen", "outside")
RAN_OUT = "ran_out"
