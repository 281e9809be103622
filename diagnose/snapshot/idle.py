"""What a GPU's allocator keeps in no tensor, by the sizes that it can serve: pieces between tensors are of no
use to larger ones, and segments without a tensor go back to the driver when it asks.

Source of the sizes: c10/cuda/CUDACachingAllocator.h (kSmallSize, kLargeBuffer, kMinLargeAlloc).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

import msgspec

from diagnose.snapshot.reading import Segment

Serves = Literal["small", "middle", "large", "any"]
SERVES: dict[Serves, str] = {
    "small": "up to 1 MiB (segments of 2 MiB)",
    "middle": "from 1 to 10 MiB (segments of 20 MiB)",
    "large": "over 10 MiB (a segment each)",
    "any": "over 1 MiB (expandable segments)",
}
_MIDDLE_SEGMENT = 20 * 2**20


class Idle(msgspec.Struct):
    """Of the segments that serve such sizes, bytes. ``pieces``: how many lie between tensors,
    ``pieces_bytes`` and ``largest`` of them; ``whole_bytes``: of segments without a tensor.
    """

    serves: Serves
    reserved: int
    pieces: int
    pieces_bytes: int
    largest: int
    whole_bytes: int


def idle_by_size(segments: Iterable[Segment]) -> list[Idle]:
    """Most in pieces first."""
    by_size: dict[Serves, list[Segment]] = defaultdict(list)
    for segment in segments:
        by_size[_serves(segment)].append(segment)
    found = [_idle(serves, of_size) for serves, of_size in by_size.items()]
    return sorted(found, key=lambda idle: (-idle.pieces_bytes, -idle.reserved))


def _serves(segment: Segment) -> Serves:
    if segment.segment_type == "small":
        return "small"
    if segment.is_expandable:
        return "any"
    return "middle" if segment.total_size <= _MIDDLE_SEGMENT else "large"


def _idle(serves: Serves, segments: list[Segment]) -> Idle:
    pieces, whole = list[int](), 0
    for segment in segments:
        free = [block.size for block in segment.blocks if block.state == "inactive"]
        if len(free) == len(segment.blocks):
            whole += sum(free)
        else:
            pieces += free
    reserved = sum(segment.total_size for segment in segments)
    return Idle(serves, reserved, len(pieces), sum(pieces), max(pieces, default=0), whole)
