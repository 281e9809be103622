"""Helpers of the areas that read recorded shapes, and which lines they blame."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.fusion import _two_sizes
from diagnose.measure.areas.precision import _has_unaligned_dimension
from diagnose.measure.collectives import _item_bytes
from diagnose.measure.metrics import Measured
from diagnose.measure.selection import SELECTORS
from diagnose.measure.sizes import number_counts


@pytest.mark.parametrize(
    ("shapes", "unaligned"),
    [
        ("[[64, 64], [64, 50257]]", True),
        ("[[50257], [64, 100], [100, 64], [], []]", True),  # addmm: a bias first
        ("[[8, 63, 64], [8, 64, 64]]", False),  # rows do not matter
        ("[[64, 64], [64, 2]]", False),  # too narrow for tensor cores
        ("[[64, 64], []]", False),
        ("[[[2, 3], [3, 4]], []]", False),  # a list of tensors
        ("", False),
    ],
)
def test_inner_and_last_dimensions_count_for_alignment(shapes: str, unaligned: bool) -> None:
    assert _has_unaligned_dimension(shapes) is unaligned


def test_sizes_of_recorded_shapes() -> None:
    assert _two_sizes("[[2, 4, 64, 64], [2, 4, 64, 16]]") == (32768, 8192)
    assert _two_sizes("[[2, 3], []]") == (6, -1)
    assert _two_sizes("") == (-1, -1)
    assert number_counts("[[64, 2], []]")[:2] == (128, -1)
    assert number_counts("")[0] == -1
    assert number_counts("[[99999999999999999999, 99999999999999999999], []]")[0] == 2**59  # damage
    assert (_item_bytes('["c10::Half", ""]'), _item_bytes('["float"]'), _item_bytes('["long int"]')) == (
        2,
        4,
        8,
    )


# A forward of 150 µs at line 7 and a backward of 300 µs: bmm, softmax, bmm each.
ATTENTION = """
main 0   1000 step ProfilerStep#1
main 5   200  mark forward@7
main 10  50   op   aten::bmm
main 60  50   op   aten::_softmax
main 110 50   op   aten::bmm
main 250 700  mark backward@9
main 300 100  op   autograd::engine::evaluate_function: BmmBackward0
main 300 100  op   aten::bmm
main 400 100  op   autograd::engine::evaluate_function: SoftmaxBackward0
main 400 100  op   aten::_softmax_backward_data
main 500 100  op   autograd::engine::evaluate_function: BmmBackward0
main 500 100  op   aten::bmm
"""


def test_attention_costs_forward_and_backward_and_its_forward_is_blamed() -> None:
    measured = measured_case({"timeline": ATTENTION})
    assert measured.metric("written_out_attention_ms") == pytest.approx(0.450)
    assert list(
        measured.timeline.host["start_ns"].iloc[measured.rows(SELECTORS["written_out_attention"])]
    ) == [60_000]  # type: ignore[union-attr]


# `weights.softmax(-1) @ self.value(x)`: the projection runs between the softmax and the multiplication
VALUES_COMPUTED_LATE = """
main 0   1000 step ProfilerStep#1
main 10  40   op   aten::bmm {"Input Dims": [[8, 64, 16], [8, 16, 64]]}
main 60  40   op   aten::_softmax {"Input Dims": [[8, 64, 64], [], []]}
main 100 90   op   aten::linear
main 110 70   op   aten::mm
main 190 50   op   aten::bmm {"Input Dims": [[8, 64, 64], [8, 64, 16]]}
main 250 700  mark backward@9
main 300 100  op   autograd::engine::evaluate_function: BmmBackward0
main 300 100  op   aten::bmm
main 400 80   op   autograd::engine::evaluate_function: MmBackward0
main 400 40   op   aten::mm
main 440 40   op   aten::mm
main 500 100  op   autograd::engine::evaluate_function: SoftmaxBackward0
main 500 100  op   aten::_softmax_backward_data {"Input Dims": [[8, 64, 64], [8, 64, 64], [], []]}
main 600 100  op   autograd::engine::evaluate_function: BmmBackward0
main 600 100  op   aten::bmm {"Input Dims": [[8, 64, 64], [8, 64, 16]]}
"""


def test_attention_whose_values_are_projected_behind_the_softmax() -> None:
    # 40 + 40 + 50 in the forward and three times 100 in the backward, without the projections
    assert measured_case({"timeline": VALUES_COMPUTED_LATE}).metric(
        "written_out_attention_ms"
    ) == pytest.approx(0.430)


def test_float64_costs_everywhere_and_its_forward_is_blamed() -> None:
    types = '{"Input Dims": [[4, 4], [4, 4]], "Input type": ["double", "double"]}'
    text = f"""
main 0   1000 step ProfilerStep#1
main 10  90   op   aten::linear {types}
main 20  70   op   aten::mm     {types}
main 120 30   op   aten::to     {types}
main 300 200  op   autograd::engine::evaluate_function: MmBackward0
main 310 150  op   aten::mm     {types}
"""
    measured: Measured = measured_case({"timeline": text})
    # linear and the backward's mm; converting is no computing
    assert measured.metric("float64_ops_ms") == pytest.approx(0.240)
    assert measured.metric("float64_ops_count_per_step") == 1


def test_a_copy_down_is_paired_with_the_next_copy_up_of_its_size() -> None:
    text = """
main 0   1000 step    ProfilerStep#1
main 10  10   runtime cudaMemcpyAsync {"correlation": 1}
main 110 10   runtime cudaMemcpyAsync {"correlation": 2}
main 210 10   runtime cudaMemcpyAsync {"correlation": 3}
main 310 10   runtime cudaMemcpyAsync {"correlation": 4}
gpu  20  50   memcpy  Memcpy HtoD (Pageable -> Device) {"correlation": 1, "bytes": 4096}
gpu  120 50   memcpy  Memcpy DtoH (Device -> Pageable) {"correlation": 2, "bytes": 4096}
gpu  220 50   memcpy  Memcpy HtoD (Pageable -> Device) {"correlation": 3, "bytes": 8192}
gpu  320 50   memcpy  Memcpy HtoD (Pageable -> Device) {"correlation": 4, "bytes": 4096}
"""
    measured = measured_case({"timeline": text})
    assert len(measured.rows(SELECTORS["round_trips"])) == 1
    # The copies at 120, 220 and 320, and the calls at 210 and 310 that the GPU waits for.
    assert measured.metric("round_trips_ms") == pytest.approx(0.170)


def test_the_bias_of_a_convolution_is_no_product() -> None:
    types = '"Input type": ["float", "float"]'
    measured = measured_case(
        {
            "timeline": f"""
            main  0    1000  step     ProfilerStep#1
            main  0    60    op       aten::_convolution  {{{types}}}
            main  2    20    op       aten::cudnn_convolution  {{{types}}}
            main  5    10    runtime  cudaLaunchKernel  {{"correlation": 1}}
            main  30   20    op       aten::add_  {{{types}}}
            main  35   10    runtime  cudaLaunchKernel  {{"correlation": 2}}
            gpu   20   300   kernel   implicit_convolve_sgemm  {{"correlation": 1}}
            gpu   330  150   kernel   elementwise_kernel<CUDAFunctor_add<float>>  {{"correlation": 2}}
            """
        }
    )
    assert measured.metric("fp32_convolutions_share") == pytest.approx(0.3)
    assert measured.metric("convolution_kernels_share") == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("norm_us", "dropout_us", "left"), [(300, 0, 1 / 3), (0, 100, 0.0), (300, 100, 0.25)]
)
def test_evaluation_mode_leaves_a_third_of_a_normalisation_and_nothing_of_dropout(
    norm_us: int, dropout_us: int, left: float
) -> None:
    norm = f"main 100 {norm_us} op aten::batch_norm\n" if norm_us else ""
    dropout = (
        f"main 500 {dropout_us} op aten::dropout\nmain 500 {dropout_us} op aten::bernoulli_\n"
        if dropout_us
        else ""
    )
    timeline = f"main 0 1000 step ProfilerStep#1\nmain 5 900 mark forward@7\n{norm}{dropout}"
    assert measured_case({"timeline": timeline}).number("training_mode_left") == pytest.approx(left)
