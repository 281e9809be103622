"""Operators: work that a different choice of operators would not do."""

from __future__ import annotations

import functools
import json
import math
from typing import Any, NamedTuple

import numpy as np

from diagnose.measure.areas.optimizer import optimizer_spans
from diagnose.measure.areas.tried import define_gain_share
from diagnose.measure.autograd import is_backward_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, NOT_RECORDED, Missing
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, started_in, test_at
from diagnose.measure.work import in_rows, outermost, work_time
from diagnose.trace.intervals import union

EMBEDDING_OP = r"^aten::(embedding|embedding_bag)$"
EMBEDDING_BACKWARD_OP = r"^aten::(embedding_dense_backward|_embedding_bag_dense_backward)$"
MATMUL_OP = r"^aten::(linear|addmm|mm|matmul|bmm|t)$"
COPY_CALL_OP = r"^aten::(contiguous|clone|reshape)$"
MOSTLY_UNTOUCHED = 2  # a table this many times longer than the different rows that a step was seen to look up
UNTOUCHED = 4  # a table this many times longer than a step's indices, which repeat, is mostly untouched by it
SPARSE_LEFT = 0.3  # of the time of dense gradients of such tables, where it was not tried
MIN_GROWTH = 10  # as MIN_REPEATS of a loop; fewer pieces are a handful of tensors

Shape = tuple[int, ...]


def dispatched_work(view: Selection, rows: Rows) -> Intervals:
    """The work of these operators; with a GPU, the idle time in which the host dispatches them too."""
    return union(
        np.concatenate([work_time(view, rows), in_rows(view, view.host_intervals(rows), "launch_bound")])
    )


def with_backward(view: Selection, rows: Rows) -> Rows:
    """These operators and, of what they computed, the backward."""
    return np.concatenate([rows, outermost(view, is_backward_of(view, view.is_among(rows)))])


def both_ways(view: Selection, rows: Rows) -> Intervals:
    return dispatched_work(view, with_backward(view, rows))


@functools.lru_cache(maxsize=2**16)  # a large recording has thousands, and many selectors ask
def input_shapes(text: str) -> list[Any]:
    """An operator's input shapes from their JSON text: a list of ints each,
    of a list of tensors a list of those.
    """
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def shape_of(value: Any) -> Shape:
    """The shape of one input; empty for scalars, lists of tensors and what is missing."""
    return tuple(value) if isinstance(value, list) and all(isinstance(size, int) for size in value) else ()


def first_shape(text: str) -> Shape:
    shapes = input_shapes(text)
    return shape_of(shapes[0]) if shapes else ()


def by_shapes(view: Selection, test: Any) -> np.ndarray:
    """Which host events have input shapes for which the test holds (tried once per distinct text)."""
    shapes = view.host["shapes"].array
    return np.array([bool(test(text)) for text in shapes.categories] + [False])[shapes.codes]


# ---- embeddings


def _large_tables(view: Selection) -> set[Shape]:
    """Tables of which a call looks up few rows, and that no matrix product uses (tied weights
    get a dense gradient there anyway).
    """
    looked_up = view.named(view.name_matches(EMBEDDING_OP))
    product = view.named(view.name_matches(MATMUL_OP))
    texts = view.host["shapes"].array
    used = {
        shape_of(input_shape) for text in set(texts[product].tolist()) for input_shape in input_shapes(text)
    }
    tables: set[Shape] = set()
    for text in set(texts[looked_up].tolist()):
        table, indices = [*map(shape_of, input_shapes(text)[:2]), (), ()][:2]
        tied = table in used or table[::-1] in used or table in view.tied_tables
        seldom = MOSTLY_UNTOUCHED * view.rows_looked_up.get(table, math.inf)
        longest = min(seldom, UNTOUCHED * math.prod(indices))
        if len(table) == 2 and indices and table[0] >= longest and not tied:
            tables.add(table)
    return tables


def _dense_gradient_time(view: Selection, rows: Rows) -> Intervals:
    """Writing the tables' gradients, and operators on tensors of their shapes in the optimizer and before it,
    as clipping does (of foreach ones nothing is known).
    """
    tables = _large_tables(view) if len(rows) else set()
    if not tables:
        return NO_INTERVALS
    own = by_shapes(view, lambda text: first_shape(text) in tables) & (view.kind == "op")
    updates = outermost(view, own & started_in(view.host, _from_backward_to_update(view)))
    gradients = outermost(view, view.name_matches(EMBEDDING_BACKWARD_OP))
    return dispatched_work(view, np.concatenate([gradients, updates]))


def _from_backward_to_update(view: Selection) -> Intervals:
    """The optimizer's steps, each from the end of the backward before it."""
    updates, start = optimizer_spans(view), view.host["start_ns"].to_numpy()
    backward = view.marked("backward") | view.host["backward"].to_numpy()
    ends = np.sort((start + view.host["dur_ns"].to_numpy())[backward])
    before = np.searchsorted(ends, updates[:, 0], side="right")
    begin = np.append(ends, 0)[before - 1]
    return union(np.column_stack([np.where(before > 0, begin, updates[:, 0]), updates[:, 1]]))


@selector(
    "renormalised_rows",
    "renormalising rows of embedding tables in each lookup (`max_norm`), on a CPU",
    attributed=dispatched_work,
)
def _renormalised_rows(view: Selection) -> Rows:
    found = outermost(view, view.name_matches(r"^aten::embedding_renorm_$"))
    return found[:0] if view.has_device else found


@selector(
    "embedding_dense_gradient",
    "dense gradients of embedding tables with few rows looked up, and their updates",
    needs="shapes",
    attributed=_dense_gradient_time,
)
def _embedding_dense_gradient(view: Selection) -> Rows:
    lookups = view.name_matches(EMBEDDING_OP)
    if not (lookups.any() and view.name_matches(EMBEDDING_BACKWARD_OP).any()):
        return np.empty(0, np.int64)
    tables = _large_tables(view)
    rows = view.named(lookups)
    return rows[test_at(view.host["shapes"].array, rows, lambda text: first_shape(text) in tables)]


@metric(
    "embedding_dense_gradient_tried",
    "share",
    "Share of this time that sparse gradients and their updates took, as tried in this run",
)
def _embedding_dense_gradient_tried(measured: Measured) -> Value | Missing:
    share, view = measured.needed("embedding_dense_gradient_share"), measured.timeline
    if view is None:
        return NO_STEPS
    optimizer = "SGD" if measured.metric("optimizer_class") == "SGD" else "SparseAdam"
    tried, tables = view.sparse_updates_ns(optimizer), _large_tables(view)
    if not tables or not tables <= tried.keys():
        return NOT_RECORDED
    dense_ms = share * measured.number("step_ms")
    return min(1.0, sum(tried[table] for table in tables) / 1e6 / dense_ms) if dense_ms else 0.0


@metric(
    "embedding_dense_gradient_left",
    "share",
    "Share of this time that sparse gradients and their updates leave",
)
def _embedding_dense_gradient_left(measured: Measured) -> Value | Missing:
    """As tried in this run, else as it usually is."""
    tried = measured.metric("embedding_dense_gradient_tried")
    return SPARSE_LEFT if isinstance(tried, Missing) else tried


define_gain_share(
    "embedding_dense_gradient", "Share of the step that sparse gradients and their updates save"
)


# ---- copies


@selector(
    "layout_copies",
    "copies by `.contiguous()`, `.clone()` and `reshape` in your code",
    attributed=dispatched_work,
)
def _layout_copies(view: Selection) -> Rows:
    own = (view.kind == "op") & ~view.host["backward"].to_numpy() & ~view.in_library_work
    calls = outermost(view, own)
    calls = calls[view.name_matches(COPY_CALL_OP)[calls]]
    copies = np.flatnonzero(view.name_matches(r"^aten::copy_$"))
    return np.intersect1d(calls, view.outermost_ops(copies))


@metric(
    "layout_copies_least_share",
    "share",
    "Share of the step taken by these copies, in the step with the fewest of them",
)
def _layout_copies_least_share(measured: Measured) -> Value | Missing:
    measured.needed("layout_copies_share")  # missing for the same reasons
    view = measured.timeline
    return NO_STEPS if view is None else view.least_share(measured.attributed(SELECTORS["layout_copies"]))


REPEAT_OP, INTERLEAVED_OP = r"^aten::repeat$", r"^aten::repeat_interleave$"


def _could_expand(text: str) -> bool:
    """Whether the copy inside a `repeat` only repeats dimensions of size one.

    Its shape: repetitions, then sizes, by dimension.
    """
    shape = first_shape(text)
    return len(shape) % 2 == 0 and all(
        1 in pair for pair in zip(shape[: len(shape) // 2], shape[len(shape) // 2 :], strict=True)
    )


def _repeats_one(given: Shape, copied: Shape) -> bool:
    """Whether the copy inside a `repeat_interleave` has its repetitions behind a dimension of size one."""
    return any(
        size == 1 and copied[: dim + 1] == given[: dim + 1] and copied[dim + 2 :] == given[dim + 1 :]
        for dim, size in enumerate(given)
    )


@selector(
    "repeats",
    "`repeat` and `repeat_interleave` along dimensions of size one only, which `expand` would not copy",
    needs="shapes",
    attributed=dispatched_work,
)
def _repeats(view: Selection) -> Rows:
    copies, shapes = view.named(view.name_matches(r"^aten::copy_$")), view.host["shapes"].array
    calls = view.outermost_ops(copies)
    repeats, interleaves = (view.name_matches(pattern)[calls] for pattern in (REPEAT_OP, INTERLEAVED_OP))
    expand = repeats & test_at(shapes, copies, _could_expand)
    for at in np.flatnonzero(interleaves).tolist():
        expand[at] = _repeats_one(first_shape(shapes[calls[at]]), first_shape(shapes[copies[at]]))
    return np.unique(calls[expand])


# ---- growing by cat


class Growth(NamedTuple):
    """Of a `torch.cat`: the elements of its first input and of its output; 0
    unless it appends to a longer first one.
    """

    before: int
    after: int


def _growth(text: str) -> Growth:
    """Appending along a dimension other than a picture's channels, which dense networks grow on purpose."""
    shapes = input_shapes(text)
    parts = [shape_of(shape) for shape in shapes[0]] if shapes and isinstance(shapes[0], list) else []
    if len(parts) < 2 or not all(parts) or len({len(part) for part in parts}) > 1:
        return Growth(0, 0)
    differing = [index for index, sizes in enumerate(zip(*parts, strict=True)) if len(set(sizes)) > 1]
    sizes = [math.prod(part) for part in parts]
    grows = sizes[0] >= sum(sizes[1:]) and not (len(parts[0]) >= 4 and differing == [1])
    return Growth(sizes[0], sum(sizes)) if grows else Growth(0, 0)


@selector(
    "growing_cats",
    "`torch.cat` that repeatedly appends to its own earlier result within a step",
    needs="shapes",
    attributed=both_ways,
)
def _growing_cats(view: Selection) -> Rows:
    """Those whose first input has as many elements as an earlier output of the same step,
    where a step has MIN_GROWTH of them.
    """
    cats = outermost(
        view, view.name_matches(r"^aten::cat$") & view.on_training_thread & ~view.host["backward"].to_numpy()
    )
    shapes = view.host["shapes"].array
    used, which = np.unique(shapes.codes[cats], return_inverse=True)
    growths = [_growth(shapes.categories[code]) for code in used.tolist()]
    before, after = np.array(growths, np.int64).reshape(-1, 2)[which].T
    cats, before, after = cats[before > 0], before[before > 0], after[before > 0]
    step = np.searchsorted(view.host_windows[:, 0], view.host["start_ns"].to_numpy()[cats], side="right")
    # Sizes only grow, so an output of this many elements was made earlier or
    # belongs to another chain of the same kind.
    sizes, code = np.unique(np.concatenate([before, after]), return_inverse=True)
    key_before, key_after = step * len(sizes) + code[: len(cats)], step * len(sizes) + code[len(cats) :]
    linked = np.isin(key_before, key_after) | np.isin(key_after, key_before)
    often = np.bincount(step[linked], minlength=view.step_count + 1) >= MIN_GROWTH
    return cats[linked & often[step]]
