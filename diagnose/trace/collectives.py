"""What torch tells of collectives on the events of their kernels
(``saveNcclMeta`` in torch/csrc/profiler/util.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.columns import categorical, integers, table
from diagnose.trace.decode import Args
from diagnose.trace.schema import COLLECTIVES

# Bytes of a number, by the type's name in c10/core/ScalarType.h.
ITEM_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool", "QInt8", "QUInt8"), 1),
    **dict.fromkeys(
        ("Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "Float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("Short", "Half", "BFloat16", "UInt16"), 2),
    **dict.fromkeys(("Int", "Float", "UInt32", "ComplexHalf", "QInt32"), 4),
    **dict.fromkeys(("Long", "Double", "UInt64", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
MOST_BYTES = 2**62  # more is damage, and does not fit the table


class Told(NamedTuple):
    """The arguments of one event, as they stand in the file."""

    name: Any
    group: Any
    description: Any
    ranks: bytes
    size: Any
    number_type: Any
    in_count: Any


def told(args: Args) -> Told:
    """What an event's arguments tell."""
    ranks = bytes(args.group_ranks)
    return Told(
        args.collective,
        args.group,
        args.group_description,
        ranks,
        args.group_size,
        args.number_type,
        args.in_count,
    )


def collective_table(codes: NDArray[Any], found: Sequence[Told]) -> pd.DataFrame:
    """The COLLECTIVES table. ``codes``: for each device row which of those found it is, -1 for none."""
    rows = np.flatnonzero(codes >= 0)
    of = codes[rows]
    values = {
        "kernel": rows,
        "name": categorical(of, [_text(one.name) for one in found]),
        "group": categorical(of, [_text(one.group) for one in found]),
        "description": categorical(of, [_text(one.description) for one in found]),
        "ranks": categorical(of, [_ranks(one.ranks) for one in found]),
        "size": np.maximum(integers([one.size for one in found]), -1)[of],
        "in_bytes": _bytes(found)[of],
    }
    return table(COLLECTIVES, values)


def _ranks(json: bytes) -> str:
    return "" if json == b"null" else json.decode("utf-8", "replace").strip('"')


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _bytes(found: Sequence[Told]) -> NDArray[np.int64]:
    """How many numbers go in, times the bytes of one; -1 where either is not known."""
    counts, items = (
        integers([one.in_count for one in found]).tolist(),
        [ITEM_BYTES.get(_text(one.number_type), 0) for one in found],
    )
    sizes = [
        min(count * item, MOST_BYTES) if count >= 0 and item else -1
        for count, item in zip(counts, items, strict=True)
    ]
    return np.array(sizes, dtype=np.int64)
