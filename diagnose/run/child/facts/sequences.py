"""What the sequences that models are given tell: padding that all rows of a batch share, and the same
sequence given again, longer by one.
"""

from __future__ import annotations

from collections import Counter
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..guard import attempt
from ..places import NOWHERE, Place, Places
from ..source.frame_values import forget_locals

# Batches are kept until all is recorded, for looking at them is work of its own.
_BATCHES_AT_MOST, _BYTES_AT_MOST = 8, 1_000_000  # of a model at a line; of a batch
_KEEPERS_AT_MOST = 4
_ROWS_AT_LEAST, _LENGTH_AT_LEAST = 4, 16
_LINES_AT_MOST = 20

Shapes = tuple[tuple[int, ...], ...]


class _Padding(NamedTuple):
    """Of a batch. ``length``: of its sequences; ``longest``: without what is padding in all rows; ``filled``:
    share of what is no padding at all.
    """

    length: int
    longest: int
    filled: float


class Sequences:
    """Sees the tensors that each call of a model is given."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._last: dict[int, Shapes] = {}  # by model
        self.forget()

    def forget(self) -> None:
        """Start counting again."""
        self._calls: Counter[Place] = Counter()
        self._longer: Counter[Place] = Counter()
        self._lengths: Counter[Place] = Counter()  # of the longer ones, summed up
        self._batches: dict[tuple[int, Place], list[Tensor]] = {}  # by model
        self._callers: dict[tuple[int, Place], Place] = {}  # of the models around it, likewise
        self._elements = 0  # of batches of sequences, given since they were taken last

    def begin(self) -> None:
        """Calls were missed, or weights change: what comes is compared with none before."""
        self._last.clear()
        self._elements = 0

    def call(self, model: int, tensors: list[Tensor], place: Place, frame: FrameType | None = None) -> None:
        """Before a call of the model (its id)."""
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        length = _longer_by_one(self._last.get(model, ()), shapes)
        self._last[model] = shapes
        self._calls[place] += 1
        self._longer[place] += length > 0
        self._lengths[place] += length
        sequences = max(filter(_is_batch_of_sequences, tensors), key=_has_rows_first, default=None)
        key = model, place
        if sequences is None:
            return
        self._elements += sequences.numel()
        if key in self._batches or len(self._batches) < _KEEPERS_AT_MOST:
            if key not in self._batches:
                self._callers[key] = _outside_models(frame, self._places)
            kept = self._batches.setdefault(key, [])
            if len(kept) < _BATCHES_AT_MOST:
                kept.append(sequences.detach())  # not what it was computed from

    def taken_elements(self) -> int:
        """How many elements batches of sequences had, padding included, of each call the first one, since
        this was last called.
        """
        elements, self._elements = self._elements, 0
        return elements

    def facts(self) -> dict[str, Any]:
        """``longer``: lines whose calls give a model what the call before gave, longer by one, ``length`` on
        average. ``padded``: lines that give it batches of sequences, and the lines outside of all models that
        lead there (``caller``); all numbers are means over batches.
        """
        return {
            "longer": [
                {
                    **place._asdict(),
                    "count": count,
                    "share": count / self._calls[place],
                    "length": self._lengths[place] / count,
                }
                for place, count in self._longer.most_common(_LINES_AT_MOST)
                if count
            ],
            "padded": [
                {**key[1]._asdict(), "caller": self._callers[key]._asdict(), **padded}
                for key, batches in self._batches.items()
                if (padded := attempt("looking for padding", _Batches(batches).padding, None))
            ],
        }


def _outside_models(frame: FrameType | None, places: Places) -> Place:
    """The innermost line of the user's own that is in no method of a model. A function may be given the model
    first, as its methods are.
    """
    while frame is not None:
        code = frame.f_code
        first = code.co_varnames[0] if code.co_argcount else ""
        is_method = first == "self" and isinstance(frame.f_locals.get(first), nn.Module)
        forget_locals(frame)
        if places.user_file(code.co_filename) and not is_method:
            return places.nearest(frame)
        frame = frame.f_back
    return NOWHERE


class _Batches(NamedTuple):
    """That a line gives a model."""

    kept: list[Tensor]

    def padding(self) -> dict[str, float] | None:
        """None where it cannot be told."""
        batches = [batch for batch in self.kept if batch.dim() == self.kept[0].dim()]
        if _positions_come_last(batches):
            batches = [batch.transpose(1, 2) for batch in batches]
        batches = list(filter(_has_rows_first, batches))
        found = [padding for batch in batches if (padding := _padding(batch))]
        if len(found) < 2:
            return None
        columns = zip(_Padding._fields, zip(*found, strict=True), strict=True)
        return {"batches": len(found), **{name: sum(values) / len(found) for name, values in columns}}


def _longer_by_one(before: Shapes, now: Shapes) -> int:
    """The new length; 0 unless that is all that has changed."""
    if [len(shape) for shape in before] != [len(shape) for shape in now]:
        return 0
    changes = {
        sizes
        for old, new in zip(before, now, strict=True)
        for sizes in zip(old, new, strict=True)
        if sizes[0] != sizes[1]
    }
    old_length, new_length = changes.pop() if len(changes) == 1 else (0, 0)
    return new_length if old_length and new_length == old_length + 1 else 0


def _is_batch_of_sequences(tensor: Tensor) -> bool:
    """Of ids, or of rows of numbers, long enough to tell their padding."""
    is_ids = tensor.dim() == 2 and tensor.dtype in (torch.int64, torch.int32)
    is_rows = tensor.dim() == 3 and tensor.is_floating_point()
    if not (is_ids or is_rows) or tensor.numel() * tensor.element_size() > _BYTES_AT_MOST:
        return False
    pairs = [(tensor.shape[0], size) for size in tensor.shape[1:]]
    return any(min(pair) >= _ROWS_AT_LEAST and max(pair) >= _LENGTH_AT_LEAST for pair in pairs)


def _has_rows_first(tensor: Tensor) -> bool:
    """Rows and positions, in either order; else its positions can only come last."""
    return min(tensor.shape[:2]) >= _ROWS_AT_LEAST


def _positions_come_last(batches: list[Tensor]) -> bool:
    """As in sound, after its channels: these are the same in all batches, and positions are not. Else rows
    and positions come in either order, and numbers last.
    """
    _, channels, *positions = (set(sizes) for sizes in zip(*(batch.shape for batch in batches), strict=True))
    return len(channels) == 1 and any(len(sizes) > 1 for sizes in positions)


def _padding(batch: Tensor) -> _Padding | None:
    """In the order, and at the end, where all rows share most of it, or where most of it is; None where all
    are short.
    """
    with torch.no_grad():
        by_rows = batch.detach(), batch.detach().transpose(0, 1)
        found = [
            _padding_before(rows.flip(1) if at_end else rows, at_end=at_end)
            for rows in by_rows
            for at_end in (True, False)
            if rows.shape[1] >= _LENGTH_AT_LEAST
        ]
    shared = min(found, key=lambda padding: padding.longest / padding.length, default=None)
    if shared is None or shared.longest < shared.length:
        return shared
    return min(found, key=lambda padding: padding.filled)


def _padding_before(rows: Tensor, *, at_end: bool) -> _Padding:
    """Ids that most rows begin with, or numbers that are all zero, before anything else; as many in all rows
    are no padding. ``at_end``: these rows are turned round.
    """
    is_fill = rows == rows[:, 0].mode().values if rows.dim() == 2 else (rows == 0).all(2)
    if rows.dim() == 3 and at_end and not is_fill[:, 0].any():
        is_fill = _same_numbers(rows)
    padding = _in_the_beginning(is_fill)
    least, most, length = int(padding.min()), int(padding.max()), rows.shape[1]
    return _Padding(length, length - least * (least < most), 1 - float(padding.float().mean()) / length)


def _same_numbers(rows: Tensor) -> Tensor:
    """Where the numbers stand that at least half of the rows begin with, as a mark for the end of each; none
    if all begin with as many of them.
    """
    numbers, counts = rows[:, 0].unique(dim=0, return_counts=True)
    is_fill = (rows == numbers[counts.argmax()]).all(2)
    padding = _in_the_beginning(is_fill)
    is_mark = 2 * int(counts.max()) >= len(rows) and bool(padding.min() < padding.max())
    return is_fill if is_mark else torch.zeros_like(is_fill)


def _in_the_beginning(is_fill: Tensor) -> Tensor:
    """Of each row how many are, before the first that is not."""
    return is_fill.int().cumprod(1).sum(1)
