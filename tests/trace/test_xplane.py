"""Recordings of TensorFlow's and JAX's profilers: synthetic, made up by hand (`tests.trace.xspace`)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from diagnose.errors import TraceUnreadable
from diagnose.pipeline import report
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from diagnose.trace.xspace import MOST_PARTS
from tests.trace.xspace import Happened, number, part, plane

ON_GPU = "/device:GPU:0"
ABOUT_GPU: Mapping[str, int | str] = {
    "device_vendor": "Nvidia",
    "memory_size": 40 * 2**30,
    "core_count": 108,
    "compute_cap_major": 8,
    "compute_cap_minor": 0,
}
STEP_US, STEPS = 1000, 4


def tensorflow() -> bytes:
    """Four steps of 1000 µs: for 600 µs the step's thread waits while another thread gets the batch, then it
    launches a product that runs for 300 µs; 20 µs before, the batch was copied for 10 µs.
    """
    python, fetching, kernels, copies = [], [], [], []
    for step in range(STEPS):
        at = step * STEP_US
        python += [
            Happened("train", at, 990, {"step_num": step, "_r": 1}),
            Happened("EagerExecute", at + 1, 980),
            Happened("cuMemcpyHtoDAsync_v2", at + 640, 5, {"correlation_id": 2 * step + 100}),
            Happened(
                "cuLaunchKernel", at + 660, 5, {"correlation_id": 2 * step + 101, "tf_op": "net/fc:MatMul"}
            ),
        ]
        fetching += [
            Happened("IteratorGetNextOp::DoCompute", at + 20, 600),
            Happened("ThreadpoolListener::Record", at + 20, 0),
        ]
        copies.append(
            Happened(
                "MemcpyH2D",
                at + 650,
                10,
                {
                    "correlation_id": 2 * step + 100,
                    "memcpy_details": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1",
                },
            )
        )
        kernels.append(Happened("ampere_sgemm_128x64_tn", at + 670, 300, {"correlation_id": 2 * step + 101}))
    device = {"Stream #14(Kernel)": kernels, "Stream #15(MemcpyH2D)": copies, "TensorFlow Ops": kernels}
    host = {"python": python, "tf_data_iterator_get_next/7": fetching}
    return plane("/host:CPU", host) + plane(ON_GPU, device, ABOUT_GPU) + plane("Task Environment", {})


def jax() -> bytes:
    """A program that runs for 50 µs, launched by a thread that the step's thread does not tell of."""
    told = {
        "correlation_id": 7,
        "hlo_module": "jit_f",
        "hlo_op": "fusion.3",
        "name": "jit(f)/jvp/dot_general",
    }
    device = {"Stream #2": [Happened("fusion_3.kd", 100, 50, told)]}
    host = {
        "Host Threads/7": [Happened("hipModuleLaunchKernel", 90, 5, told)],
        "python3": [
            Happened("PjitFunction(f)", 10, 85, {}),
            Happened("load_batch", 0, 9, {}),
            Happened("$api.py:3105 block_until_ready", 95, 60, {}),
        ],
        "tf_PjRtCompilerThreadPool/9": [Happened("PjRtStreamExecutorClient::Compile", 20, 60, {})],
    }
    return plane(ON_GPU, device, {"device_vendor": "AMD", "compute_cap_major": 9}) + plane("/host:CPU", host)


def read(folder: Path, content: bytes, name: str = "host.xplane.pb") -> Trace:
    (folder / name).write_bytes(content)
    return read_trace(folder / name)


def test_steps_waits_and_work_of_the_gpu(tmp_path: Path) -> None:
    trace = read(tmp_path, tensorflow())
    assert (trace.step_source, len(trace.complete_steps)) == ("ProfilerStep", STEPS)
    assert trace.info["framework"] == "tensorflow"
    on_steps_thread = trace.host[trace.host["tid"] == trace.training_thread]
    waits = on_steps_thread[on_steps_thread["name"] == "IteratorGetNext"]
    assert list(waits["start_ns"]) == [20_000, 1_020_000, 2_020_000, 3_020_000]
    assert set(waits["dur_ns"]) == {600_000}
    copy, kernel = trace.device.iloc[:2].to_dict("records")
    assert (copy["name"], copy["bytes"], copy["host_memory"], copy["stream"]) == (
        "Memcpy HtoD (Pageable -> Device)",
        4096,
        "pageable",
        15,
    )
    assert (kernel["start_ns"], kernel["dur_ns"], kernel["stream"]) == (670_000, 300_000, 14)
    assert trace.host["name"].iloc[kernel["op"]] == "MatMul"
    assert len(trace.device) == 2 * STEPS  # what stands on the line of operators is the kernels again
    assert trace.info["deviceProperties"] == [
        {
            "id": 0,
            "name": "Nvidia GPU",
            "totalGlobalMem": 40 * 2**30,
            "numSms": 108,
            "computeMajor": 8,
            "computeMinor": 0,
        }
    ]
    assert "ThreadpoolListener::Record" not in set(trace.host["name"])


def test_jax_and_its_operators(tmp_path: Path) -> None:
    trace = read(tmp_path, jax())
    assert trace.info["framework"] == "jax"
    assert trace.notes[0].startswith("Recorded with JAX's profiler")
    (kernel,) = trace.device.to_dict("records")
    assert (kernel["name"], trace.host["name"].iloc[kernel["op"]]) == ("fusion_3", "dot_general")
    kinds = dict(zip(trace.host["name"], trace.host["kind"], strict=True))
    assert kinds == {
        "load_batch": "annotation",
        "block_until_ready": "annotation",
        "PjitFunction(f)": "op",
        "PjRtStreamExecutorClient::Compile": "op",
        "dot_general": "op",
        "hipModuleLaunchKernel": "runtime",
    }
    compiles = trace.host[trace.host["name"] == "PjRtStreamExecutorClient::Compile"]
    assert trace.threads[int(compiles["tid"].iloc[0])] == "python3"  # which waits for it
    assert "computeMajor" not in trace.info["deviceProperties"][0]  # AMD's numbers mean something else


def test_copies_and_sets_have_torchs_names(tmp_path: Path) -> None:
    done = ["MemcpyD2H", "MemcpyOther", "Memset"]
    line = {"Stream #3": [Happened(name, start, 1) for start, name in enumerate(done)]}
    trace = read(tmp_path, plane(ON_GPU, line))
    assert list(zip(trace.device["kind"], trace.device["direction"], trace.device["name"], strict=True)) == [
        ("memcpy", "DtoH", "Memcpy DtoH (Unknown -> Unknown)"),
        ("memcpy", "", "Memcpy Unknown (Unknown -> Unknown)"),
        ("memset", "", "Memset (Device)"),
    ]


def test_unmarked_steps_are_told_to_be_marked_in_the_frameworks_words(tmp_path: Path) -> None:
    """A pattern of two kernels six times, on a device alone."""
    names = ["fusion_1", "gemm_2"] * 6
    line = {"Stream #3": [Happened(name, 10 * at, 8) for at, name in enumerate(names)]}
    (note,) = [note for note in read(tmp_path, plane(ON_GPU, line)).notes if "repeats" in note]
    assert "tf.profiler.experimental.Trace" in note
    assert "profiler.step()" not in note


def test_packed_or_not(tmp_path: Path) -> None:
    trace = read(tmp_path, gzip.compress(tensorflow()), "host.xplane.pb.gz")
    assert len(trace.device) == 2 * STEPS


def test_a_plane_whose_device_marks_the_steps(tmp_path: Path) -> None:
    """A TPU: its operators stand on a line, and what holds others is left out."""
    steps = [Happened(str(step), step * 100, 100) for step in range(3)]
    operators = [
        Happened("while.1", 0, 300),
        *(Happened("fusion.2", step * 100 + 5, 90) for step in range(3)),
    ]
    trace = read(tmp_path, plane("/device:TPU:0", {"Steps": steps, "XLA Ops": operators}))
    assert (trace.step_source, len(trace.complete_steps)) == ("ProfilerStep", 3)
    assert list(trace.device["name"]) == ["fusion.2"] * 3


def test_the_chrome_trace_of_a_profile_is_the_same_recording(tmp_path: Path) -> None:
    """As both profilers write it: names of planes and lines first, no categories, all values as texts."""
    lines = {(701, 3): ("/host:CPU", "python"), (1, 14): (ON_GPU, "Stream #14(Kernel)")}
    names = [
        {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_name", "args": {"name": name}}
        for (pid, tid), both in lines.items()
        for what, name in zip(("process", "thread"), both, strict=True)
    ]
    told = {"correlation_id": "5", "tf_op": "net/fc:MatMul"}
    happened = [
        (701, 3, 0, 90, "train", {"step_num": "7"}),
        (701, 3, 5, 60, "IteratorGetNextOp::DoCompute", {}),
        (701, 3, 66, 4, "cuLaunchKernel", told),
        (1, 14, 70, 20, "ampere_sgemm_128x64_tn", told),
    ]
    events = [
        {"ph": "X", "pid": pid, "tid": tid, "ts": start, "dur": length, "name": name, "args": args}
        for pid, tid, start, length, name, args in happened
    ]
    path = tmp_path / "host.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": [*names, *events, {}]}).encode()))
    trace = read_trace(path)
    assert trace.info["framework"] == "tensorflow"
    assert list(trace.host["name"]) == ["ProfilerStep#7", "IteratorGetNext", "MatMul", "cuLaunchKernel"]
    (kernel,) = trace.device.to_dict("records")
    assert (kernel["device"], kernel["stream"], kernel["launch"], kernel["op"]) == (0, 14, 3, 2)
    assert report(path, tmp_path / "report").headline


def test_a_report_speaks_the_frameworks_words(tmp_path: Path) -> None:
    (tmp_path / "host.xplane.pb").write_bytes(tensorflow())
    document = report(tmp_path / "host.xplane.pb", tmp_path / "report")
    assert document.plan[0].rule == "tf-data-late"
    shares = {row.row: row.share for row in document.ledger}
    assert shares["input_wait"] == pytest.approx(0.6, abs=0.02)
    assert shares["compute"] == pytest.approx(0.3, abs=0.02)
    told = (tmp_path / "report" / "report.md").read_text()
    assert "tf.data.AUTOTUNE" in told
    assert not [word for word in ("torch.", "DataLoader", "ProfilerActivity", "YOUR_SCRIPT") if word in told]


@pytest.mark.parametrize("kept", [n / 40 for n in range(40)])
def test_a_cut_file_is_read_as_far_as_it_is_whole(tmp_path: Path, kept: float) -> None:
    """The host comes first; without the GPU's part no step is whole."""
    whole = tensorflow()
    content = whole[: int(kept * len(whole))]
    if len(content) < whole.index(ON_GPU.encode()):
        with pytest.raises(TraceUnreadable) as refusal:
            read(tmp_path, content)
        assert refusal.value.do
        return
    trace = read(tmp_path, content)
    assert "cut off or damaged" in trace.notes[1]
    assert len(trace.host) and not len(trace.complete_steps)


HOSTILE = {
    "a number without an end": part(1, part(2, "/host:CPU") + b"\x08" + b"\xff" * 40),
    "a length beyond all": b"\n" + b"\xff" * 8 + b"\x01\x12\x09/host:CPU",
    "groups in groups": part(1, part(2, "/host:CPU") + b"\x1b" * 10_000),
    "a line of no events": part(1, part(2, "/host:CPU") + part(3, part(4, b"\x08") + b"\x20\x01")),
    "names that are no text": part(1, part(2, "/host:CPU") + part(3, part(2, b"\xff\xfe") + part(4, b""))),
    "times of the far future": part(
        1, part(2, "/host:CPU") + part(3, number(3, 2**63) + part(4, number(2, 2**64 - 1) + number(3, 2**62)))
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_words(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceUnreadable) as refusal:
        read(tmp_path, HOSTILE[name])
    assert refusal.value.do


def test_more_parts_than_any_recording_has_are_refused(tmp_path: Path) -> None:
    lines = part(3, b"") * (MOST_PARTS + 1)
    with pytest.raises(TraceUnreadable, match="no recording of XLA's profiler") as refusal:
        read(tmp_path, part(1, part(2, "/host:CPU") + lines))
    assert "more than" in refusal.value.saw


def test_events_beyond_the_limit_of_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "host.xplane.pb").write_bytes(tensorflow())
    with pytest.raises(TraceUnreadable, match="more memory than the limit"):
        read_trace(tmp_path / "host.xplane.pb", memory_limit=1000)
