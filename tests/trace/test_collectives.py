"""What torch tells of collectives on their kernels' events."""

from __future__ import annotations

import pytest

from diagnose.trace.collectives import MOST_BYTES
from diagnose.trace.schema import COLLECTIVES
from tests.trace.build import Json, kernel, read

ALL_REDUCE = {
    "Collective name": "allreduce",
    "In msg nelems": 1000,
    "Group size": 2,
    "dtype": "BFloat16",
    "Process Group Name": "3",
    "Process Group Description": "mesh_tp",
    "Process Group Ranks": "[0, 1]",
}


def collective(ts: float, **args: object) -> Json:
    """A kernel of NCCL with the arguments of an all-reduce, some of them others;
    underscores in their names become blanks.
    """
    return kernel(
        "ncclDevKernel_Generic",
        ts,
        1,
        3,
        **{**ALL_REDUCE, **{key.replace("_", " "): value for key, value in args.items()}},
    )


def test_each_kernel_that_tells_has_a_row() -> None:
    gather = {
        "Collective_name": "_allgather_base",
        "In_msg_nelems": 500,
        "dtype": "Float",
        "Process_Group_Name": "0",
    }
    trace = read(collective(9, **gather), kernel("gemm", 5, 1, 4), collective(2))
    assert trace.collectives.to_dict("records") == [
        {
            "kernel": 0, "name": "allreduce", "group": "3", "description": "mesh_tp", "ranks": "[0, 1]", "size": 2,
            "in_bytes": 2000,
        },
        {
            "kernel": 2, "name": "_allgather_base", "group": "0", "description": "mesh_tp", "ranks": "[0, 1]", "size": 2,
            "in_bytes": 2000,
        },
    ]  # fmt: skip
    assert trace.device["communication"].tolist() == [True, False, True]


def test_kernels_that_tell_nothing_have_none() -> None:
    trace = read(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 1, 3))
    assert len(trace.collectives) == 0
    assert trace.collectives.dtypes.map(str).to_dict() == {
        name: column.dtype for name, column in COLLECTIVES.items()
    }


@pytest.mark.parametrize(
    ("told", "column", "value"),
    [
        ({"dtype": "Complex256"}, "in_bytes", -1),
        ({"dtype": None}, "in_bytes", -1),
        ({"dtype": 4}, "in_bytes", -1),
        ({"In_msg_nelems": -1}, "in_bytes", -1),
        ({"In_msg_nelems": "1000"}, "in_bytes", 2000),
        ({"In_msg_nelems": 2**63 - 1, "dtype": "ComplexDouble"}, "in_bytes", MOST_BYTES),
        ({"In_msg_nelems": 10**30}, "in_bytes", -1),
        ({"Group_size": -7}, "size", -1),
        ({"Group_size": "two"}, "size", -1),
        ({"Process_Group_Name": None}, "group", ""),
        ({"Process_Group_Name": 12}, "group", "12"),
        ({"Process_Group_Ranks": [0, 1]}, "ranks", "[0,1]"),
        ({"Process_Group_Ranks": {"a": None}}, "ranks", '{"a":null}'),
        ({"Process_Group_Ranks": None}, "ranks", ""),
        ({"Collective_name": 5}, "name", "5"),
    ],
)
def test_what_cannot_be_is_not_known(told: Json, column: str, value: object) -> None:
    got = read(collective(2, **told)).collectives[column].tolist()
    assert [str(one).replace(" ", "") if column == "ranks" else one for one in got] == [value]
