"""What an allocation belongs to, by the stack it was made from: a part of training, and a line of the script.

Stacks may hold frames of C++ and of Python, innermost first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

Part = Literal["parameters", "forward", "backward", "optimizer", "elsewhere", "before"]
TITLES: dict[Part, str] = {
    "parameters": "Moved to the device with a module (parameters, buffers)",
    "forward": "Made in a module's forward (activations, results)",
    "backward": "Made by the backward (gradients, what it needs for them)",
    "optimizer": "Made by the optimizer (its state, what a step needs)",
    "elsewhere": "Made elsewhere (inputs, losses, your own code)",
    "before": "Made before the recording, or without a stack",
}
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib/python3|/torch/|^<(?!ipython)|^\?\?$|^$")
_PYTHON = re.compile(r"\.pyw?$|^<ipython|/ipykernel_\d+/")


@dataclass(frozen=True)
class Origin:
    """``file`` is empty and ``line`` −1 where no line of the script is in the stack."""

    part: Part
    file: str = ""
    line: int = -1
    function: str = ""


NO_STACK = Origin("before")


class Stacks:
    """Origins of stacks, each found once: a snapshot shares them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Origin]] = {}  # by identity, which the kept stack holds

    def origin(self, frames: Any) -> Origin:
        if not isinstance(frames, (list, tuple)) or not frames:
            return NO_STACK
        known = self._known.get(id(frames))
        if known is None:
            known = self._known[id(frames)] = (frames, _origin(frames))
        return known[1]


def _origin(frames: Any) -> Origin:
    """The innermost frame that tells a part, and the innermost line of the script."""
    part: Part | None = None
    place: tuple[str, int, str] | None = None
    for frame in frames:
        if not isinstance(frame, dict):
            continue
        file, name, line = str(frame.get("filename") or ""), str(frame.get("name") or ""), frame.get("line")
        part = part or _part(file.replace("\\", "/"), name)
        is_own = isinstance(line, int) and line > 0 and _PYTHON.search(file) and not _LIBRARY.search(file)
        if place is None and is_own:
            place = (file, int(line or 0), name)
        if part and place:
            break
    return Origin(part or "elsewhere", *(place or ()))


def _part(file: str, name: str) -> Part | None:
    """What this frame tells."""
    if "torch/optim/" in file:
        return "optimizer"
    if name.startswith("torch::autograd::Engine") or name == "_engine_run_backward":
        return "backward"
    if file.endswith("torch/autograd/__init__.py") and name in ("backward", "grad"):
        return "backward"
    if file.endswith("torch/nn/modules/module.py"):
        if name in ("_apply", "convert", "_load_from_state_dict"):
            return "parameters"
        if name in ("_call_impl", "_wrapped_call_impl"):
            return "forward"
    return None
