"""What would lower the peak, and by how much: the storages' coming and going replayed with some of them
smaller, shorter or gone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.measure.held_bytes import held_bytes
from diagnose.measure.memory_peak import MemoryLook, Span

TEXTS = {
    "checkpoint": "Checkpoint the blocks: checkpoint(block, x, use_reentrant=False)",
    "fused": "A fused optimizer (fused=True)",
    "eight_bits": "An optimizer with a state of 8 bits (torchao, bitsandbytes)",
    "zero_grad_first": "zero_grad() before the forward, not only before the backward",
    "autocast": "torch.autocast with bfloat16",
}
LEAST_BYTES = 256 * 2**20  # of the peak: below that nobody runs out
LEAST = 0.05  # of the peak: what frees less is not worth the trouble
EIGHT_BITS = 0.26  # of 32: with a scale for every 256 numbers
# "encoder.layers.3.linear1" is in the block "encoder.layers.3"
_BLOCK = re.compile(r"^((?:[^.\d][^.]*\.)*\d+)(?:\.|$)")


@dataclass(frozen=True)
class Remedy:
    """``name``: of `TEXTS`; ``what``: it is done to; ``peak_bytes``: of tensors, then; ``forwards``: how many
    more forwards a step takes, at most.
    """

    name: str
    what: str
    peak_bytes: int
    forwards: float = 0.0


def remedies(look: MemoryLook, device: str) -> list[Remedy]:
    """Those that free at least `LEAST` of the peak, what frees most first; none of memory that ran out, of
    which no step was seen.
    """
    if look.ran_out:
        return []
    spans = list(look.spans(device))
    now = _peak(spans)
    found = [*_checkpoints(spans), *_optimizer(spans), *_gradients(spans), *_half(spans)]
    worth = [remedy for remedy in found if now - remedy.peak_bytes >= LEAST * now]
    return sorted(worth, key=lambda remedy: remedy.peak_bytes)


class Checkpointing:
    """A device's blocks of layers, what keeps most first, and the peak of tensors with some checkpointed."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = spans
        freed: dict[str, dict[int, list[Span]]] = defaultdict(dict)  # by block and step: all but its result
        for (step, block), kept in _by_block(spans).items():
            freed[block][step] = kept[:-1]
        self._freed = {block: freed[block] for block in freed if any(freed[block].values())}
        self.blocks = sorted(self._freed, key=lambda block: -self.bytes_of(block))

    def bytes_of(self, block: str) -> int:
        """What the block keeps for the backward but for its result, in the step in which that is most."""
        return max(sum(span.bytes for span in kept) for kept in self._freed[block].values())

    def peak_bytes(self, count: int) -> int:
        """With the first ``count`` blocks checkpointed."""
        return _peak(_checkpointed(self._spans, [self._freed[block] for block in self.blocks[:count]]))

    def fewest(self, most_bytes: int) -> int | None:
        """How many blocks have to be for the peak to stay within ``most_bytes``; None if all are too few."""
        counts = range(len(self.blocks) + 1)
        return next((count for count in counts if self.peak_bytes(count) <= most_bytes), None)


def checkpointing(look: MemoryLook, device: str) -> Checkpointing:
    return Checkpointing(list(look.spans(device)))


def _checkpoints(spans: list[Span]) -> Iterator[Remedy]:
    """Of all blocks of layers, and of those that free the most: half of them cost half as much."""
    found = Checkpointing(spans)
    whole = len(found.blocks)
    for count in sorted({whole, whole // 2} - {0}, reverse=True):
        of_all = f" ({count} blocks)" if count == whole else f" ({count} of {whole} blocks)"
        name = f"{found.blocks[0]} …{of_all}" if whole > 1 else found.blocks[0]
        yield Remedy("checkpoint", name, found.peak_bytes(count), forwards=count / whole)


def _by_block(spans: list[Span]) -> dict[tuple[int, str], list[Span]]:
    """What each block's layers keep for the backward of a step, oldest first."""
    inside: dict[tuple[int, str], list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: span.begin):
        block = _BLOCK.match(span.module)
        if span.part == "activations" and block:
            inside[span.step, block[1]].append(span)
    return inside


def _checkpointed(spans: list[Span], blocks: list[dict[int, list[Span]]]) -> list[Span]:
    """What blocks keep is gone, and made again when its backward comes, one block after the other."""
    gone = {id(span) for block in blocks for kept in block.values() for span in kept}
    left = [span for span in spans if id(span) not in gone]
    for kept in (kept for block in blocks for kept in block.values() if kept):
        first = kept[0]
        if first.backward < 0:
            continue
        # the block's backward: from where the blocks behind it are done to the last that it lets go
        ends = [min(max(span.end, first.backward), first.backward_end) for span in kept]
        done = [
            span.end
            for span in spans
            if span.step == first.step and span.part == "activations" and span.end < min(ends)
        ]
        begin = max([first.backward, *done])
        left.append(first._replace(bytes=sum(span.bytes for span in kept), begin=begin, end=max(ends)))
    return left


def _optimizer(spans: list[Span]) -> Iterator[Remedy]:
    yield Remedy("fused", "", _peak([span for span in spans if span.part != "optimizer"]))
    smaller = [_scaled(span, EIGHT_BITS) if span.part == "state" else span for span in spans]
    yield Remedy("eight_bits", "", _peak(smaller))


def _gradients(spans: list[Span]) -> Iterator[Remedy]:
    """Gradients of the step before go before the forward, and not only before the backward."""
    begins = {span.step: span.step_begin for span in spans if span.step >= 0}

    def earlier(span: Span) -> Span:
        following = next((begin for begin in sorted(begins.values()) if begin > span.begin), None)
        if span.part != "gradients" or following is None or span.end <= following:
            return span
        return span._replace(end=following)

    yield Remedy("zero_grad_first", "", _peak([earlier(span) for span in spans]))


def _half(spans: list[Span]) -> Iterator[Remedy]:
    """What forward and backward compute takes 16 bits; parameters have a copy of 16 bits meanwhile."""
    halved = [
        _scaled(span, 0.5) if span.part in ("activations", "forward", "backward") else span for span in spans
    ]
    copies = sum(span.bytes for span in spans if span.part == "parameters") / 2
    yield Remedy("autocast", "", round(_peak(halved) + copies))


def _scaled(span: Span, factor: float) -> Span:
    return span._replace(bytes=round(span.bytes * factor))


def _peak(spans: list[Span]) -> int:
    last = max((max(span.begin, span.end) for span in spans), default=0)
    sizes, begins, ends = ([getattr(span, of) for span in spans] for of in ("bytes", "begin", "end"))
    return int(held_bytes(sizes, begins, ends, last + 1).max())
