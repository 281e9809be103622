"""What each collective of a trace is: its kind, who takes part, how much a rank puts in."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.sizes import number_counts
from diagnose.measure.view import Rows, View, category_matches, once

# In this order: an all_reduce is no reduce, an all_gather no gather.
KINDS = (
    ("all_reduce", "allreduce|crossdevicereduce|quickreduce|oneshot|twoshot"),
    ("all_gather", "allgather"),
    ("reduce_scatter", "reducescatter"),
    ("all_to_all", "alltoall|(deepep|int(er|ra)node(ll)?|a2a).*(dispatch|combine)"),
    ("barrier", "barrier"),
    ("broadcast", "broadcast"),
    ("send_recv", "sendrecv|^send|^recv"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
)
KERNEL = r"^\w*?ccl(Dev)?Kernel_?"
OPERATOR = r"^(c10d|_c10d_functional|gloo|nccl)::?"
PUTS_IN_FIRST = r"^record_param_comms$|^gloo:"  # events whose first input is what the rank puts in
TENSOR_LIST = r'^\["TensorList"'
ITEM_BYTES = {
    "float": 4,
    "int": 4,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "signed char": 1,
    "unsigned char": 1,
    "bool": 1,
}
NAMELESS = {"undefined": "", "default_pg": "default"}  # descriptions that torch itself gives
# What each of n ranks has to send for a byte that it puts in, as nccl-tests
# count it (doc/PERFORMANCE.md there).
BUS_FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "all_gather": lambda n: n - 1,
}

# A published table of nccl-tests on eight GPUs of one machine (which ones it does not say for
# certain) has a bus bandwidth of 180 GB/s for all-reduces of 8 MiB, 240 for 16 and 300 for 32, and
# NVIDIA names 480 GB/s for the largest on H100: from 16 MiB on it is about half of what can be had,
# and smaller ones are slow because they are small.
LARGE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Collectives:
    """What some kernels of collectives are, a value each.

    ``kind``: see `KINDS`, else ``other``. ``group``: name and ranks of its process group, the same text on
    all of these ranks; empty if not told. ``lane``: what people call the group, likewise. ``size``: how many
    ranks it has, ``bytes_in``: what this rank puts in; -1 if not known. ``guessed``: the kind is the
    kernel's; NCCL runs the one for sending and receiving in all-to-alls, gathers and scatters, too.
    """

    kind: np.ndarray
    group: np.ndarray
    lane: np.ndarray
    size: np.ndarray
    bytes_in: np.ndarray
    guessed: np.ndarray


def collectives(view: View, rows: Rows) -> Collectives:
    """What these device rows are, all of them kernels of collectives: by what torch
    tells, else by the operators and kernels.
    """
    at = np.searchsorted(_communication(view), rows)
    return Collectives(
        **{field.name: getattr(_collectives(view), field.name)[at] for field in fields(Collectives)}
    )


@once
def _communication(view: View) -> Rows:
    return np.flatnonzero(view.device["communication"].to_numpy())


@once
def _collectives(view: View) -> Collectives:
    """Those of the whole trace."""
    rows = _communication(view)
    told = view.trace.collectives
    at = np.searchsorted(told["kernel"].to_numpy(), rows)
    is_told = np.append(told["kernel"].to_numpy(), -1)[at] == rows
    of = told.iloc[at[is_told]]
    group = [f"{name} {ranks}".strip() for name, ranks in zip(of["group"], of["ranks"], strict=True)]
    lane = [
        NAMELESS.get(text, text) or name for text, name in zip(of["description"], of["group"], strict=True)
    ]
    op, names = view.device["op"].to_numpy()[rows], view.device["name"].array
    kind = _spread([kind_of(name) for name in of["name"]], is_told, "other")
    guessed = np.zeros(len(rows), bool)
    parent, host_names = view.host["parent"].to_numpy(), view.host["name"].array
    for row in np.flatnonzero(kind == "other"):
        by_operator = _operator_kind(parent, host_names, int(op[row]))
        kind[row], guessed[row] = by_operator or kind_of(names[rows[row]]), not by_operator
    bytes_in = _spread(of["in_bytes"].tolist(), is_told, -1).astype(np.int64)
    return Collectives(
        kind=kind,
        group=_spread(group, is_told, ""),
        lane=_spread(lane, is_told, ""),
        size=_spread(of["size"].tolist(), is_told, -1).astype(np.int64),
        bytes_in=np.where(bytes_in >= 0, bytes_in, np.append(put_in_bytes(view), -1)[op]),
        guessed=guessed,
    )


def _spread(values: list[Any], there: np.ndarray, elsewhere: Any) -> np.ndarray:
    """The values where they are, another everywhere else."""
    spread = np.full(len(there), elsewhere, object)
    spread[there] = values
    return spread


@lru_cache(4096)
def kind_of(name: str) -> str:
    """A collective's kind by the name of its kernel or operator:

    ``ncclDevKernel_AllReduce_Sum_f32_RING_LL`` is an all_reduce.
    """
    bare = re.sub(r"[^a-z]", "", re.sub(f"{KERNEL}|{OPERATOR}", "", name).lower())
    return next((kind for kind, pattern in KINDS if re.search(pattern, bare)), "other")


def bus_bytes(kind: str, bytes_in: np.ndarray, size: np.ndarray) -> np.ndarray:
    """What each of ``size`` ranks has to send, as nccl-tests count it; 0 where that is not known."""
    factor = BUS_FACTORS.get(kind)
    known = (bytes_in >= 0) & (size > 1)
    return np.where(known, bytes_in * factor(np.maximum(size, 1)), 0.0) if factor else np.zeros(len(bytes_in))


def message_bytes(kind: str, bytes_in: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The size of the message as nccl-tests count it: what comes out of an
    all-gather, what goes into the others.
    """
    return bytes_in * np.maximum(size, 1) if kind == "all_gather" else bytes_in


def _operator_kind(parent: np.ndarray, names: Any, row: int) -> str:
    """By the operator that launched it or one of those around; empty if none says."""
    while row >= 0:
        if re.match(OPERATOR, names[row]):
            return kind_of(names[row])
        row = int(parent[row])
    return ""


def put_in_bytes(view: View) -> np.ndarray:
    """What a rank puts into the collective of each host event; -1 where none tells: others name
    the output first, lists have no type.
    """
    told = view.name_matches(PUTS_IN_FIRST) & ~category_matches(view.host["dtypes"].array, TENSOR_LIST)
    return np.where(told, input_bytes(view.host), -1)


def input_bytes(host: pd.DataFrame) -> np.ndarray:
    """The size of each event's first input, bytes; -1 where its shape was not recorded.

    Unknown types count as 8 bytes a number.
    """
    shapes, dtypes = host["shapes"].array, host["dtypes"].array
    numbers = np.array([number_counts(text)[0] for text in shapes.categories] + [-1], np.int64)[shapes.codes]
    item = np.array([_item_bytes(text) for text in dtypes.categories] + [8], np.int64)[dtypes.codes]
    return np.where(numbers >= 0, numbers * item, -1)


def _item_bytes(dtypes: str) -> int:
    first = dtypes[1:].partition(",")[0].strip(' []"')
    return ITEM_BYTES.get(first, 8)
