import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from diagnose.errors import DiagnoseError
from diagnose.judge.timelines import ZERO_NS, measured_case
from diagnose.measure.collectives import kind_of
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.recording import Recording, grouped_steps
from diagnose.ranks.summary import read_summary, summary_of, write_summary
from tests.ranks.jobs import info, measured, summary
from tests.trace.build import event, read


def test_a_rank_s_collectives_with_what_it_did_on_its_way_to_each():
    one = summary(2, late_ms=30, clock_ms=5)
    zero = ZERO_NS + 5_000_000
    table = one.collectives
    assert table["kind"].tolist() == ["all_reduce"] * 4
    assert table["step"].tolist() == [0, 1, 2, 3]
    assert (table["arrival_ns"] - zero).tolist() == [70_000_000, 170_000_000, 270_000_000, 370_000_000]
    assert (table["end_ns"] - zero).tolist() == [80_000_000, 180_000_000, 280_000_000, 380_000_000]
    assert table["bytes"].tolist() == [2**20] * 4
    assert table["input_wait"].tolist() == [35_000_000] * 4
    assert table["compute"].tolist() == [34_900_000] * 4
    # from 80 ms to the end of the step before
    assert table["python"].tolist() == [0, 20_000_000, 20_000_000, 20_000_000]
    assert (one.rank, one.world_size, one.backend, one.device, one.step_ms) == (
        2,
        4,
        "nccl",
        "GPU 0",
        pytest.approx(100),
    )
    assert one.rows_ms["input_wait"] == pytest.approx(35)
    assert (one.steps["start_ns"] - zero).tolist() == [0, 100_000_000, 200_000_000, 300_000_000]


def test_on_the_host_a_collective_begins_when_the_backend_takes_it_up():
    text = """
        main 0 50000 step ProfilerStep#0
        main 0 20000 op aten::mm
        main 20000 500 op c10d::allreduce_
        pool 21000 9000 op gloo:all_reduce {"Input Dims": [[1000]], "Input type": ["float"]}
        main 50000 50000 step ProfilerStep#1
        main 50000 20000 op aten::mm
    """
    one = summary_of(measured_case({"timeline": text, "info": info(1, 2)}), source="x")
    (row,) = one.collectives.to_dict("records")
    assert (row["kind"], row["arrival_ns"] - ZERO_NS, row["end_ns"] - ZERO_NS) == (
        "all_reduce",
        21_000_000,
        30_000_000,
    )
    assert (row["bytes"], row["step"], row["lane"]) == (4000, 0, "0")
    assert row["operators"] == 20_500_000  # the product, and the call that starts the collective
    assert one.device == "CPU"


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ('record_param_comms {"Input Dims": [[1000]], "Input type": ["float"]}', 4000),
        # numbers of what?
        ('record_param_comms {"Input Dims": [[[1000]]], "Input type": ["TensorList"]}', -1),
        # the output comes first
        ('c10d::_allgather_base_ {"Input Dims": [[4000], [1000]], "Input type": ["float", "float"]}', -1),
        ("record_param_comms", -1),
    ],
)
def test_bytes_are_what_the_rank_puts_in_or_unknown(op, expected):
    text = f"""
        main 0 50000 step ProfilerStep#0
        main 100 200 op {op}
        main 150 100 runtime cudaLaunchKernel {{"correlation": 1}}
        gpu 300 9000 kernel ncclDevKernel_AllGather_RING_LL {{"correlation": 1}}
    """
    assert summary_of(measured_case({"timeline": text})).collectives["bytes"].tolist() == [expected]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "send_recv"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("ncclDevKernel_AllGather_RING_LL", "all_gather"),
        ("ncclDevKernel_Broadcast_RING_LL", "broadcast"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "reduce"),
        ("ncclDevKernel_Generic_4", "other"),
        ("void vllm::cross_device_reduce_1stage<half, 2>", "all_reduce"),
        ("void deep_ep::intranode::dispatch<4, 768, 8192>", "all_to_all"),
        ("c10d::alltoall_base_", "all_to_all"),
        ("c10d::_allgather_base_", "all_gather"),
        ("c10d::_reduce_scatter_base_", "reduce_scatter"),
        ("c10d::send", "send_recv"),
        ("c10d::barrier", "barrier"),
        ("gloo:all_reduce", "all_reduce"),
        ("_c10d_functional::all_gather_into_tensor", "all_gather"),
    ],
)
def test_kinds_of_collectives(name, kind):
    assert kind_of(name) == kind


def test_a_recording_without_steps_has_an_empty_summary(tmp_path):
    one = summary_of(Measured(Recording(tmp_path / "rank3.json", timeline=None)))
    assert (one.rank, one.source, one.device, len(one.collectives), len(one.steps)) == (
        3,
        "rank3.json",
        "",
        0,
        0,
    )


def test_the_run_s_own_facts_tell_the_rank_before_the_file_s_name():
    of = measured(2)
    assert summary_of(of, source="rank7.json").rank == 2
    assert summary_of(of, source="rank7.json", rank=5).rank == 5


def test_a_damaged_rank_or_world_size_counts_as_unknown():
    told = {"distributedInfo": {"rank": -3, "world_size": 10**12}}
    one = summary_of(
        measured_case({"timeline": "main 0 100 step ProfilerStep#0\nmain 0 50 op aten::mm", "info": told}),
        source="x.json",
    )
    assert (one.rank, one.world_size) == (-1, 0)


def test_a_summary_survives_being_a_file(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    one = summary(2, late_ms=30)
    write_summary(one, tmp_path / "2.parquet")
    again = read_summary(tmp_path / "2.parquet")
    pd.testing.assert_frame_equal(again.collectives, one.collectives)
    pd.testing.assert_frame_equal(again.steps, one.steps)
    told = {name: value for name, value in vars(again).items() if name not in ("steps", "collectives")}
    assert told == {name: value for name, value in vars(one).items() if name not in ("steps", "collectives")}


def with_inputs(elements, ticks_per_step=1):
    """A recording of ticks 10 to 14, a step of 10 µs each."""
    ticks = [event(f"diagnose::tick|{10 + at}", 10 * at, 1) for at in range(5)]
    trace = read(*ticks, *(event("aten::mm", 10 * at + 3, 2) for at in range(4)))
    clock = {
        "ticks_per_step": ticks_per_step,
        "phases": [{"name": "timeline", "first_tick": 10, "tick_ns": [0] * 5, "input_elements": elements}],
    }
    return Measured(Recording(Path("run"), timeline=grouped_steps(trace, ticks_per_step), clock=clock))


def test_how_much_input_each_step_got():
    assert summary_of(with_inputs([64, 64, 0, 128])).steps["input_elements"].tolist() == [64, 64, -1, 128]
    assert summary_of(with_inputs([1, 2, 3, 4], ticks_per_step=2)).steps["input_elements"].tolist() == [3, 7]
    assert summary_of(with_inputs([64])).steps["input_elements"].tolist() == [64, -1, -1, -1]
    assert summary_of(with_inputs(None)).steps["input_elements"].tolist() == [-1] * 4
    assert summary(2).steps["input_elements"].tolist() == [-1] * 4


def test_the_spread_of_the_input():
    # 128 over the median of 64, 64 and 128
    assert with_inputs([64, 64, 0, 128]).metric("input_elements_spread") == 2
    assert isinstance(with_inputs(None).metric("input_elements_spread"), Missing)


def test_a_summary_from_before_inputs_were_counted_is_read(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    one = summary(2)
    write_summary(replace(one, steps=one.steps.drop(columns="input_elements")), tmp_path / "2.parquet")
    assert read_summary(tmp_path / "2.parquet").steps["input_elements"].tolist() == [-1] * 4


def test_what_is_no_summary_is_refused(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "2.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(DiagnoseError, match="no summary"):
        read_summary(tmp_path / "2.parquet")
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "3.parquet")
    with pytest.raises(DiagnoseError, match="no summary"):
        read_summary(tmp_path / "3.parquet")


def test_without_pyarrow_a_summary_works_and_its_file_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    one = summary(0)
    with pytest.raises(DiagnoseError, match="pyarrow"):
        write_summary(one, tmp_path / "0.parquet")
