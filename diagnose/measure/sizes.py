"""How many numbers tensors have, by the shapes that a trace records as text."""

from __future__ import annotations

import functools
import math
import re

MOST_NUMBERS = 2**59  # of 16 bytes each at most: more is damage, and does not fit a table
_SIDE = re.compile(r"\d{1,18}")


@functools.lru_cache(maxsize=2**16)
def number_counts(shapes: str) -> tuple[int, ...]:
    """Of each input of an event, by a text as `[[64, 3], [3]]`; -1 for one without a
    shape, `MOST_NUMBERS` for more than that.
    """
    parts = [_SIDE.findall(part) for part in shapes.split("]")]
    return tuple(min(math.prod(map(int, sides)), MOST_NUMBERS) if sides else -1 for sides in parts)
