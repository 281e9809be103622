"""What kernels would take in another number format, by hand."""

import csv
from pathlib import Path

import pytest

from diagnose.predict.flops import Work
from diagnose.predict.roofline import Peaks, known_peaks, peaks_of, retimed_ns, roofline_ns

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "MANIFEST.csv"
UNKNOWN = {
    "",
    "AMD Radeon Graphics",
    "AMD Instinct MI308X",
    "ARTEMIS",
    "NVIDIA GeForce GTX 1650",
    "NVIDIA GeForce RTX 3060",
}

# 100 GB/s; 1, 8 and 16 TFLOP/s
GPU = Peaks("made up", 100e9, {"fp32": 1e12, "tf32": 8e12, "bf16": 16e12}, "")
COMPUTE = Work(10**9, {"fp32": 10**6})  # 1 ms in fp32, of it 40 µs to move 4 MB
MEMORY = Work(0, {"fp32": 25 * 10**6})  # 100 MB: 1 ms


@pytest.mark.parametrize(
    "name, bandwidth, dtype, flops",
    [
        ("Tesla V100-SXM2-32GB", 900e9, "fp32", 15.7e12),
        ("Tesla V100-PCIE-16GB", 900e9, "fp32", 14e12),
        ("NVIDIA A100-PG509-200", 1555e9, "tf32", 156e12),
        ("A100-SXM4-40GB", 1555e9, "bf16", 312e12),
        ("NVIDIA A100 80GB PCIe", 1935e9, "fp64", 19.5e12),
        ("NVIDIA H100 80GB HBM3", 3350e9, "bf16", 989.4e12),
        ("nvidia h100 pcie", 2000e9, "bf16", 756e12),
        ("NVIDIA H200", 4800e9, "tf32", 494.7e12),
        ("NVIDIA GeForce RTX 4090", 1008e9, "fp16", 165.2e12),
        ("AMD Instinct MI300X", 5300e9, "bf16", 1307.4e12),
    ],
)
def test_known_gpus(name, bandwidth, dtype, flops):
    peaks = peaks_of(name)
    assert (peaks.bandwidth_bytes_per_s, peaks.flops_per_s[dtype]) == pytest.approx((bandwidth, flops))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "NVIDIA",
        "Some GPU",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA A1000",
    ],
)
def test_other_gpus_slices_and_near_names_are_unknown(name):
    assert peaks_of(name) is None


def test_a_gpu_without_a_format_has_no_peak_in_it():
    assert not {"tf32", "bf16"} & set(peaks_of("Tesla V100-SXM2-32GB").flops_per_s)


def test_every_entry_names_its_source_and_is_plausible():
    assert len(known_peaks()) > 30
    for peaks in known_peaks().values():
        rates = [peaks.flops_per_s[dtype] for dtype in ("fp32", "tf32", "bf16") if dtype in peaks.flops_per_s]
        assert "https://" in peaks.source
        assert (
            100e9 < peaks.bandwidth_bytes_per_s < 10e12 and rates == sorted(rates) and 1e12 < rates[0] < 1e16
        )
        assert peaks.flops_per_s.get("fp16", peaks.flops_per_s.get("bf16")) == peaks.flops_per_s.get(
            "bf16", peaks.flops_per_s.get("fp16")
        )


@pytest.mark.skipif(not TRACES.exists(), reason="needs the shared traces")
def test_device_names_of_traces():
    with TRACES.open(newline="") as file:
        found = {
            one.rpartition("x")[0] for row in csv.DictReader(file) for one in row["device_names"].split("|")
        }
    assert {name for name in found if peaks_of(name) is None} == UNKNOWN & found


def test_a_matrix_product_at_the_roofline():
    peaks = peaks_of("Tesla V100-SXM2-32GB")
    product = Work(2 * 1024**3, {"fp32": 3 * 1024**2})
    assert roofline_ns(product, peaks, "fp32") == pytest.approx(2 * 1024**3 / 15.7e12 * 1e9)  # 136.8 µs
    assert roofline_ns(product, peaks, "fp32") == pytest.approx(136_783, abs=1)
    halved = Work(2 * 1024**3, {"fp16": 3 * 1024**2})
    assert roofline_ns(halved, peaks, "fp16") == pytest.approx(17_180, abs=1)  # compute; 6.3 MB take 7.0 µs
    assert roofline_ns(Work(0, {"fp32": 225 * 10**6}), peaks, "fp32") == pytest.approx(1e6)  # 900 MB


def test_the_roofline_of_a_format_without_a_peak_is_unknown():
    assert roofline_ns(COMPUTE, GPU, "fp16") is None
    assert roofline_ns(MEMORY, GPU, "fp16") == pytest.approx(1e6)  # no arithmetic: no peak needed


def test_a_kernel_at_the_peak_takes_at_least_the_roofline_of_the_other_format():
    # 1 ms becomes 125 µs; of a tensor core's peak large products reach 60 % or more: 208 µs
    assert retimed_ns(1e6, COMPUTE, GPU, "fp32", "tf32") == pytest.approx((125_000, 125_000 / 0.6))


def test_a_slow_kernel_keeps_its_share_of_the_peak_or_its_time_above_the_roofline():
    # at half the peak: 2 ms × 1/8, or the 1 ms above the roofline and 0.125 ms
    assert retimed_ns(2e6, COMPUTE, GPU, "fp32", "tf32") == pytest.approx((250_000, 1_125_000))


def test_a_faster_format_runs_into_the_memory():
    # 1 GFLOP in bf16: 62.5 µs, but 2 × 5 M numbers: 100 µs
    work = Work(10**9, {"fp32": 5 * 10**6})
    assert retimed_ns(1e6, work, GPU, "fp32", "bf16") == pytest.approx((100_000, 62_500 / 0.6))


def test_a_kernel_bound_by_memory_gains_nothing_from_tf32_and_half_from_bf16():
    assert retimed_ns(1e6, MEMORY, GPU, "fp32", "tf32") == (1e6, 1e6)
    assert retimed_ns(1e6, MEMORY, GPU, "fp32", "bf16") == pytest.approx((500_000, 500_000))
    assert retimed_ns(4e6, MEMORY, GPU, "fp32", "bf16") == pytest.approx((2e6, 3.5e6))


def test_a_kernel_faster_than_its_roofline_is_taken_to_be_at_it():
    # Winograd multiplies less, a cache spares traffic: the other format is not expected to repeat that
    assert retimed_ns(500_000, COMPUTE, GPU, "fp32", "tf32") == pytest.approx((125_000, 125_000 / 0.6))
    assert retimed_ns(100_000, COMPUTE, GPU, "fp32", "tf32") == (100_000, 100_000)


def test_no_kernel_gets_shorter_than_the_shortest():
    small = Work(10**6, {"fp32": 1000})  # 1 µs in fp32
    assert retimed_ns(4000, small, GPU, "fp32", "tf32") == pytest.approx((1000, 3125))  # not 500
    assert retimed_ns(900, small, GPU, "fp32", "tf32") == (900, 900)


def test_only_a_slower_format_takes_longer():
    assert retimed_ns(1e6, COMPUTE, GPU, "fp32", "fp32") == (1e6, 1e6)
    assert retimed_ns(125_000, COMPUTE, GPU, "tf32", "fp32") == pytest.approx((1e6, 1e6))
    low, high = retimed_ns(1e6, Work(0, {"bf16": 50 * 10**6}), GPU, "bf16", "fp32")
    assert (low, high) == pytest.approx((2e6, 2e6))
    low, high = retimed_ns(2e6, Work(0, {"bf16": 50 * 10**6}), GPU, "bf16", "fp32")
    assert (low, high) == pytest.approx((3e6, 4e6))  # the time above the roofline as it was, or doubled too


def test_a_retiming_needs_both_peaks_and_some_work():
    assert retimed_ns(1e6, COMPUTE, GPU, "fp32", "fp16") is None
    assert retimed_ns(1e6, COMPUTE, GPU, "fp64", "fp32") is None
    assert retimed_ns(1e6, Work(0, {}), GPU, "fp32", "bf16") is None  # an empty tensor: all of it is overhead
    assert retimed_ns(0, COMPUTE, GPU, "fp32", "bf16") is None


@pytest.mark.parametrize(
    "device, before, now, after, reached",
    [
        ("Tesla V100-SXM2-32GB", "fp32", 14, "fp16", 95),
        ("NVIDIA A100-SXM4-80GB", "tf32", 116, "fp16", 230),
        ("NVIDIA RTX A6000", "tf32", 60, "fp16", 95),
    ],
)
def test_published_measurements_lie_in_the_range(device, before, now, after, reached):
    """TFLOP/s of large matrix products, both formats: https://github.com/mli/transformers-benchmarks."""
    side = 8192
    work, flop = Work(2 * side**3, {"fp32": 3 * side**2}), 2 * side**3
    low, high = retimed_ns(flop / now / 1e3, work, peaks_of(device), before, after)
    assert low <= flop / reached / 1e3 <= high
