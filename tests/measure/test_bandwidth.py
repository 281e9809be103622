"""Bus bandwidths and waiting by hand.

The traces that others recorded are looked for in ``../shared/traces``; without them, skipped.
"""

import json
import tomllib
from pathlib import Path

import pytest

from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure.collectives import collectives as found_in
from diagnose.measure.links import bare_name, link_gb_per_s
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.recording import load_recording
from diagnose.measure.selection import Selection
from diagnose.predict.roofline import known_peaks

FOLDER = Path(__file__).parents[3] / "shared" / "traces"
A100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]}


def collectives(*told, info=None):
    """Steps of 100 ms, in each one collective a ms after the last: name, numbers of 4
    bytes that a rank of 4 puts in, ms.
    """
    lines = ["main 0 100000 step ProfilerStep#1", "main 100 50 op aten::mm"]
    at = 1000
    for number, (name, numbers, ms) in enumerate(told):
        args = {
            "correlation": number,
            "Collective name": name,
            "In msg nelems": numbers,
            "Group size": 4,
            "dtype": "Float",
            "Process Group Name": "0",
        }
        lines.append(f"gpu {at} {ms * 1000} kernel ncclDevKernel_Generic {json.dumps(args)}")
        at += ms * 1000 + 1000
    return measured_case({"timeline": "\n".join(lines), "info": info or {}})


def test_the_fastest_large_collective_counts_as_nccl_tests_count_it():
    # 64 MiB in 10 ms, of which each of 4 ranks sends 2 · 3 / 4; 4 MiB to gather 16 MiB, of which
    # each sends 3 times its own, in 2 ms.
    measured = collectives(
        ("allreduce", 2**24, 10), ("allreduce", 2**24, 40), ("_allgather_base", 2**20, 2), info=A100
    )
    assert measured.metric("bus_gb_per_s") == pytest.approx(2**26 * 1.5 / 0.010 / 1e9)
    assert measured.metric("bus_link_share") == pytest.approx(2**26 * 1.5 / 0.010 / 300e9)
    gather = collectives(("_allgather_base", 2**20, 2))
    assert gather.metric("bus_gb_per_s") == pytest.approx(2**22 * 3 / 0.002 / 1e9)


def test_small_ones_and_all_to_alls_say_nothing_of_the_link():
    small = collectives(("allreduce", 2**20, 1), info=A100)
    assert isinstance(small.metric("bus_gb_per_s"), Missing)
    spread = collectives(("all_to_all", 2**24, 10), info=A100)
    assert spread.metric("bus_gb_per_s") == pytest.approx(2**26 * 3 / 4 / 0.010 / 1e9)
    assert isinstance(spread.metric("bus_link_share"), Missing)
    unknown = collectives(("allreduce", 2**24, 10))
    assert isinstance(unknown.metric("bus_link_share"), Missing)


def test_equal_collectives_that_take_longer_than_the_fastest_wait():
    measured = collectives(
        ("allreduce", 2**20, 2), ("allreduce", 2**20, 5), ("allreduce", 2**20, 11), ("allreduce", 2**10, 2)
    )
    assert measured.metric("collective_waiting_share") == pytest.approx((3 + 9) / (2 + 5 + 11 + 2))
    few = collectives(("allreduce", 2**20, 2), ("allreduce", 2**20, 5))
    assert isinstance(few.metric("collective_waiting_share"), Missing)


@pytest.mark.parametrize(
    ("name", "ranks", "gb_per_s"),
    [
        ("NVIDIA A100-SXM4-80GB", 8, 300),
        ("NVIDIA A100-SXM4-80GB", 2, 100),
        ("Tesla V100-SXM2-32GB", 4, 75),
        ("NVIDIA B200", 2, 900),
        ("NVIDIA H200", 1, None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 2, None),
        ("NVIDIA L4", 8, None),
    ],
)
def test_links(name, ranks, gb_per_s):
    assert link_gb_per_s(name, ranks) == gb_per_s


def test_every_link_has_a_source_and_a_gpu_with_peaks():
    table = tomllib.loads(
        (Path(__file__).parents[2] / "diagnose" / "measure" / "links.toml").read_text(encoding="utf-8")
    )
    for entry in table["gpu"]:
        assert entry["source"] and 0 < entry["one"] <= entry["all"]
        assert {bare_name(name) for name in entry["names"]} <= known_peaks().keys()


def test_kinds_that_only_the_kernel_s_name_tells_are_guesses():
    view = Selection(
        trace_from_text(
            "main 0 100 step ProfilerStep#1\nmain 1 5 op aten::mm\ngpu 10 5 kernel ncclDevKernel_SendRecv"
        )
    )
    found = found_in(view, view.device.index.to_numpy())
    assert (found.kind.tolist(), found.guessed.tolist(), found.size.tolist(), found.group.tolist()) == (
        ["send_recv"],
        [True],
        [-1],
        [""],
    )


# ---- recorded


@pytest.mark.skipif(not (FOLDER / "ao-moe-ref.json.gz").exists(), reason="no ao-moe-ref in ../shared/traces")
def test_all_to_alls_of_a_mixture_of_experts_are_no_pipeline():
    """31 kernels named SendRecv on a B200:

    20 all-to-alls of 112 MiB between two ranks, 10 small ones, one launched before the trace.
    """
    measured = Measured(load_recording(FOLDER / "ao-moe-ref.json.gz"))
    assert measured.metric("communication_count_per_step") > 0
    assert measured.metric("pipeline_transfers_count_per_step") == 0
    assert measured.metric("bus_gb_per_s") == pytest.approx(117_440_512 / 2 / 186.1e-6 / 1e9, rel=0.01)
    assert isinstance(measured.metric("bus_link_share"), Missing)
