"""Samples a second and model FLOPs utilisation, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.predict.utilisation import ModelFlop, model_flop, model_flops_utilisation, samples_per_step

A100 = {
    "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]
}  # 312 TFLOP/s in 16 bits, 19.5 in fp32
# A product of 64×32 and 32×16: 2 · 64 · 32 · 16 = 65,536 FLOP.
PRODUCT = '{{"Input Dims": [[64, 32], [32, 16]], "Input type": ["{0}", "{0}"]}}'
HALF, SINGLE = PRODUCT.format("c10::Half"), PRODUCT.format("float")
FLOP = 65_536


def training(forward: int, backward: int, product: str = HALF) -> str:
    """A step of 1 ms with so many products on the training thread, and in its backward."""
    lines = ["main 0 1000 step ProfilerStep#1"]
    for number in range(forward + backward):
        thread = "main" if number < forward else "auto"
        at = 10 + 40 * number
        lines += [
            f"{thread} {at} 20 op aten::mm {product}",
            f'{thread} {at + 5} 5 runtime cudaLaunchKernel {{"correlation": {number + 1}}}',
            f'gpu {at + 10} 10 kernel ampere_fp16_gemm {{"correlation": {number + 1}}}',
        ]
    if backward:
        lines.append(
            f"auto {8 + 40 * forward} {40 * backward} op autograd::engine::evaluate_function: MmBackward0"
        )
    return "\n".join(lines)


def view_of(timeline: str, info: dict[str, Any] | None = None) -> Any:
    return measured_case({"timeline": timeline, "info": info or A100}).timeline


def test_a_forward_alone_counts_as_it_is() -> None:
    assert model_flop(view_of(training(3, 0))) == ModelFlop(3 * FLOP, "fp16")


def test_a_backward_counts_up_to_twice_the_forward() -> None:
    """Four products after two of the forward are its gradients; two more are the forward done again."""
    assert model_flop(view_of(training(2, 4))) == ModelFlop(6 * FLOP, "fp16")
    assert model_flop(view_of(training(2, 6))) == ModelFlop(6 * FLOP, "fp16")
    assert model_flop(view_of(training(2, 2))) == ModelFlop(
        4 * FLOP, "fp16"
    )  # of frozen weights there are none


def test_utilisation_is_flop_per_time_per_peak() -> None:
    """6 · 65,536 FLOP in 1 ms are 393,216,000 FLOP/s; ÷ 312 TFLOP/s."""
    measured = measured_case({"timeline": training(2, 4), "info": A100})
    used = model_flops_utilisation(measured, 1.0)
    assert used is not None and used[0] == pytest.approx(393_216_000 / 312e12)
    half = model_flops_utilisation(measured, 2.0)
    assert half is not None and half[0] == pytest.approx(used[0] / 2)


def test_the_peak_is_that_of_the_format_in_use() -> None:
    single = model_flops_utilisation(
        measured_case({"timeline": training(1, 0, SINGLE).replace("fp16_gemm", "sgemm"), "info": A100}), 1.0
    )
    assert single is not None and single == (pytest.approx(FLOP / 1e-3 / 19.5e12), ModelFlop(FLOP, "fp32"))
    tf32 = model_flops_utilisation(
        measured_case({"timeline": training(1, 0, SINGLE).replace("fp16_gemm", "tf32_gemm"), "info": A100}),
        1.0,
    )
    assert tf32 is not None and tf32[1].number_format == "tf32"


def test_what_is_not_known_is_not_guessed() -> None:
    timeline = training(2, 0)
    for unknown in (
        {"timeline": timeline},  # the GPU has no name
        {"timeline": timeline, "info": {"deviceProperties": [{"id": 0, "name": "GPU of 2099"}]}},
        {"timeline": timeline.replace("Input Dims", "Other"), "info": A100},  # no shapes
    ):
        assert model_flops_utilisation(measured_case(unknown), 1.0) is None
    assert model_flops_utilisation(measured_case({"timeline": timeline, "info": A100}), None) is None


def test_a_product_that_no_operator_explains_leaves_the_whole_unknown() -> None:
    """Of 10 + 10 + 10 µs in products the FLOP of a third are not known; 1 µs of 21 would be."""
    graph = "gpu 600 {} kernel cutlass_80_wmma_tensorop"
    assert model_flop(view_of(f"{training(2, 0)}\n{graph.format(10)}")) is None
    assert model_flop(view_of(f"{training(2, 0)}\n{graph.format(1)}")) == ModelFlop(2 * FLOP, "fp16")


def samples(clock: dict[str, float], **facts: Any) -> float | None:
    timeline = "main 0 100 step ProfilerStep#1"
    return samples_per_step(
        measured_case({"timeline": timeline, "clock": {"per_step": clock}, "facts": facts})
    )


def test_samples_are_the_loaders_batches() -> None:
    """Four batches of 32 in a step: gradients are accumulated."""
    assert samples({"fetch": 4.0}, loaders=[{"batch_size": 32}]) == 128
    feeding = {"batch_size": 32, "batches_per_step": 1.0, "fed_share": 1.0}
    other = {"batch_size": 500, "batches_per_step": 0.1, "fed_share": 0.1}
    assert samples({"fetch": 1.1}, loaders=[other, feeding]) == 32
    assert samples({"fetch": 1.1}, loaders=[{"batch_size": 32}, {"batch_size": 500}]) is None


def test_without_a_loader_samples_are_what_the_model_is_given() -> None:
    """In 5 steps 10 forwards, of the model and of the loss; the model was given 5 × 160 rows."""
    forward = {"count": 10, "training_count": 10, "sample_count": 800}
    assert samples({"forward": 2.0}, forward=forward) == 160
    assert samples({"forward": 2.0}, forward=forward, loaders=[{"batch_size": None}]) == 160
    assert samples({"forward": 2.0}, forward=forward | {"training_count": 8}) is None  # it evaluates as well
    assert samples({"forward": 2.0}, forward=forward | {"sample_count": None}) is None  # several models
    assert samples({}) is None
