"""Which results of a step are mostly not read: computed for all positions, where a few are picked or a loss
ignores the others or weights of zero drop them; kept, and replaced before anything has read them; or dropped.

Each value knows what it is given to. A call that picks reads as much as it gives back; one that keeps every
number where it is reads as much as is read of its own result; a loss reads the rows (positions, each with
its scores) that it does not ignore; any other reads all, but for one whose own result nobody reads. What is
multiplied by the number 0, as a term of a loss, is read for nothing. A result with gradients that no call was
seen to read is dropped if no backward came to it either: what is not seen (a function of the script's own for
autograd, a compiled one) leaves a node in the graph all the same. One without gradients is, if nothing reads
tensors unseen: no extension, no scripted function, no transform of `torch.func`, and no function of the
script's own for autograd, whose backward reads what its forward keeps. What still lives is not dropped.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, NamedTuple

from torch import Tensor

from ..inspection import inside_a_transform, inside_forward_mode
from ..products.product_order import SCALES
from .by_position import (
    BY_PICTURE,
    BY_POSITION,
    JOINS,
    KEEPS,
    PICKS,
    REDUCTIONS,
    SOFTMAX,
    Behind,
    behind_of,
    is_row_by_row,
    is_turned,
    makes_numbers_of_rows,
    over_last,
)
from .unseen_readers import is_of_own_function, may_read_unseen
from .weights import ALL, NONE, Weighted, together, weights_of

# A shape or a kind: no number is read.
METADATA = {
    "__get__",
    "size",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "__len__",
    "is_floating_point",
    "stride",
}
_LOSSES = {"cross_entropy", "nll_loss"}
_IGNORED = -100  # the losses' default
_READ_AT_MOST = 0.5
_ROWS_READ_AT_MOST = 0.75  # of a loss: a mask picks the others, for all that is computed behind it
_NODES_AT_MOST = 200_000  # of the graphs of the steps that are looked at
_STATISTIC_AT_MOST = 1024  # numbers: what is kept to be looked at; more may be for a call that is not seen


class Unread(NamedTuple):
    """A call, and the share of its result that nobody reads. ``how``: "unread" if others are; else it and all
    that was made of it was kept and "replaced" by another, or "dropped", or "zeroed": multiplied by 0.
    """

    call_index: int
    share: float
    how: str


class _InGraph(NamedTuple):
    """A result with gradients, and the number of its node in the graph."""

    tensor: weakref.ref[Tensor]
    node: int


class _Use(NamedTuple):
    """A call that is given a value; ``made``: the numbers of its results; ``of_rows``: each number of them is
    made of a row; ``turned``: a view whose last dimension was another one.
    """

    made: tuple[int, ...]
    of_rows: bool = False
    picks: bool = False
    keeps: bool = False
    keeps_rows: bool = False
    turned: bool = False
    behind: Behind | None = None
    joins: bool = False
    rows: float | None = None  # the share of rows that it reads, if that is known
    weighted: Weighted | None = None
    times_zero: bool = False


class _Part(NamedTuple):
    """What is read of a value: of its numbers; of its rows; and of its positions, as far as weights tell."""

    numbers: float
    rows: float
    weighted: Weighted = ALL


_ALL, _NOTHING = _Part(1.0, 1.0), _Part(0.0, 0.0, NONE)


class _Call(NamedTuple):
    """``made``: the numbers of its results; ``by_row``: each row is computed by itself; ``behind``: for
    weights, None if no position is; ``rows``: the share of them that a loss reads, else 1.
    """

    number: int
    name: str
    made: tuple[int, ...]
    by_row: bool
    behind: Behind | None
    rows: float


class Reads:
    """What the calls of a step read. Values go by their numbers (`diagnose.run.child.values`).

    ``renumbered``: those that calls may know by another number.
    """

    def __init__(self, renumbered: Set[int] = frozenset()) -> None:
        self._renumbered = renumbered
        self._uses: dict[int, list[_Use]] = {}
        self._shapes: dict[int, tuple[int, ...]] = {}
        self._sizes: dict[int, int] = {}
        self._row_sizes: dict[int, int] = {}
        self._scores: set[int] = set()  # given to losses: their rows are the classes, whichever dimension
        self._calls: list[_Call] = []
        self._living: dict[int, list[weakref.ref[Tensor]]] = {}  # of those that may be statistics
        self._kept: set[int] = set()  # statistics that outlived their step unread
        self._graphs: dict[int, list[_InGraph]] = {}  # of results with gradients
        self._plain: dict[int, list[weakref.ref[Tensor]]] = {}  # results without
        self._reads_unseen = False  # whether something reads tensors that no call is told of
        self._reached: set[int] = set()  # nodes that a backward came to
        self._lost = False  # a backward, which may have come to any
        self._with_backward: set[int] = set()  # results of steps with one

    def call(
        self,
        index: int,
        name: str,
        given: list[int],
        results: list[tuple[int, Tensor]],
        arguments: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
        *,
        in_place: bool = False,
    ) -> None:
        """``index``: for `unread`; ``given``: the values, in order; ``results``: those given back, or
        written to (``in_place``).
        """
        if name in METADATA and not results:
            return
        is_wrapped = inside_a_transform() or inside_forward_mode()
        self._reads_unseen = self._reads_unseen or is_wrapped
        made = tuple(number for number, _ in results)
        loss = _loss(name, arguments, options or {})
        is_softmax = name in SOFTMAX and over_last(arguments, options or {})
        by_row = is_softmax or loss is not None or (name in BY_POSITION and not name.startswith("conv"))
        behind = Behind(1, 0) if loss is not None else behind_of(name, arguments, options or {}, results)
        of_rows = makes_numbers_of_rows(name, arguments, options or {})
        weighted = weights_of(name, arguments, given)
        times_zero = _is_times_zero(name, arguments)
        passes_on_rows = is_softmax or name in KEEPS or is_row_by_row(name, arguments, options or {})
        if loss is not None and given:
            self._row_sizes[given[0]] = loss.classes
            self._scores.add(given[0])
        for at, number in enumerate(given):
            if number in made:
                continue
            alike = len(results) == 1 and results[0][1].numel() == self._sizes.get(number)
            use = _Use(
                made,
                of_rows=at == 0 and of_rows,
                picks=at == 0 and name in PICKS,
                keeps=(name in KEEPS and alike) or (at == 0 and name in REDUCTIONS),
                keeps_rows=passes_on_rows and (alike if name in KEEPS else at == 0),
                turned=at == 0 and is_turned(arguments, results),
                behind=behind if at == 0 or name in KEEPS | JOINS else None,
                joins=name in JOINS,
                weighted=weighted.get(at),
                rows=loss.rows if loss is not None and at == 0 else None,
                times_zero=times_zero,
            )
            self._uses.setdefault(number, []).append(use)
        for number, tensor in results:
            if number not in self._sizes:
                self._shapes[number], self._sizes[number] = tuple(tensor.shape), tensor.numel()
                self._row_sizes[number] = tensor.shape[-1] if tensor.dim() else 1
            if is_wrapped or (in_place and tensor._base is not None):
                continue  # a view is read by whatever reads the tensor that it is a view of
            if tensor.grad_fn is not None:
                in_graph = _InGraph(weakref.ref(tensor), tensor.grad_fn._sequence_nr())
                self._graphs.setdefault(number, []).append(in_graph)
            elif not in_place and not tensor.requires_grad and name != "grad":  # which goes backward
                self._plain.setdefault(number, []).append(weakref.ref(tensor))
            if tensor.numel() <= _STATISTIC_AT_MOST:
                self._living.setdefault(number, []).append(weakref.ref(tensor))
        if name and made:
            left_out = behind if by_row or name in BY_PICTURE else None
            self._calls.append(_Call(index, name, made, by_row, left_out, 1.0 if loss is None else loss.rows))

    def backward(self, tensors: Iterable[Tensor]) -> None:
        """One goes through all that these were computed from."""
        was_lost, self._lost = self._lost, True  # until it is through
        nodes: list[Any] = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
        while nodes and len(self._reached) < _NODES_AT_MOST:
            node = nodes.pop()
            number = node._sequence_nr()
            self._reads_unseen = self._reads_unseen or is_of_own_function(node)
            if number not in self._reached:
                self._reached.add(number)
                nodes += [before for before, _ in node.next_functions if before is not None]
        self._lost = was_lost or bool(nodes)

    def step(self, *, with_backward: bool) -> None:
        """A step has ended. Without a backward, what needs gradients may be for one that is not seen."""
        if with_backward:
            self._with_backward |= self._graphs.keys() | self._plain.keys()
        for number, tensors in self._living.items():
            living = [tensor for known in tensors if (tensor := known()) is not None]
            is_told = with_backward or not any(tensor.requires_grad for tensor in living)
            if living and is_told and number not in self._uses:
                self._kept.add(number)

    def unread(self) -> Iterator[Unread]:
        """Calls whose result is read to a half at most, or counts in a loss to three quarters. What no call
        reads may be for later, unless it is a statistic that was kept, and is gone, or was dropped.
        """
        self._reads_unseen = self._reads_unseen or may_read_unseen()
        read, or_dropped = self._all_read(self._is_replaced), self._all_read(self._is_lost)
        but_for_zeros = self._all_read(self._is_lost, reads_for_zeros=False)
        for index, name, made, by_row, behind, rows in self._calls:
            if all(read[number] == _NOTHING for number in made):
                yield Unread(index, 1.0, "replaced")
            elif all(or_dropped[number] == _NOTHING for number in made):
                yield Unread(index, 1.0, "dropped")
            elif all(but_for_zeros[number] == _NOTHING for number in made):
                yield Unread(index, 1.0, "zeroed")
            elif len(made) == 1:
                part = read[made[0]]
                numbers = part.numbers if name in BY_POSITION else 1.0
                needed = min(numbers, part.rows, rows) if by_row else numbers
                if behind is not None and part.weighted.fits(self._shapes[made[0]], behind.made):
                    needed = min(needed, part.weighted.share)
                if needed <= (_ROWS_READ_AT_MOST if needed < numbers else _READ_AT_MOST):
                    yield Unread(index, 1 - needed, "unread")

    def _is_replaced(self, number: int) -> bool:
        return number in self._kept and not any(known() is not None for known in self._living[number])

    def _is_lost(self, number: int) -> bool:
        return self._is_replaced(number) or self._is_dropped(number)

    def _is_dropped(self, number: int) -> bool:
        if number not in self._with_backward or self._lost or self._lives(number):
            return False
        graphs = self._graphs.get(number, [])
        return not any(one.node in self._reached for one in graphs) and (
            bool(graphs) or not self._reads_unseen
        )

    def _lives(self, number: int) -> bool:
        """Whether it may still be read."""
        known = [one.tensor for one in self._graphs.get(number, [])] + self._plain.get(number, [])
        return any(reference() is not None for reference in known)

    def _all_read(
        self, is_unread: Callable[[int], bool], *, reads_for_zeros: bool = True
    ) -> dict[int, _Part]:
        """Of each value. ``is_unread``: whether nothing reads one that no call was seen to be given;
        ``reads_for_zeros``: what is multiplied by 0 is read.
        """
        read: dict[int, _Part] = {}
        for number in sorted(self._sizes, reverse=True):  # what is made of a value has a higher number
            uses = self._uses.get(number)
            if uses is not None and not reads_for_zeros:
                uses = [use for use in uses if not use.times_zero]
            read[number] = self._read(number, uses, read, is_unread)
        return read

    def _read(
        self, number: int, uses: list[_Use] | None, read: dict[int, _Part], is_unread: Callable[[int], bool]
    ) -> _Part:
        if number in self._renumbered:
            return _ALL
        if uses is None:
            return _NOTHING if is_unread(number) else _ALL
        parts = [self._part(use, number, read) for use in uses]
        numbers, rows = sum(part.numbers for part in parts), sum(part.rows for part in parts)
        part = _Part(min(1.0, numbers), min(1.0, rows), together(part.weighted for part in parts))
        return _ALL if part == _NOTHING and self._lives(number) else part

    def _part(self, use: _Use, number: int, read: dict[int, _Part]) -> _Part:
        results = [read.get(result, _ALL) for result in use.made]
        if results and all(part == _NOTHING for part in results):
            return _NOTHING
        if use.weighted is not None:
            return _Part(1.0, 1.0, use.weighted)
        if not results or not self._sizes[number]:
            return _ALL
        weighted = self._passed_on(use, number, results)
        if use.rows is not None:
            return _Part(1.0, use.rows, weighted)
        if use.picks:
            sizes = [min(1.0, self._sizes[result] / self._sizes[number]) for result in use.made]
            numbers = sum(size * part.numbers for size, part in zip(sizes, results, strict=True))
            whole = not use.turned and all(
                self._row_sizes[result] == self._row_sizes[number] for result in use.made
            )
            rows = sum(size * part.rows for size, part in zip(sizes, results, strict=True)) if whole else 1.0
            return _Part(numbers, rows, weighted)
        if use.of_rows and self._shapes[number][-1:] == (self._row_sizes[number],):
            wanted = [number for number in use.made if number in self._uses or not self._is_lost(number)]
            share = min(1.0, sum(read[number].numbers for number in wanted))
            return _Part(share, share, weighted)
        result, made = results[0], use.made[0]
        if use.joins:
            return _Part(1.0, 1.0, weighted)
        as_many = self._sizes[made] * self._row_sizes[number] == self._sizes[number] * self._row_sizes[made]
        keeps_rows = use.keeps_rows and as_many and (not use.turned or made in self._scores)
        return _Part(result.numbers if use.keeps else 1.0, result.rows if keeps_rows else 1.0, weighted)

    def _passed_on(self, use: _Use, number: int, results: list[_Part]) -> Weighted:
        """What counts of a value, by what counts of the one result that is made of it."""
        weighted, shape, made = results[0].weighted, self._shapes[number], self._shapes[use.made[0]]
        if len(results) > 1 or use.behind is None or not weighted.fits(made, use.behind.made):
            return ALL
        share, positions, masks = weighted
        parts = self._sizes[use.made[0]] // self._sizes[number] if use.joins else 1
        of_part = Weighted(share, positions // parts, masks | {number})
        if use.joins and of_part.fits(shape, use.behind.given):  # one of so many beside each other
            return of_part
        return weighted if weighted.fits(shape, use.behind.given) else ALL


def _is_times_zero(name: str, arguments: tuple[Any, ...]) -> bool:
    number = arguments[1] if len(arguments) == 2 else None
    return name in SCALES and type(number) in (int, float) and number == 0


class _Loss(NamedTuple):
    """``rows``: the share of them that a loss does not ignore; ``classes``: how many numbers a row has."""

    rows: float
    classes: int


def _loss(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> _Loss | None:
    """None for another call. A row are the scores of a position, whichever dimension they are."""
    if name not in _LOSSES:
        return None
    given = dict(zip(("input", "target"), arguments, strict=False)) | options
    scores, target = given.get("input"), given.get("target")
    if not isinstance(scores, Tensor) or not isinstance(target, Tensor) or scores.dim() < 2:
        return None
    if target.device.type != "cpu" or target.is_floating_point() or not target.numel():
        return None
    ignored = options.get("ignore_index", arguments[4] if len(arguments) > 4 else _IGNORED)
    return _Loss(1 - int((target == ignored).sum()) / target.numel(), scores.shape[1])
