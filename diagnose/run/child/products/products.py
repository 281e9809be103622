"""Products of one step, convolutions among them, of whose time another way would leave a part; and what is
made anew that is large.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from ..inspection import inside_a_transform
from ..line_sums import Mendable, Sum
from ..places import Place
from ..values import Call
from .attention_trial import Attention, WrittenAttention, attention_of_module, left_by_fused
from .bilinear import is_bilinear, left_as_products
from .call_pairs import By, CallPairs, Pair
from .convolution import Convolution, convolution_of
from .einsum_order import in_costly_order, left_in_order
from .equal_rows import EqualRows
from .factored import Factored
from .long_kernel import is_long, left_by_spectra
from .masked import left_in_blocks, left_of_written
from .one_step_trial import is_one_step, left_by_cells
from .patches import is_of_patches, left_as_product
from .permuted_norm import left_on_rows, permuted_norm_of
from .pooling import left_as_two_pools, pooling_of
from .repeated_matrices import left_by_einsum, without_copies
from .repeats import RepeatedRows
from .separable import column_and_row, left_as_two
from .signal_layout import is_signal, left_with_channels_last
from .sparse_trial import is_by_coordinates, left_if_by_rows, left_if_sparse
from .taps import left_without_padding
from .tried import Allowance, Tried
from .underflow import left_with_bound, underflowing
from .whole_rows import left_as_rows, moved_rows
from .zeros import is_depthwise, nearly_empty

_LARGE_BYTES = 1 << 20
# the facts' names
WAYS = (
    "attention",
    "one_step",
    "sparse",
    "coordinates",
    "repeated",
    "matrices",
    "factored",
    "beyond",
    "patches",
    "masked",
    "separable",
    "long_kernel",
    "bilinear",
    "signal_layout",
    "by_number",
    "equal_rows",
    "order",
    "enlarged",
    "inverted",
    "pooled",
    "underflow",
    "sorted",
    "permuted_norm",
)


class Products:
    """Told of each call of the step on a line of the user's: `add`, then `made`; and of its end."""

    def __init__(self, allowance: Allowance) -> None:
        """``allowance``: for what is tried."""
        self.ways: defaultdict[str, Mendable] = defaultdict(Mendable)
        self.depthwise: dict[Place, Sum] = {}  # convolutions, of channels by themselves
        self.large_bytes: Counter[Place] = Counter()  # of results that are no views
        self._rows, self._factored, self._attention = RepeatedRows(), Factored(), WrittenAttention()
        self._equal, self._pairs, self._tried = EqualRows(), CallPairs(allowance), Tried(allowance)
        self._repeated: Call | None = None  # the last call whose rows were repeated
        self._moved: By | None = None  # the call in place that has just moved rows
        # by the number of a value the call that made it: line, ns, and ns if it is trained
        self._made_by: dict[int, By] = {}

    def add(self, call: Call, place: Place, result: Tensor, ns: int) -> None:
        name, given = call.name, call.given
        trained_ns = ns if result.requires_grad else 0
        convolution = convolution_of(name, call.arguments, call.options)
        for way, left in (
            ("beyond", convolution and left_without_padding(convolution)),
            ("masked", left_in_blocks(name, call.arguments, call.options)),
        ):
            if left is not None:
                self.ways[way].add(place, ns, trained_ns, left)
        left = self._factored.left(name, given, call.numbers)
        if left is not None:  # a backward has the factors of its forward
            self.ways["factored"].add(place, ns, 0, left)
        self._add_repeated(call, place, ns, trained_ns)
        if is_depthwise(name, given):
            self.depthwise.setdefault(place, Sum()).add(ns, trained_ns)
        if inside_a_transform():
            return  # there nothing can be tried
        self.add_moved(call, place, result, ns)
        attention = self._attention.call(call, result)
        if attention is not None:
            self._add_masked(attention, (place, ns, trained_ns))
        for way, left_by_trial in self._to_try(call, attention, convolution, result, ns):
            self._add_tried(way, call, (place, ns, trained_ns), left_by_trial)

    def step(self) -> None:
        """The step has ended: tensors that its calls were given are not kept."""
        self._pairs.step()
        self._repeated = None

    def _to_try(
        self,
        call: Call,
        attention: Attention | None,
        convolution: Convolution | None,
        result: Tensor,
        ns: int,
    ) -> Iterator[tuple[str, Callable[[], float | None]]]:
        """The other ways to make the call that a trial decides about."""
        name, given, is_trained = call.name, call.given, result.requires_grad
        attention = attention or attention_of_module(call)
        if attention is not None:
            yield "attention", partial(left_by_fused, attention, ns, is_trained=is_trained)
        if is_one_step(call):
            yield "one_step", partial(left_by_cells, call, ns, is_trained=is_trained)
        if is_bilinear(call):
            yield "bilinear", partial(left_as_products, call, ns, is_trained=is_trained)
        einsum = in_costly_order(call)
        if einsum is not None:
            yield "order", partial(left_in_order, einsum, ns, is_trained=is_trained)
        exponential = underflowing(call)
        if exponential is not None:
            yield "underflow", partial(left_with_bound, exponential, ns, is_trained=is_trained)
        empty = nearly_empty(name, given)
        if empty is not None:
            matrix, other, comes_first = empty
            yield (
                "sparse",
                partial(left_if_sparse, matrix, other, ns, comes_first=comes_first, is_trained=is_trained),
            )
        if is_by_coordinates(name, given):
            yield "coordinates", partial(left_if_by_rows, given, ns, is_trained=is_trained)
        factors = without_copies(name, given)
        if factors is not None:
            yield "matrices", partial(left_by_einsum, factors, given, ns, is_trained=is_trained)
        norm = permuted_norm_of(name, call.arguments, call.options)
        if norm is not None:
            yield "permuted_norm", partial(left_on_rows, norm, ns, is_trained=is_trained)
        pooling = pooling_of(name, call.arguments, call.options)
        if pooling is not None:
            yield "separable", partial(left_as_two_pools, pooling, ns, is_trained=is_trained)
        if convolution is None:
            return
        if is_of_patches(convolution):
            yield "patches", partial(left_as_product, convolution, ns, is_trained=is_trained)
        if is_long(convolution):
            yield "long_kernel", partial(left_by_spectra, convolution, ns, is_trained=is_trained)
        if is_signal(convolution):
            yield "signal_layout", partial(left_with_channels_last, convolution, ns, is_trained=is_trained)
        column_row = column_and_row(convolution)
        if column_row is not None:
            yield "separable", partial(left_as_two, convolution, *column_row, ns, is_trained=is_trained)

    def _add_masked(self, attention: Attention, last: By) -> None:
        """With all that is computed on the way to it. ``last``: its second product."""
        left = left_of_written(attention.weights)
        if left is not None:
            for by in (*(self._made_by[one] for one in attention.way.made if one in self._made_by), last):
                self.ways["masked"].add(*by, left)

    def add_moved(self, call: Call, place: Place, result: Tensor, ns: int) -> None:
        """If it moves rows number by number. An index that is repeated for that is not needed either."""
        if call.in_place:
            self._moved = place, ns, ns if result.requires_grad else 0
        moved = moved_rows(call.name, call.arguments, call.options)
        if moved is None or inside_a_transform():
            return
        is_trained = result.requires_grad
        as_rows = partial(left_as_rows, moved, ns, is_trained=is_trained)
        left = self._add_tried("by_number", call, (place, ns, ns if is_trained else 0), as_rows)
        index = call.numbers[1]
        if left is not None and left < 1 and index in self._made_by:
            self.ways["by_number"].add(*self._made_by.pop(index), 0.0)

    def made(self, call: Call, result: Tensor, numbers: Sequence[int], by: By | None) -> None:
        """A call has given this value first, or alone; ``numbers``: of all that it has given; ``by``: its
        line, ns, and ns if it is trained.
        """
        number = numbers[0]
        moved, self._moved = self._moved, None
        if not inside_a_transform():
            self._add_equal(call, result, number, by)
            self._add_pairs(call, result, numbers, by or moved)
        self._rows.made(call.name, call.given, call.numbers, result, number, call.dimension)
        if by is not None:
            self._made_by[number] = by
            is_dense = result.layout == torch.strided  # of others torch does not say how large they are
            if is_dense and result.nbytes >= _LARGE_BYTES and result._base is None:
                self.large_bytes[by[0]] += result.nbytes

    def _add_equal(self, call: Call, result: Tensor, number: int, by: By | None) -> None:
        equal = self.ways["equal_rows"]
        for needed, ns in self._equal.looked_up(call, result).items():
            if needed in self._made_by:
                equal.left_ns[self._made_by[needed][0]] += ns
        rows = self._equal.made(call, result, number, may_start=call is not self._repeated)
        if rows is not None and by is not None:
            equal.add(*by, rows.left)

    def _add_pairs(self, call: Call, result: Tensor, numbers: Sequence[int], by: By | None) -> None:
        found, withdrawn = self._pairs.call(call, result, numbers, by)
        for pair in found:
            for place, ns, trained_ns in pair.calls:
                self.ways[pair.way].add(place, ns, trained_ns, pair.left)
        self._withdraw(withdrawn)

    def read_whole(self, call: Call) -> None:
        """A call that gives no tensor has read what it was given."""
        self._withdraw(self._pairs.read_whole(call.numbers))

    def _withdraw(self, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for place, ns, trained_ns in pair.calls:
                self.ways[pair.way].take_back(place, ns, trained_ns, pair.left)

    def _add_repeated(self, call: Call, place: Place, ns: int, trained_ns: int) -> None:
        product = self._rows.product(call.name, call.given, call.numbers)
        if product is None:
            return
        self._repeated = call
        self.ways["repeated"].add(place, ns, trained_ns, product.left)
        for copy in product.copies:
            if copy in self._made_by:
                self.ways["repeated"].add(*self._made_by.pop(copy), product.copies_left)

    def _add_tried(
        self, way: str, call: Call, by: By, left_by_trial: Callable[[], float | None]
    ) -> float | None:
        """The share of the call's time that is left that way."""
        left = self._tried.left(way, by[0], call, left_by_trial)
        if left is not None:
            self.ways[way].add(*by, left)
        return left
