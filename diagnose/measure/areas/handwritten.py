"""Functions written out in small operators that torch has as one: found by the order of their operators."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from diagnose.measure.areas.operators import both_ways, first_shape, input_shapes, shape_of
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import SELECTORS, Selection, selector
from diagnose.measure.view import NO_ROWS, Rows, once, test_at
from diagnose.measure.work import outermost
from diagnose.trace.distinct import distinct

# An operator as a letter; those of no letter are "o", views and numbers alone are left out.
LETTERS = {
    "+": "add",
    "-": "sub|rsub",
    "*": "mul",
    "/": "div",
    "^": "pow|square",
    "t": "tanh",
    "e": "erf",
    "x": "exp",
    "l": "log",
    "m": "mean",
    "d": "std",
    "v": "var|var_mean",
    "q": "sqrt",
    "r": "rsqrt|reciprocal",
    "S": "sum",
    "M": "max|amax",
    ">": "gt|lt|ge|le",
    "W": "where",
    "g": "sigmoid",
    "b": "binary_cross_entropy",
    "L": "log_softmax",
    "k": "kl_div",
    "h": "one_hot",
    "C": "scatter",
}
LETTER = {
    f"aten::{name}{end}": letter
    for letter, names in LETTERS.items()
    for name in names.split("|")
    for end in ("", "_")
}
_LARGE = 2048  # numbers: of fewer the cross-entropy of a sigmoid took 0.7 to 0.9 of the time as one
VIEW_OP = (
    r"^aten::(view|_unsafe_view|reshape|unsqueeze|squeeze|expand|expand_as|transpose|permute|t|detach|"
    r"lift_fresh|to|alias)_?$"
)


class HandWritten(NamedTuple):
    """``pattern``: of the letters, in the order in which Python calls them; ``fused``: torch's own.
    ``parts``: the letters that are of it, where others lie between; they are given tensors of one shape.
    """

    pattern: str
    name: str
    fused: str
    parts: str = ""


LABEL_SMOOTHING, SMOOTHED = "label smoothing", "F.cross_entropy(logits, target, label_smoothing=0.1)"
# Of what torch has, without what was no quicker fused on a CPU (RMS norm, mish, softplus, silu; torch 2.13).
FUNCTIONS = (
    HandWritten(r"[*/^]{2,6}\+\*?t\+[*/]{1,2}", "GELU", "F.gelu(x, approximate='tanh')"),
    HandWritten(r"[*/]{0,2}e\+[*/]{1,2}", "GELU", "F.gelu(x)"),
    HandWritten(
        r"m{1,2}-?(?=[^oLkhC]{0,8}[dqr^][^oLkhC]{0,3}[/*])(?:[dv]|[\^*]m{1,2})[-+*qr^]{0,5}[/*]\*?\+?",
        "normalisation",
        "F.layer_norm (F.group_norm over groups of channels, F.batch_norm over the batch)",
    ),
    HandWritten(r"(?:M-)?xS/", "softmax", "torch.softmax(x, dim)"),
    HandWritten(r"(?:M-)?xSl[-+]{1,2}", "log-softmax", "torch.log_softmax(x, dim)"),
    HandWritten(r">(?:x-|-?x-?)\*?W", "ELU", "F.elu(x)"),
    HandWritten(r">\*W", "leaky ReLU", "F.leaky_relu(x, slope)"),
    HandWritten(
        r"g[^gb]{0,6}b",
        "the cross-entropy of a sigmoid",
        "F.binary_cross_entropy_with_logits(x, y), x before the sigmoid",
        parts="gb",
    ),
    HandWritten(r"L[^kL]{0,6}C[^k]{0,12}k|C[^k]{0,6}L[^k]{0,6}k", LABEL_SMOOTHING, SMOOTHED, parts="Ck"),
    HandWritten(
        r"L[^*L]{0,3}[hC][-+*/]{2,6}o?\*|[hC][-+*/]{2,6}o?Lo{0,2}\*", LABEL_SMOOTHING, SMOOTHED, parts="-+*/C"
    ),
)


class Found(NamedTuple):
    function: HandWritten
    rows: Rows


@once
def _written_out(view: Selection) -> list[Found]:
    """Each place in the steps where the operators of a function follow each other, the longest first."""
    rows, letters = _spelled(view)
    taken, found = np.zeros(len(rows), bool), []
    for function in FUNCTIONS:
        for match in re.finditer(function.pattern, letters):
            places = np.arange(*match.span())
            if function.parts:
                places = places[[letter in function.parts for letter in match[0]]]
                if not _of_one_shape(view, rows[places]):
                    continue
            if not taken[places].any():
                taken[places] = True
                found.append(Found(function, rows[places]))
    return found


def _of_one_shape(view: Selection, rows: Rows) -> bool:
    """Whether what the operators are given first has one shape, and is no small tensor."""
    given = [first_shape(text) for text in view.host["shapes"].iloc[rows]]
    return bool(given[0]) and math.prod(given[0]) >= _LARGE and all(shape == given[0] for shape in given)


def _spelled(view: Selection) -> tuple[Rows, str]:
    """The training thread's outermost operators outside backward, optimizer and loader, and their letters."""
    own = (
        (view.kind == "op")
        & view.on_training_thread
        & ~view.host["backward"].to_numpy()
        & ~view.in_library_work
    )
    rows = outermost(view, own & ~view.name_matches(r"^(?!aten::)"))
    rows = rows[~view.name_matches(VIEW_OP)[rows]]
    rows = rows[~test_at(view.host["shapes"].array, rows, _of_numbers)]
    names = view.name.categories.tolist()
    spelled = np.array([LETTER.get(name, "o") for name in names] + ["o"])
    return rows, "".join(spelled[view.name.codes[rows]])


def _of_numbers(text: str) -> bool:
    """Whether all that the operator is given are numbers, alone or in tensors without a dimension."""
    shapes = input_shapes(text)
    return bool(shapes) and all(isinstance(shape, list) and not shape_of(shape) for shape in shapes)


@selector(
    "hand_written",
    "functions written out in small operators that torch has as one, with their backward",
    attributed=both_ways,
)
def _hand_written(view: Selection) -> Rows:
    return np.sort(np.concatenate([NO_ROWS, *(found.rows for found in _written_out(view))]))


def _costliest(measured: Measured) -> HandWritten | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    measured.rows(SELECTORS["hand_written"])
    dur, cost = view.host["dur_ns"].to_numpy(), dict.fromkeys(FUNCTIONS, 0)
    for found in _written_out(view):
        cost[found.function] += int(dur[found.rows].sum())
    most = max(cost, key=lambda function: cost[function])
    return most if cost[most] else Missing("no function is written out that torch has as one")


@metric("hand_written_function", "", "Costliest function that is written out in small operators")
def _hand_written_function(measured: Measured) -> Value | Missing:
    found = _costliest(measured)
    return found if isinstance(found, Missing) else found.name


@metric("fused_function", "", "torch's own function for the costliest that is written out")
def _fused_function(measured: Measured) -> Value | Missing:
    found = _costliest(measured)
    return found if isinstance(found, Missing) else found.fused


# ---- one-hot rows in arithmetic

PRODUCT_OP = r"^aten::(linear|matmul|mm|addmm|bmm|einsum|mul|mul_)$"
BEHIND = 8  # operators, views aside, after a one-hot within which what it is multiplied with must come
JUST_TAKEN = 3  # operators behind one that takes a row, of which one may read it


@once
def _one_hots(view: Selection) -> tuple[Rows, Rows]:
    """The operators that make one-hot rows, and the products that read them, with what converts them."""
    own = (view.kind == "op") & view.on_training_thread & ~view.host["backward"].to_numpy()
    rows = outermost(view, own & ~view.name_matches(r"^(?!aten::)"))
    is_made, converts = view.name_matches(r"^aten::one_hot$"), view.name_matches(r"^aten::(to|type_as)$")
    product, shapes = view.name_matches(PRODUCT_OP), view.host["shapes"]
    made, read = [], []
    for at in np.flatnonzero(is_made[rows]).tolist():
        behind = rows[at + 1 : at + 1 + BEHIND]
        inputs = [[shape_of(shape) for shape in input_shapes(text)] for text in shapes.iloc[behind]]
        ids = [shape_of(shape) for shape in input_shapes(shapes.iloc[rows[at]])][:1]
        row = next((sizes[0] for sizes in inputs if sizes and ids and sizes[0][:-1] == ids[0]), ())
        reads = [i for i, sizes in enumerate(inputs) if product[behind[i]] and _holds(sizes, row)]
        in_rounds = _reads_of_rows(view, rows[at + 1 :], row, product) if row and not reads else []
        if row and (reads or in_rounds):
            made.append(rows[at])
            until = behind[: reads[0]] if reads else behind
            read += [one for one in until if converts[one]] + ([behind[reads[0]]] if reads else in_rounds)
    return np.array(made, np.int64), np.array(read, np.int64)


def _reads_of_rows(view: Selection, rows: Rows, whole: tuple[int, ...], product: np.ndarray) -> list[int]:
    """The products that read what was just taken from a tensor of that shape: a word or time step a round."""
    takes, shapes = view.name_matches(r"^aten::select$"), view.host["shapes"]
    found = []
    for at in np.flatnonzero(takes[rows]).tolist():
        taken = shape_of(next(iter(input_shapes(shapes.iloc[rows[at]])), None))
        behind = [row for row in rows[at + 1 : at + 1 + JUST_TAKEN].tolist() if product[row]]
        given = [list(map(shape_of, input_shapes(shapes.iloc[row]))) for row in behind]
        found += [
            row
            for row, sizes in zip(behind, given, strict=True)
            if taken == whole
            and any(len(one) > 1 and one in (whole[1:], (*whole[: len(one) - 1], whole[-1])) for one in sizes)
        ]
    return found


def _holds(shapes: list[tuple[int, ...]], wanted: tuple[int, ...]) -> bool:
    """Whether one of the shapes is the wanted one, or the same with its first dimensions made one."""
    flat = (int(np.prod(wanted[:-1])), wanted[-1]) if wanted else ()
    return bool(wanted) and any(shape in (wanted, flat) for shape in shapes)


@selector(
    "one_hot_products",
    "one-hot rows that are multiplied with a table or with probabilities, with the backward of that",
    needs="shapes",
    attributed=both_ways,
)
def _one_hot_products(view: Selection) -> Rows:
    return distinct(*_one_hots(view))
