"""What the dataflow of one step says (`diagnose.run.child.dataflow`): calls that could be one, values
that are computed again, and results that nobody reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from diagnose.measure.areas.operators import dispatched_work
from diagnose.measure.areas.user_code import places_of
from diagnose.measure.ledger import TORCH_ROWS
from diagnose.measure.lines import backward_of_lines, forward_of_lines
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import NO_CALLS_SEEN, NO_STEPS, NOT_RECORDED, Missing, known
from diagnose.measure.selection import Selection
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import own_times
from diagnose.measure.view import NO_ROWS, Rows, once

# What a call on a small tensor takes whatever its size, forward and backward with Python between them: in
# additions of four numbers, as the run measured one (`python -m benchmarks call-costs`: 4 to 10, a layer
# 25); in ms where it measured none (0.012 to 0.025 on two cores of an EPYC)
FIXED_ADDITIONS, FIXED_MS = 10, 0.015
# they take a row; their backward fills a tensor as large as the whole with zeros
ROW_BACKWARD = r"\b(Select|Slice|Index|Narrow|Unbind)Backward\d"


MOST_LINES = 3  # named in a text
WORTH_REWRITING = 0.08  # of the step: what one call for all rounds must save (`loop-to-batch`)
NOT_ON_A_GPU = Missing("what a call costs on a GPU is not known from the host")


class _Loop(NamedTuple):
    place: FactPlace
    left: float  # of its time, if all rounds are one call
    differs: float  # of its time, what is of rounds that differ in size

    @property
    def ms(self) -> float:
        """A step."""
        return self.place.ms_per_step or 0.0


def dataflow(measured: Measured) -> dict[str, Any] | Missing:
    found = measured.recording.facts.get("dataflow")
    return NOT_RECORDED if found is None else dict(found)


@once
def _loops(measured: Measured) -> list[_Loop] | Missing:
    told, view = dataflow(measured), measured.detail
    if isinstance(told, Missing):
        return told
    if view is None:
        return NO_CALLS_SEEN
    backward = backward_of_lines(view)
    rounds = [
        (line.get("loop") or line, loop)
        for line in told["at_once"]
        if (loop := _loop(measured, view, line, backward.get((line["file"], line["line"]), NO_ROWS)))
    ]
    return _by_loop(rounds)


def _by_loop(rounds: list[tuple[dict[str, Any], _Loop]]) -> list[_Loop]:
    """By the line in the loop that leads to what its rounds do, costliest first: all that is to be one call
    at once, in whichever functions.
    """
    found: dict[tuple[str, int, str], list[_Loop]] = defaultdict(list)
    for line, loop in rounds:
        found[line["file"], line["line"], line["function"]].append(loop)
    loops = []
    for place, parts in found.items():
        whole_ms = sum(part.ms for part in parts)
        left_ms = sum(part.ms * part.left for part in parts)
        differs_ms = sum(part.ms * part.differs for part in parts)
        count = max(part.place.count_per_step or 0.0 for part in parts)
        loops.append(_Loop(FactPlace(*place, count, whole_ms), left_ms / whole_ms, differs_ms / whole_ms))
    return sorted(loops, key=lambda loop: -loop.ms)


def _loop(measured: Measured, view: Selection, line: dict[str, Any], backward: Rows) -> _Loop | None:
    """The part of the line's time that is of such calls, of which one pays the fixed cost once, and none
    takes a row; of products what a trial says is left. None where it takes no time.

    The forward is all that the line takes, with Python between its calls, where lines were timed.
    """
    part = line["ns"] / max(line["line_ns"], 1)
    rows_ms, other_ms, forward_ms = (
        measured.detail_ms(dispatched_work(view, rows)) * part
        for rows in (
            backward[view.name_matches(ROW_BACKWARD)[backward]],
            backward[~view.name_matches(ROW_BACKWARD)[backward]],
            forward_of_lines(view).get((line["file"], line["line"]), NO_ROWS),
        )
    )
    own = own_times(measured).get((line["file"], line["line"]))
    if own is not None:
        forward_ms = max(forward_ms, own.ms * part)
    whole_ms = rows_ms + other_ms + forward_ms
    if whole_ms <= 0:
        return None
    product_ns, product_count = line.get("product_ns", 0), line.get("product_count", 0)
    products_ms = (other_ms + forward_ms) * product_ns / max(line["ns"], 1)
    left_ms = products_ms * line.get("product_left_ns", 0) / max(product_ns, 1)
    rest_ms, rest_count = other_ms + forward_ms - products_ms, line["call_count"] - product_count
    if rest_ms > 0 and rest_count:
        calls_left = line.get("group_count", line["call_count"] / line["rounds"]) / line["call_count"]
        left_ms += rest_ms * max(calls_left, 1 - fixed_ms(measured) * rest_count / rest_ms)
    place = FactPlace(line["file"], line["line"], line["function"], float(line["rounds"]), whole_ms)
    return _Loop(place, left_ms / whole_ms, line.get("sizes_differ_ns", 0) / max(line["ns"], 1))


def fixed_ms(measured: Measured) -> float:
    call_ns = (measured.recording.facts.get("profiler_costs") or {}).get("call_ns")
    return FIXED_ADDITIONS * call_ns / 1e6 if call_ns else FIXED_MS


@fact_selector("calls_at_once", "calls in a Python loop that do not need each other's results")
def _calls_at_once(measured: Measured) -> list[FactPlace] | Missing:
    loops = _loops(measured)
    return loops if isinstance(loops, Missing) else [loop.place for loop in loops]


@metric("calls_at_once_left", "share", "Share of the time of these loops that one call for all rounds leaves")
def _calls_at_once_left(measured: Measured) -> Value | Missing:
    loops = _loops(measured)
    if isinstance(loops, Missing):
        return loops
    whole_ms = sum(loop.ms for loop in loops)
    left_ms = sum(loop.ms * loop.left for loop in loops)
    return left_ms / whole_ms if whole_ms else Missing("no such loop was seen")


@metric("calls_at_once_gain_share", "share", "Share of the step that one call for all rounds saves")
def _calls_at_once_gain_share(measured: Measured) -> Value | Missing:
    loops, step_ms = _loops(measured), measured.number("step_ms")
    if isinstance(loops, Missing):
        return loops
    return sum(loop.ms * (1 - loop.left) for loop in loops) / step_ms


@metric(
    "calls_at_once_sizes_differ", "yes/no", "Rounds of the costliest loop give results of differing sizes"
)
def _calls_at_once_sizes_differ(measured: Measured) -> Value | Missing:
    loops = _loops(measured)
    return not isinstance(loops, Missing) and bool(loops) and loops[0].differs > 0.5


@metric("small_ops_are_rounds", "yes/no", "Most tiny operators are rounds of a loop that could be one call")
def _small_ops_are_rounds(measured: Measured) -> Value | Missing:
    """Not where that was not recorded."""
    is_worth_it = measured.number("calls_at_once_gain_share") >= WORTH_REWRITING
    return is_worth_it and 2 * measured.number("calls_at_once_ms") > measured.number("small_ops_ms")


@metric(
    "forwards_need_each_other", "yes/no", "Calls of the model need what earlier ones computed in the step"
)
def _forwards_need_each_other(measured: Measured) -> Value | Missing:
    """By the lines that call it; not where that was not recorded."""
    told, view = dataflow(measured), measured.timeline
    if isinstance(told, Missing) or view is None:
        return False
    called = places_of(view, view.named(view.marked("forward") & view.on_training_thread))
    lines = {(place.file, place.line) for place in called}
    under = [line for line in told.get("around", []) if (line["file"], line["line"]) in lines]
    independent_ns = sum(line["independent_ns"] for line in under)
    return 2 * independent_ns < sum(line["ns"] for line in under)


@fact_selector("values_again", "calls that are given exactly what an earlier one in the step was given")
def _values_again(measured: Measured) -> list[FactPlace] | Missing:
    """Their backward is that of the lines that compute them, where that is recorded."""
    asked, told = _parts_of_torch(measured, "again"), dataflow(measured)
    if isinstance(asked, Missing) or isinstance(told, Missing):
        return asked
    if not all("line_trained_ns" in line for line in told.get("computed_again") or [{}]):
        return asked
    computed = known(_parts_of_torch(measured, "computed_again", partial(_used_by_backward, measured)))
    longer = _whole_ms(computed) / _whole_ms(asked) if _whole_ms(asked) else 1.0
    return [replace(place, ms_per_step=(place.ms_per_step or 0.0) * longer) for place in asked]


def _whole_ms(places: list[FactPlace]) -> float:
    return sum(place.ms_per_step or 0.0 for place in places)


@metric("values_again_at", "", "Lines that compute them, costliest first")
def _values_again_at(measured: Measured) -> Value | Missing:
    """Up to three, which often are in a function that several others call."""
    lines = known(dataflow(measured)).get("computed_again")
    if not lines:
        return NOT_RECORDED
    shown = Sources(measured.recording).shown
    return ", ".join(f"{shown(line['file'])}:{line['line']}" for line in lines[:MOST_LINES])


@fact_selector("unread_results", "computing numbers that nothing in the step reads")
def _unread_results(measured: Measured) -> list[FactPlace] | Missing:
    return _parts_of_torch(measured, "unread")


@fact_selector("replaced_results", "computing what is kept, and replaced before anything reads it")
def _replaced_results(measured: Measured) -> list[FactPlace] | Missing:
    return _where_trained(measured, "replaced")


@fact_selector("dropped_results", "computing what is neither read nor trained")
def _dropped_results(measured: Measured) -> list[FactPlace] | Missing:
    return _where_trained(measured, "dropped")


def constant_calls(measured: Measured) -> list[FactPlace] | Missing:
    """What each step computes anew, though it is the same each time."""
    return _where_trained(measured, "constant")


@fact_selector("sample_work", "what steps compute of samples alone, the same whenever a sample comes")
def _sample_work(measured: Measured) -> list[FactPlace] | Missing:
    return _where_trained(measured, "of_samples")


def _where_trained(measured: Measured, what: str) -> list[FactPlace] | Missing:
    """None where nothing is trained: there a model's result that nobody reads, or that is always the same,
    may be all that a benchmark is about.
    """
    told = dataflow(measured)
    if not isinstance(told, Missing) and what in told and not told["backward_ns"]:
        return []
    return _parts_of_torch(measured, what)


@fact_selector("distribution_checks", "checking what torch.distributions is given")
def _distribution_checks(measured: Measured) -> list[FactPlace] | Missing:
    return _parts_of_torch(measured, "checks")


@fact_selector("diagonal_covariance", "normal distributions with a matrix of covariances that are all 0")
def _diagonal_covariance(measured: Measured) -> list[FactPlace] | Missing:
    return _parts_of_torch(measured, "diagonal")


@fact_selector("weight_penalty", "sums of squares of weights, which are added to the loss")
def _weight_penalty(measured: Measured) -> list[FactPlace] | Missing:
    return _where_trained(measured, "penalties")


@fact_selector("dense_kernels", "dense convolutions of which each output channel reads one input channel")
def _dense_kernels(measured: Measured) -> list[FactPlace] | Missing:
    return _parts_of_torch(measured, "depthwise")


def _products(name: str, what: str, meaning: str, *, left: str, saved: str) -> None:
    """Products of which a part of the time is left after a fix, and the metrics of that."""
    fact_selector(name, meaning)(lambda measured: _parts_of_torch(measured, what))
    metric(f"{name}_left", "share", left)(lambda measured: _left(measured, what))
    metric(f"{name}_gain_share", "share", saved)(lambda measured: _gain_share(measured, what))


_products(
    "sparse_products",
    "sparse",
    "dense products of matrices that are almost all zeros",
    left="Share of the time of these products that is left with sparse ones",
    saved="Share of the step that sparse products save",
)
_products(
    "coordinate_products",
    "coordinates",
    "products of sparse matrices that are kept by coordinates",
    left="Share of the time of these products that is left by rows",
    saved="Share of the step that products by rows save",
)
_products(
    "repeated_rows",
    "repeated",
    "products with rows that are there many times",
    left="Share of the time of these products that is left if each row is in one",
    saved="Share of the step that is saved if each row is in one product",
)
_products(
    "repeated_matrices",
    "matrices",
    "products of batches with matrices that are there many times",
    left="Share of the time of these products that `einsum` leaves",
    saved="Share of the step that `einsum` saves on products of repeated matrices",
)
_products(
    "patch_convolutions",
    "patches",
    "convolutions whose kernel is as long as their stride",
    left="Share of the time of these convolutions that one product leaves",
    saved="Share of the step that one product saves on these convolutions",
)
_products(
    "solved_again",
    "factored",
    "solving linear systems with a matrix that was factorized before",
    left="Share of the time of these solutions that is left with the factors",
    saved="Share of the step that factorizing once saves",
)
_products(
    "masked_attention",
    "masked",
    "attention over all pairs of which a mask leaves few",
    left="Share of the time of this attention that is left in blocks",
    saved="Share of the step that attention in blocks saves",
)
_products(
    "separable_kernels",
    "separable",
    "convolutions with a constant kernel that is a column times a row",
    left="Share of the time of these convolutions that one along each dimension leaves",
    saved="Share of the step that one convolution along each dimension saves",
)
_products(
    "rows_by_number",
    "by_number",
    "gathering or adding up rows with an index for each of their numbers",
    left="Share of the time of these calls that moving whole rows leaves",
    saved="Share of the step that moving whole rows saves",
)
_products(
    "enlarged_early",
    "enlarged",
    "enlarging feature maps before a convolution of one point, and that convolution",
    left="Share of the time of these calls that is left if the convolution comes first",
    saved="Share of the step that convolving first saves",
)
_products(
    "buffers_shifted",
    "shifted",
    "copying a buffer whole to take in a few rows",
    left="Share of the time of these copies that writing the new rows leaves",
    saved="Share of the step that writing the new rows in place saves",
)
_products(
    "inverses_multiplied",
    "inverted",
    "inverting matrices only to multiply by the inverse, and that product",
    left="Share of the time of these calls that solving the system leaves",
    saved="Share of the step that solving the system saves",
)
_products(
    "layers_pooled",
    "pooled",
    "linear layers whose results are only added up or averaged, and that sum",
    left="Share of the time of these calls that is left if the sum comes first",
    saved="Share of the step that pooling first saves",
)
_products(
    "equal_rows",
    "equal_rows",
    "layers that are given the same rows many times",
    left="Share of the time of these layers that is left with one of each row, and looking up the others",
    saved="Share of the step that one of each row saves",
)
_products(
    "products_in_order",
    "order",
    "products of three matrices in the costlier order",
    left="Share of the time of these products that is left in the other order",
    saved="Share of the step that the other order saves",
)
_products(
    "convolutions_beyond",
    "beyond",
    "convolutions some of whose taps see nothing but padding",
    left="Share of the time of these convolutions that is left without these taps",
    saved="Share of the step that these convolutions save without these taps",
)


def _left(measured: Measured, what: str) -> float | Missing:
    """The share of these products' time that is left after the fix."""
    products = _parts_of_torch(measured, what)
    if isinstance(products, Missing):
        return products
    shares = [line["left_ns"] / max(line["ns"], 1) for line in known(dataflow(measured))[what]]
    whole_ms = _whole_ms(products)
    left_ms = sum((place.ms_per_step or 0.0) * share for place, share in zip(products, shares, strict=True))
    return min(1.0, left_ms / whole_ms) if whole_ms else Missing("no such product was seen")


def _gain_share(measured: Measured, what: str) -> float | Missing:
    """The share of the step that the fix of these products saves."""
    products, left = _parts_of_torch(measured, what), _left(measured, what)
    if isinstance(products, Missing):
        return products
    saved_ms = 0.0 if isinstance(left, Missing) else _whole_ms(products) * (1 - left)
    return saved_ms / measured.number("step_ms")


def _used_by_backward(measured: Measured, line: dict[str, Any]) -> float:
    """Of calls that are made again at a line, as a factor of what is theirs of its backward by their time:
    graphs that no backward uses have none, and of calls for the same those are the ones to spare.
    """
    again = line["trained_ns"] / line["line_trained_ns"] if line.get("line_trained_ns") else 0.0
    for graph in measured.recording.facts.get("graphs") or []:
        if (graph["file"], graph["line"]) == (line["file"], line["line"]) and graph["used_count"] and again:
            unused = 1 - graph["used_count"] / graph["built_count"]
            return max(0.0, again - unused) / (1 - unused) / again
    return 1.0


def _parts_of_torch(
    measured: Measured, what: str, used_by_backward: Callable[[dict[str, Any]], float] = lambda line: 1.0
) -> list[FactPlace] | Missing:
    """As large a part of what their lines' operators take as they took of the lines' calls in the one step
    that was looked at; and as large a part of their lines' backward as they are of the lines' calls that need
    gradients. Where that is not recorded, the part of what torch takes, and of the whole backward.
    ``used_by_backward``: a factor of that.
    """
    told, view = dataflow(measured), measured.timeline
    if isinstance(told, Missing) or view is None:
        return told if isinstance(told, Missing) else NO_STEPS
    if view.has_device:
        return NOT_ON_A_GPU
    if what not in told:
        return NOT_RECORDED
    torch_ms = sum(measured.row_ms(row) for row in TORCH_ROWS)
    backward = {} if measured.detail is None else backward_of_lines(measured.detail)
    found = []
    for line in told[what]:
        rows = backward.get((line["file"], line["line"]), NO_ROWS)
        forward_ms = _forward_ms(measured, line)
        if forward_ms is None:
            forward_ms = torch_ms * line["ns"] / max(told["calls_ns"], 1)
        if measured.detail is not None and len(rows) and line.get("line_trained_ns"):
            of_line_ms = measured.detail_ms(dispatched_work(measured.detail, rows))
            backward_ms = of_line_ms * min(1.0, line["trained_ns"] / line["line_trained_ns"])
        else:
            backward_ns = told["backward_ns"] * line["trained_ns"] / max(told["trained_ns"], 1)
            backward_ms = torch_ms * backward_ns / max(told["calls_ns"], 1)
        place = (line["file"], line["line"], line["function"])
        ms = min(torch_ms, forward_ms + backward_ms * used_by_backward(line))
        found.append(FactPlace(*place, float(line["call_count"]), ms))
    return found


def _forward_ms(measured: Measured, line: dict[str, Any]) -> float | None:
    """Of calls that a line makes itself; None where that is not recorded."""
    place = line["file"], line["line"]
    if measured.detail is None or not line.get("line_ns") or line["ns"] > line["line_ns"]:
        return None
    rows = forward_of_lines(measured.detail).get(place)
    if rows is None:
        return None
    return measured.detail_ms(dispatched_work(measured.detail, rows)) * line["ns"] / line["line_ns"]
