"""Calls of which another way to make them leaves a part, by a trial or a count in the run
(`diagnose.run.child.products`).
"""

from __future__ import annotations

from diagnose.measure.measured import FactPlace, Measured, fact_selector, metric
from diagnose.measure.missing import Missing, known
from diagnose.measure.told_calls import dataflow, parts_of_torch, whole_ms

# what changes a whole network, also where a line of it loses: signals laid out as images, and rows that are
# looked up after its last layer
_OF_NETWORKS = {"signal_layout", "equal_rows"}


def _another_way(name: str, what: str, meaning: str, *, left: str, saved: str) -> None:
    """Calls of which a part of the time is left after a fix, and the metrics of that."""
    fact_selector(name, meaning)(lambda measured: _places(measured, what))
    metric(f"{name}_left", "share", left)(lambda measured: _left(measured, what))
    metric(f"{name}_gain_share", "share", saved)(lambda measured: _gain_share(measured, what))


_another_way(
    "sparse_products",
    "sparse",
    "dense products of matrices that are almost all zeros",
    left="Share of the time of these products that is left with sparse ones",
    saved="Share of the step that sparse products save",
)
_another_way(
    "coordinate_products",
    "coordinates",
    "products of sparse matrices that are kept by coordinates",
    left="Share of the time of these products that is left by rows",
    saved="Share of the step that products by rows save",
)
_another_way(
    "repeated_rows",
    "repeated",
    "products with rows that are there many times",
    left="Share of the time of these products that is left if each row is in one",
    saved="Share of the step that is saved if each row is in one product",
)
_another_way(
    "repeated_matrices",
    "matrices",
    "products of batches with matrices that are there many times",
    left="Share of the time of these products that `einsum` leaves",
    saved="Share of the step that `einsum` saves on products of repeated matrices",
)
_another_way(
    "patch_convolutions",
    "patches",
    "convolutions whose kernel is as long as their stride",
    left="Share of the time of these convolutions that one product leaves",
    saved="Share of the step that one product saves on these convolutions",
)
_another_way(
    "solved_again",
    "factored",
    "solving linear systems with a matrix that was factorized before",
    left="Share of the time of these solutions that is left with the factors",
    saved="Share of the step that factorizing once saves",
)
_another_way(
    "masked_attention",
    "masked",
    "attention over all pairs of which a mask leaves few",
    left="Share of the time of this attention that is left in blocks",
    saved="Share of the step that attention in blocks saves",
)
_another_way(
    "separable_kernels",
    "separable",
    "convolutions with a constant kernel that is a column times a row",
    left="Share of the time of these convolutions that one along each dimension leaves",
    saved="Share of the step that one convolution along each dimension saves",
)
_another_way(
    "rows_by_number",
    "by_number",
    "gathering or adding up rows with an index for each of their numbers",
    left="Share of the time of these calls that moving whole rows leaves",
    saved="Share of the step that moving whole rows saves",
)
_another_way(
    "enlarged_early",
    "enlarged",
    "enlarging feature maps before a convolution of one point, and that convolution",
    left="Share of the time of these calls that is left if the convolution comes first",
    saved="Share of the step that convolving first saves",
)
_another_way(
    "buffers_shifted",
    "shifted",
    "copying a buffer whole to take in a few rows",
    left="Share of the time of these copies that writing the new rows leaves",
    saved="Share of the step that writing the new rows in place saves",
)
_another_way(
    "long_kernels",
    "long_kernel",
    "convolutions along one dimension with a long kernel",
    left="Share of the time of these convolutions that products of spectra leave",
    saved="Share of the step that products of spectra save on these convolutions",
)
_another_way(
    "known_parts",
    "known_parts",
    "layers in a loop whose input is in part known ahead of it",
    left="Share of the time of these layers that is left with the known part multiplied ahead",
    saved="Share of the step that multiplying the known part ahead saves",
)
_another_way(
    "one_end",
    "one_end",
    "bidirectional recurrent networks of which one direction is hardly read",
    left="Share of the time of these networks that is left if what is read alone is computed",
    saved="Share of the step that the direction takes that is hardly read",
)
_another_way(
    "bilinear_forms",
    "bilinear",
    "bilinear forms by torch's operator for three factors",
    left="Share of the time of these forms that two matrix products leave",
    saved="Share of the step that two matrix products save on these forms",
)
_another_way(
    "signal_layouts",
    "signal_layout",
    "1-D convolutions of several channels",
    left="Share of the time of these convolutions that is left as 2-D ones with the channels last",
    saved="Share of the step that the other layout saves on these convolutions",
)
_another_way(
    "inverses_multiplied",
    "inverted",
    "inverting matrices only to multiply by the inverse, and that product",
    left="Share of the time of these calls that solving the system leaves",
    saved="Share of the step that solving the system saves",
)
_another_way(
    "layers_pooled",
    "pooled",
    "linear layers whose results are only added up or averaged, and that sum",
    left="Share of the time of these calls that is left if the sum comes first",
    saved="Share of the step that pooling first saves",
)
_another_way(
    "equal_rows",
    "equal_rows",
    "layers that are given the same rows many times",
    left="Share of the time of these layers that is left with one of each row, and looking up the others",
    saved="Share of the step that one of each row saves",
)
_another_way(
    "products_in_order",
    "order",
    "products of three matrices in the costlier order",
    left="Share of the time of these products that is left in the other order",
    saved="Share of the step that the other order saves",
)
_another_way(
    "convolutions_beyond",
    "beyond",
    "convolutions some of whose taps see nothing but padding",
    left="Share of the time of these convolutions that is left without these taps",
    saved="Share of the step that these convolutions save without these taps",
)
_another_way(
    "permuted_norms",
    "permuted_norm",
    "batch norms of rows that are permuted for them",
    left="Share of the time of these norms that is left on the rows as they lie in memory",
    saved="Share of the step that norms of the rows themselves save",
)
_another_way(
    "underflows",
    "underflow",
    "exponentials whose results underflow",
    left="Share of the time of these exponentials that a lower bound leaves",
    saved="Share of the step that a lower bound of these exponents saves",
)
_another_way(
    "rows_sorted",
    "sorted",
    "sorting whole rows of which few are taken, and taking these",
    left="Share of the time of these calls that `topk` leaves",
    saved="Share of the step that `topk` saves on them",
)


@metric("signal_layouts_call_count", "count", "Number of 1-D convolutions of several channels in a step")
def _signal_layouts_call_count(measured: Measured) -> float | Missing:
    calls = parts_of_torch(measured, "signal_layout")
    return calls if isinstance(calls, Missing) else sum(place.count_per_step for place in calls)


def _places(measured: Measured, what: str) -> list[FactPlace] | Missing:
    calls = _calls(measured, what)
    return calls if isinstance(calls, Missing) else [place for place, _ in calls]


def _left(measured: Measured, what: str) -> float | Missing:
    """The share of these calls' time that is left after the fix."""
    calls = _calls(measured, what)
    if isinstance(calls, Missing):
        return calls
    all_ms = whole_ms(place for place, _ in calls)
    left_ms = sum((place.ms_per_step or 0.0) * left for place, left in calls)
    return min(1.0, left_ms / all_ms) if all_ms else Missing("no such call was seen")


def _gain_share(measured: Measured, what: str) -> float | Missing:
    """The share of the step that the fix of these calls saves."""
    places, left = _places(measured, what), _left(measured, what)
    if isinstance(places, Missing):
        return places
    saved_ms = 0.0 if isinstance(left, Missing) else whole_ms(places) * (1 - left)
    return saved_ms / measured.number("step_ms")


def _calls(measured: Measured, what: str) -> list[tuple[FactPlace, float]] | Missing:
    """By line, and the share of their time that is left there: without lines where nothing is gained, which
    stay as they are.
    """
    places = parts_of_torch(measured, what)
    if isinstance(places, Missing):
        return places
    told = zip(places, known(dataflow(measured))[what], strict=True)
    calls = [(place, line["left_ns"] / max(line["ns"], 1)) for place, line in told]
    return [(place, left) for place, left in calls if left < 1 or what in _OF_NETWORKS]
