"""Tables of Nsight Compute: made up by hand, with its names of columns and metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnose.commands import main as cli
from diagnose.errors import TraceUnreadable
from diagnose.profiles.counters import CountedKernel, CountersSummary, counted_as
from diagnose.profiles.ncu import Kernel
from diagnose.profiles.summarised import read_summary

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
LOG = (
    '==PROF== Connected to process 77\nepoch 0: loss 1.5\n==PROF== Profiling "gemm": 0%....100% - 8 passes\n'
)
RAW = f'''"ID","Process ID","Kernel Name","gpu__time_duration.sum","{SM}","{MEMORY}","{OCCUPANCY}"
"","","","nsecond","%","%","%"
"0","77","void gemm<float>(float *)","3,000","90.5","20","50"
"1","77","add(int)","1,000","10","88","90"
"2","77","void gemm<float>(float *)","1,000","70.5","40","10"
"3","77","tiny()","500","5","6","7"
'''
DETAILS = """"ID","Process ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","77","add(int)","GPU Speed Of Light Throughput","Duration","us","1,5"
"0","77","add(int)","GPU Speed Of Light Throughput","Compute (SM) Throughput","%","71.0"
"0","77","add(int)","GPU Speed Of Light Throughput","Memory Throughput","%","65.0"
"0","77","add(int)","Memory Workload Analysis","Memory Throughput","Gbyte/second","912.0"
"0","77","add(int)","GPU Speed Of Light Throughput","DRAM Throughput","%","n/a"
"0","77","add(int)","Occupancy","Achieved Occupancy","%","44.5"
"""


def told(folder: Path, content: str | bytes) -> CountersSummary:
    path = folder / "ncu.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read_summary(path)
    assert isinstance(found, CountersSummary)
    return found


def test_launches_of_a_kernel_are_one_each_weighed_by_its_time(tmp_path: Path) -> None:
    """gemm: 90.5 for 3 µs and 70.5 for 1 µs are 85.5; it takes 4 of 5.5 µs."""
    gemm, add, tiny = told(tmp_path, RAW).kernels
    assert (gemm.launches, gemm.ms, gemm.share) == (2, pytest.approx(0.004), pytest.approx(4 / 5.5))
    assert (gemm.compute, gemm.memory, gemm.occupancy) == pytest.approx((0.855, 0.25, 0.4))
    assert [kernel.bound for kernel in (gemm, add, tiny)] == ["compute", "memory", "latency"]
    assert "above 80 %" in gemm.meaning
    assert gemm.dram is None


def test_the_page_details_holds_a_metric_a_row(tmp_path: Path) -> None:
    """A throughput in bytes has the same name; a decimal comma is one; n/a is nothing."""
    (add,) = told(tmp_path, DETAILS).kernels
    assert (add.ms, add.compute, add.memory, add.occupancy) == pytest.approx((0.0015, 0.71, 0.65, 0.445))
    assert (add.dram, add.bound) == (None, "both")


def test_a_log_may_stand_around_the_table(tmp_path: Path) -> None:
    table = RAW.replace('"1","77"', 'epoch 1: loss 1.2\n"1","77"')
    assert len(told(tmp_path, f"{LOG}{table}==PROF== Disconnected\n").kernels) == 3


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    (kernel,) = told(tmp_path, '"ID","Kernel Name","Metric Name"\n"0","add","Duration"\n').kernels
    assert (kernel.ms, kernel.share, kernel.bound) == (None, None, None)
    assert "ncu --set basic" in kernel.meaning


@pytest.mark.parametrize(
    ("compute", "memory", "bound"),
    [
        (59.9, 59.9, "latency"),
        (60.0, 49.9, "compute"),
        (60.0, 50.0, "both"),
        (50.0, 60.1, "memory"),
        (None, 90.0, None),
    ],
)
def test_bounds_are_those_of_nsight_computes_own_rule(
    compute: float | None, memory: float | None, bound: str | None
) -> None:
    assert Kernel("k", 1, 1.0, compute, memory, None, None).bound == bound


def kernels(*names: str) -> list[CountedKernel]:
    return [CountedKernel(name, 1, 1.0, 1.0, 0.5, 0.5, None, None, "latency", "") for name in names]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("void at::f<float>(int)", "void at::f<float>(int)"),
        ("at::f<float>(long)", None),  # two have these template arguments
        ("void at::f<double>(long)", "void at::f<double>(int)"),
        ("void at::g<std::array<char, 2>>(int)", "g"),
        ("h(int)", None),
    ],
)
def test_a_kernel_is_known_by_its_name_as_far_as_that_is_one_kernels(name: str, found: str | None) -> None:
    known = kernels("void at::f<float>(int)", "at::f<float>(char)", "void at::f<double>(int)", "g")
    kernel = counted_as(name, known)
    assert (kernel.name if kernel else None) == found


@pytest.mark.parametrize(
    "content",
    [
        LOG,
        '"ID","Process ID","Kernel Name"\n',
        '"ID","Process ID","Kernel Name"\n"0","1',
        '"ID","Process ID","Kernel Name"\n"0","1","' + "x" * 200_000 + '"\n',
        b'"ID","Process ID",\xff\xfe\0\n"0"\n',
    ],
    ids=range(5),
)
def test_a_table_without_kernels_is_refused(content: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(TraceUnreadable, match="a table of Nsight Compute that is damaged or cut"):
        told(tmp_path, content)


@pytest.mark.parametrize("value", ["nan", "-5", "1e999", "9" * 400, "", "0x10", "1_000"])
def test_numbers_that_are_none_are_not_measured(value: str, tmp_path: Path) -> None:
    (kernel,) = told(
        tmp_path,
        f'"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","k","SOL SM","%","{value}"\n',
    ).kernels
    assert kernel.compute is None or kernel.compute <= 1.0


def test_the_command_writes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ncu.csv").write_text(RAW)
    assert cli.main(["ncu.csv", "--out", "out", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert "limited by compute (compute 85 %, memory 25 %)" in shown.err
    assert json.loads(shown.out)["kernels"][1]["bound"] == "memory"
    page = Path("out/profile.md").read_text()
    assert "Memory traffic limits it" in page
    assert "SOLBottleneck" in page
