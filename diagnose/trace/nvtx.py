"""Ranges that torch marks for other profilers (NVTX, and rocTX on AMD's GPUs), as its own events."""

from __future__ import annotations

import re
from typing import NamedTuple

from diagnose.trace.decode import Args

# What torch writes behind a name (torch/csrc/profiler/util.cpp, getNvtxStr); `record_function` has it, too.
_OF_TORCH = re.compile(r"(?P<name>.+?)(?:, seq = (?P<sequence>\d{1,18}))?, op_id = \d+(?:, .*)?$", re.DOTALL)
_OPERATOR = re.compile(r"(::|Backward\d*$)")


class Range(NamedTuple):
    category: str
    name: str
    args: Args | None


def range_of(text: str) -> Range:
    """An operator of torch's by its mark; all else is a range of the user's."""
    torchs = _OF_TORCH.match(text)
    name = torchs["name"] if torchs else text
    if torchs is None or not _OPERATOR.search(name):
        return Range("user_annotation", name, None)
    args = Args(sequence=int(torchs["sequence"])) if torchs["sequence"] else None
    return Range("cpu_op", name, args)
