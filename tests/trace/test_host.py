"""The HOST table: kinds, parents, backward, quirks of the profiler's generations."""

from __future__ import annotations

import io

import pytest

from diagnose.trace.reader import read_trace
from diagnose.trace.schema import HOST
from tests.trace.build import event, kernel, launch, parents, read, row


def test_every_column_has_the_schemas_type() -> None:
    trace = read(event("aten::add", 1), launch(1.1, 0.2, 5), kernel("k", 2, 1, 5))
    assert {name: str(dtype) for name, dtype in trace.host.dtypes.items()} == {
        name: column.dtype for name, column in HOST.items()
    }


def test_times_are_nanoseconds_from_the_first_event() -> None:
    trace = read(
        event("b", 1000.5, 2.25),
        event("a", 1000.125, 0.001),
        kernel("k", 1003, 1, 5),
        baseTimeNanoseconds=1_700_000_000_000_000_000,
    )
    assert trace.host[["start_ns", "dur_ns"]].to_numpy().tolist() == [[0, 1], [375, 2250]]
    assert trace.device["start_ns"].tolist() == [2875]
    assert trace.origin_ns == 1_700_000_000_001_000_125


def test_a_device_event_can_be_the_first() -> None:
    trace = read(event("a", 10), kernel("k", 4, 1, 5))
    assert (trace.host["start_ns"].tolist(), trace.device["start_ns"].tolist(), trace.origin_ns) == (
        [6000],
        [0],
        4000,
    )


@pytest.mark.parametrize(
    ("cat", "kind"),
    [
        ("cpu_op", "op"), ("Operator", "op"), ("user_annotation", "annotation"), ("python_function", "python"), ("overhead", "overhead"),
        ("cuda_runtime", "runtime"), ("Runtime", "runtime"), ("cuda_driver", "runtime"), ("hip_runtime", "runtime"),
        ("xpu_runtime", "runtime"), ("xpu_sync", "runtime"), ("collective_comm", "annotation"),
        ("mtia_runtime", "runtime"), ("privateuse1_runtime", "runtime"),
    ],
)  # fmt: skip
def test_category_to_kind(cat: str, kind: str) -> None:
    assert row(read(event("e", 1, cat=cat)), "e")["kind"] == kind


def test_a_wait_that_is_written_without_its_process_is_of_the_thread_with_its_id() -> None:
    trace = read(
        event("aten::mm", 0, 5, tid=7), event("zeEventHostSynchronize", 6, 5, "xpu_sync", pid=-1, tid=7)
    )
    assert trace.host["tid"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep#3",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "Optimizer.step#SGD.step",
        "Optimizer.zero_grad#SGD.zero_grad",
    ],
)
def test_old_versions_file_annotations_under_operator(name: str) -> None:
    assert row(read(event(name, 1, cat="Operator", tid="1890023232")), name)["kind"] == "annotation"


def test_mirrors_spans_and_other_phases_are_dropped() -> None:
    trace = read(
        event("ProfilerStep#1", 1, 9, "gpu_user_annotation"),
        event("PyTorch Profiler (0)", 0, 99, "Trace", pid="Spans", tid="PyTorch Profiler"),
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 4, "ts": 1, "pid": 1, "tid": 1},
        {},
        event("aten::add", 2),
    )
    assert trace.host["name"].tolist() == ["aten::add"]
    assert trace.origin_ns == 2000


def test_parent_is_the_innermost_range_of_the_same_thread() -> None:
    trace = read(
        event("outer", 0, 100),
        event("note", 5, 90, "user_annotation"),
        event("inner", 10, 20),
        launch(12, 2, 1, name="call"),
        event("call inside the call", 12.5, 0.5),
        event("frame", 13, 1, "python_function"),
        event("other thread", 12, 2, tid=2),
        event("sticks out", 90, 20),
        event("later", 100, 1),
    )
    assert parents(trace) == {
        "outer": "", "note": "outer", "inner": "note", "call": "inner", "call inside the call": "inner", "frame": "inner",
        "other thread": "", "sticks out": "", "later": "sticks out",
    }  # fmt: skip


def test_equal_and_empty_intervals_nest_in_the_order_of_the_file() -> None:
    trace = read(
        event("a", 10, 5),
        event("b", 10, 5),
        event("empty at start", 10, 0),
        event("empty at end", 15, 0),
        event("empty twin", 15, 0),
    )
    assert trace.host["name"].tolist() == ["a", "b", "empty at start", "empty at end", "empty twin"]
    assert parents(trace) == {
        "a": "",
        "b": "a",
        "empty at start": "b",
        "empty at end": "",
        "empty twin": "empty at end",
    }


def test_threads_are_numbered_and_named() -> None:
    named = {"ph": "M", "name": "thread_name", "pid": 1, "tid": "-77", "args": {"name": "thread 9 (python)"}}
    trace = read(
        event("b", 2, tid=5),
        event("a", 1, tid="-77"),
        event("same id, other process", 3, tid=5, pid=2),
        named,
    )
    assert trace.host["tid"].tolist() == [0, 1, 2]
    assert trace.threads == {0: "thread 9 (python)", 1: "thread 5", 2: "thread 5"}


def test_backward_is_what_runs_below_the_autograd_engine() -> None:
    trace = read(
        event("aten::mul", 0, 5),
        event("autograd::engine::evaluate_function: MulBackward0", 10, 10, tid=2),
        event("MulBackward0", 11, 8, tid=2),
        event("aten::mul_grad", 12, 2, tid=2),
        launch(12.5, 1, 4, tid=2),
        event("aten::add_", 30, 2, tid=2),
    )
    backward = dict(zip(trace.host["name"], trace.host["backward"], strict=True))
    assert [name for name, is_backward in backward.items() if is_backward] == [
        "autograd::engine::evaluate_function: MulBackward0", "MulBackward0", "aten::mul_grad",
    ]  # fmt: skip


def test_backward_of_torch_1_8_by_the_nodes_name() -> None:
    trace = read(
        event("AddmmBackward", 10, 10, "Operator"),
        event("aten::mm", 11, 2, "Operator"),
        event("aten::add", 30, 2, "Operator"),
    )
    assert trace.host["backward"].tolist() == [True, True, False]


def test_arguments_old_and_new() -> None:
    trace = read(
        event("new", 1, Input_Dims=[[2, 3], []], Input_type=["float", "Scalar"], Sequence_number=12),
        event("old", 3, Input_dims=[[4]], **{"External id": 3}),
        event("none", 5),
    )
    assert trace.host["shapes"].tolist() == ["[[2, 3], []]", "[[4]]", ""]
    assert trace.host["dtypes"].tolist() == ['["float", "Scalar"]', "", ""]
    assert trace.host["sequence"].tolist() == [12, -1, -1]


def test_quoted_times_and_numbers() -> None:
    trace = read(event("a", "1704161511420306.491", "13.08"), event("b", "1704161511420307.492", 1))
    assert trace.host["start_ns"].tolist() == [0, 1001]
    assert trace.host["dur_ns"].tolist() == [13080, 1000]


def test_epoch_microseconds_with_decimals_are_exact() -> None:
    text = b'[{"ph":"X","cat":"cpu_op","name":"a","ts":1702326549123456.789,"dur":1,"pid":1,"tid":1},'
    text += b'{"ph":"X","cat":"cpu_op","name":"b","ts":1702326549123456.791,"dur":1,"pid":1,"tid":1}]'
    trace = read_trace(io.BytesIO(text))
    assert trace.host["start_ns"].tolist() == [0, 2]
    assert trace.origin_ns == 1_702_326_549_123_456_789


def test_events_without_a_usable_time_are_left_out_and_told() -> None:
    trace = read(
        event("good", 1), event("no time", None), event("backwards", 5, -3), event("no duration", 6, None)
    )
    assert trace.host["name"].tolist() == ["good", "no duration"]
    assert trace.notes == ("Left out: 2 events without a usable time.",)


def test_top_level_information() -> None:
    trace = read(
        event("a", 1),
        computeProperties=[{"id": 0, "name": "V100"}],
        distributedInfo={"rank": 3},
        with_stack=1,
        **{"rocprofiler-sdk_version": 1.1},
    )
    assert trace.info["deviceProperties"] == [{"id": 0, "name": "V100"}]
    assert trace.info["distributedInfo"] == {"rank": 3}
    assert (
        trace.info["with_stack"],
        trace.info["rocprofiler-sdk_version"],
        "record_shapes" in trace.info,
    ) == (1, 1.1, False)


def test_threads_of_two_processes_with_the_same_id_keep_their_names() -> None:
    named = [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": 1, "args": {"name": name}}
        for pid, name in ((100, "of the first"), (200, "of the second"))
    ]
    trace = read(event("a", 0, pid=100), event("b", 1, pid=200), event("c", 2, pid=300), *named)
    assert list(trace.threads.values()) == ["of the first", "of the second", "of the second"]
