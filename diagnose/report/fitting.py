"""Lines that fit a small terminal: what is said least gives way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text


@dataclass(frozen=True)
class Block:
    """Lines that belong together.

    `least`: how many of them stay in any case; the block with the smallest `weight` gives way first.
    """

    lines: Sequence[Text]
    least: int = 1
    weight: int = 0


def fitted(paragraphs: Sequence[Sequence[Block]], height: int) -> list[Text]:
    """All lines, a blank one between paragraphs, at most `height` of them as far as blocks allow; later
    blocks give way before earlier ones of the same weight, each from its end.
    """
    from rich.text import Text

    filled = [
        [block for block in paragraph if block.lines]
        for paragraph in paragraphs
        if any(block.lines for block in paragraph)
    ]
    blocks = [block for paragraph in filled for block in paragraph]
    too_many = sum(len(block.lines) for block in blocks) + len(filled) - 1 - height
    left = {id(block): list(block.lines) for block in blocks}
    for block in sorted(reversed(blocks), key=lambda block: block.weight):
        cut = min(max(0, too_many), max(0, len(block.lines) - block.least))
        too_many -= cut
        left[id(block)] = _first(block.lines, len(block.lines) - cut)
    texts = [[line for block in paragraph for line in left[id(block)]] for paragraph in filled]
    return [line for paragraph in texts if paragraph for line in (Text(), *paragraph)][1:]


def _first(lines: Sequence[Text], count: int) -> list[Text]:
    """The last of them ends with an ellipsis in place of its last word if there were more."""
    from rich.text import Text

    kept = list(lines[:count])
    if 0 < count < len(lines):
        kept[-1] = Text(f"{kept[-1].plain.rpartition(' ')[0]} …", style=kept[-1].style)
    return kept
