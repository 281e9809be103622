"""Calls of a loop that could be one, as the facts tell them: by line, and by the loop that leads there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..line_sums import LINES_AT_MOST
from ..places import Place
from .seen_step import Group


@dataclass
class _Line:
    rounds: int = 0
    group_count: int = 0  # of calls that can be one each
    call_count: int = 0
    ns: int = 0
    sizes_differ_ns: int = 0  # of calls whose results have another shape in each round
    product_count: int = 0  # of the calls those that were tried as one
    product_ns: int = 0
    product_left_ns: float = 0.0


class AtOnce:
    """Adds groups up by their line and the line of the loop by which their rounds come there."""

    def __init__(self) -> None:
        self._lines: dict[tuple[Place, Place], _Line] = {}

    def add(self, group: Group) -> None:
        place = group.site.place
        line = self._lines.setdefault((place, group.loop or place), _Line())
        line.rounds = max(line.rounds, group.count)
        line.group_count += 1
        line.call_count += group.count
        line.ns += group.ns
        line.sizes_differ_ns += 0 if group.same_shape else group.ns
        if group.left is not None:
            line.product_count += group.count
            line.product_ns += group.ns
            line.product_left_ns += group.left * group.ns

    def told(self, lines_ns: dict[Place, int]) -> list[dict[str, Any]]:
        """The costliest ones. ``lines_ns``: what all calls of a line take."""
        costliest = sorted(self._lines.items(), key=lambda item: -item[1].ns)[:LINES_AT_MOST]
        return [
            {
                **place._asdict(),
                **({"loop": loop._asdict()} if loop != place else {}),
                "rounds": line.rounds,
                "group_count": line.group_count,
                "call_count": line.call_count,
                "ns": line.ns,
                "line_ns": lines_ns[place],
                "sizes_differ_ns": line.sizes_differ_ns,
                "product_count": line.product_count,
                "product_ns": line.product_ns,
                "product_left_ns": round(line.product_left_ns),
            }
            for (place, loop), line in costliest
        ]
