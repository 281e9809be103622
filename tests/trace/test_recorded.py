"""Every trace at hand that others recorded: read to tables that hold together, or refused in words.

The traces are not part of the project. They are looked for in ``../shared/traces``;
without them these tests are skipped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diagnose.errors import TraceUnreadable
from diagnose.trace.reader import read_trace
from diagnose.trace.repetition import find_repetition
from diagnose.trace.schema import COLLECTIVES, DEVICE, HOST, MEMORY, STEPS, Trace

FOLDER = Path(__file__).parents[2].parent / "shared" / "traces"
FILES = sorted(FOLDER.glob("*.gz"))
QUICK_BYTES = 1_000_000  # packed: what is larger takes as long as ten others
if not FILES:
    pytest.skip(f"no recorded traces in {FOLDER}", allow_module_level=True)

REFUSED = {
    "neg-aiter-rocprof": "rocprof",
    "neg-ascend-traceview": "Ascend",
    "neg-hidet": "begin and end events",
    "neg-lightning-legacy": "old torch.autograd.profiler",
    "neg-recsys-nsysconv": "Nsight Systems",
}


NOTES = [
    "repetition counts as a step",
    "No ProfilerStep marks the steps",
    "for work launched before the recording",
    "GPU activity was not recorded",
]
# Recordings that begin with a wait of 40 % of their time or more, in which the GPU shows nothing.
BEGIN_WITH_A_WAIT = {"tl-sglang-dec", "tl-sglang-prefdec", "tl-vllm-piece-capture"}
NOT_RECORDED = {
    *("hta-cupti-profiler", "neg-zoology", "neg-pyg-timeline"),
    *("neg-hta-rank-nongpu", "neg-hta-rank-notfound"),
}


def noted(name: str, trace: Trace) -> list[str]:
    """The notes a trace should come with."""
    said = (
        trace.step_source == "repetition",
        trace.step_source == "annotation",
        name in BEGIN_WITH_A_WAIT,
        name in NOT_RECORDED,
    )
    return [note for note, is_said in zip(NOTES, said, strict=True) if is_said]


def identity(path: Path) -> str:
    return path.name.split(".")[0]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.long] if path.stat().st_size > QUICK_BYTES else [])
        for path in FILES
    ],
    ids=identity,
)
def test_read_or_refused_in_words(path: Path) -> None:
    refusal = REFUSED.get(identity(path))
    if refusal:
        with pytest.raises(TraceUnreadable, match=refusal):
            read_trace(path)
        return
    trace = read_trace(path)
    if ".sqlite" in path.name:
        check_tables(trace)
        return
    notes = [*trace.notes, *(doubt.text for doubt in trace.doubts)]
    assert [next((note for note in NOTES if note in told), told) for told in notes] == noted(
        identity(path), trace
    ), "nothing was lost"
    check_tables(trace)


def check_tables(trace: Trace) -> None:
    tables = (
        (trace.host, HOST),
        (trace.device, DEVICE),
        (trace.steps, STEPS),
        (trace.memory, MEMORY),
        (trace.collectives, COLLECTIVES),
    )
    for table, columns in tables:
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == {
            name: column.dtype for name, column in columns.items()
        }
    for table in (trace.host, trace.device):
        start, dur = table["start_ns"].to_numpy(), table["dur_ns"].to_numpy()
        assert (start >= 0).all() and (dur >= 0).all()
        assert (np.lexsort((-dur, start)) == np.arange(len(start))).all(), "sorted by start, longer first"
    assert trace.memory["time_ns"].is_monotonic_increasing
    assert (trace.memory[["allocated_bytes", "reserved_bytes"]].to_numpy() >= -1).all()
    check_parents(trace)
    check_links(trace)
    assert len(trace.steps) > 0
    assert (trace.steps["start_ns"].to_numpy()[1:] >= trace.steps["end_ns"].to_numpy()[:-1]).all(), (
        "steps do not overlap"
    )
    assert set(trace.host["tid"].unique()) <= set(trace.threads)
    assert trace.training_thread in trace.threads or len(trace.host) == 0


def check_parents(trace: Trace) -> None:
    host, row = trace.host, np.flatnonzero(trace.host["parent"] >= 0)
    parent = host["parent"].to_numpy()[row]
    start, end = host["start_ns"].to_numpy(), (host["start_ns"] + host["dur_ns"]).to_numpy()
    assert (parent < row).all()
    assert (start[parent] <= start[row]).all() and (end[parent] >= end[row]).all()
    assert (host["tid"].to_numpy()[parent] == host["tid"].to_numpy()[row]).all()
    assert set(host["kind"].iloc[parent].unique()) <= {"op", "annotation", "mark"}


def check_links(trace: Trace) -> None:
    device = trace.device
    linked = device[device["launch"] >= 0]
    launches = trace.host.iloc[linked["launch"]]
    assert (launches["correlation"].to_numpy() == linked["correlation"].to_numpy()).all()
    assert set(launches["kind"].unique()) <= {"runtime"}
    assert set(trace.host["kind"].iloc[device["op"][device["op"] >= 0]].unique()) <= {"op"}


def test_bench_h2d_by_hand() -> None:
    """Three copies of a benchmark: pinned; pageable; pageable with non_blocking,
    which still comes from pageable memory.
    """
    kinds = [
        read_trace(FOLDER / f"bench-h2d-{number}.json.gz").device["host_memory"].unique().tolist()
        for number in (1, 2, 3)
    ]
    assert kinds == [["pinned"], ["pageable"], ["pageable"]]


STEP_SOURCES = {
    "optimizer": [
        "hta-gpu-user-annot",
        "kineto-rn50-oldapi-w0",
        "kineto-rn50-oldapi-w4",
        "param-linear",
        "param-resnet",
        "tl-mi300-ddp-rn18",
    ],
    # Each forward in a range of the program's own, which together cover most of the recording.
    "annotation": ["ao-vit-bf16-a", "ao-vit-int8"],
    # Loops around one forward, one graph replay or one kernel.
    "repetition": [
        *("ao-vit-bf16", "ao-vit-prune", "nuggets-bnb", "nuggets-qlora", "tl-nv-moe01"),
        *("tl-elem01", "tl-gemm01", "tl-gemm04", "tl-sdpa01"),
    ],
    # Cold starts, graph captures, single passes whose layers repeat, and loops inside one annotation.
    "whole trace": [
        *(
            "tl-b200-eager",
            "tl-sglang-dec",
            "tl-sglang-prefdec",
            "tl-vllm-dec",
            "tl-vllm-piece",
            "tl-vllm-piece-capture",
        ),
        *("tl-b300-dsr1", "tl-b300-qwen30b", "tl-mi300-qwen30b", "switch-a", "switch-b", "switch-d"),
        *("ao-gtx1650", "flashinfer-rope", "hta-cp-alexnet", "tl-mi210-gpuonly", "tl-flux-split0"),
    ],
}


@pytest.mark.parametrize(
    ("name", "source"), [(name, source) for source, names in STEP_SOURCES.items() for name in names]
)
def test_what_counts_as_a_step_where_no_profiler_step_is(name: str, source: str) -> None:
    assert read_trace(FOLDER / f"{name}.json.gz").step_source == source


@pytest.mark.parametrize(
    "name", ["kineto-rn50-w0-v2", "hta-dfindex-v100", "hta-nccl-cfg", "hta-diff-control", "kineto-rn50-w0-v3"]
)
def test_repetition_finds_the_steps_that_are_marked(name: str) -> None:
    trace = read_trace(FOLDER / f"{name}.json.gz")
    device = trace.device[((trace.device["kind"] == "kernel") & ~trace.device["communication"]).to_numpy()]
    kernels = device[(device["stream"] == device.groupby("stream")["dur_ns"].sum().idxmax()).to_numpy()]
    run = find_repetition(kernels["name"].cat.codes.to_numpy().astype(np.int64))
    assert run is not None and run.length == len(kernels)
    start = kernels["start_ns"].to_numpy()
    marked = np.diff(trace.steps["start_ns"]).mean()
    assert np.diff(start[:: run.period]).mean() == pytest.approx(marked, rel=0.02)


TOLD = {
    # kernels of collectives, of which so many tell; distinct (name, group, ranks, size, bytes
    # that the rank puts in), read by hand
    "ao-moe-ref": (
        31,
        30,
        {("all_to_allv", "0", "[0, 1]", 2, 64), ("all_to_allv", "0", "[0, 1]", 2, 117_440_512)},
    ),
    "ao-moe-syncless": (30, 10, {("_allgather_base", "0", "[0, 1]", 2, 64)}),
    "tl-b200-eager": (74, 1, {("_allgather_base", "3", "[0, 1, 2, 3, 4, 5, 6, 7]", 8, 50_272)}),
    "param-dlrm-r0": (8, 0, set()),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_torch_tells_of_collectives(name: str) -> None:
    trace = read_trace(FOLDER / f"{name}.json.gz")
    told = trace.collectives
    assert trace.device["communication"].to_numpy()[told["kernel"]].all()
    distinct = set(
        told[["name", "group", "ranks", "size", "in_bytes"]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    )
    assert (int(trace.device["communication"].sum()), len(told), distinct) == TOLD[name]
