"""What kernels are called: names of recorded traces, each read by hand."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.kernel_names import (
    BACKWARD_KERNEL,
    CONVOLUTION_KERNEL,
    LONGEST,
    PRODUCT_KERNEL,
    TRAINING_MODE_KERNEL,
    least_capability,
    number_format,
    short_name,
    tensor_cores,
)

FILL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >"
    "(int, at::native::FillFunctor<float>, at::detail::Array<char*, 1>)"
)
MULTIPLY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::BinaryFunctor<c10::BFloat16, "
    "c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)>"
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>, "
    "float const*, double, double>"
)
TENSILE = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x128_MI16x16x1_SN_LDSB1_AFC1"
MANGLED = "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb1ELb0ELb1ELi1EEEvPT0_"
FRAGMENTS = (
    "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_tensor16x8x8"
)
CUTLASS = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align1>(Params)"
SUBTENSOR = "SubTensorOpWithScalar1d.kd"
SCALE = "void cudnn::ops::scalePackedTensor_kernel<float, float>(cudnnTensor4dStruct, float*, float)"


@pytest.mark.parametrize(
    ("name", "short", "number", "cores"),
    [
        (FILL, "vectorized_elementwise_kernel<FillFunctor>", "fp32", None),
        (MULTIPLY, "elementwise_kernel<MulFunctor>", "bf16", None),
        # its moments are floats; the learning rate, a parameter, is a double
        (ADAM, "multi_tensor_apply_kernel<FusedAdamMathFunctor>", "fp32", None),
        (SCALE, "scalePackedTensor_kernel", "fp32", None),
        (SUBTENSOR, SUBTENSOR, None, None),
        # copies of 16 bits, whatever they hold
        ("batched_transpose_16x32_half", "batched_transpose_16x32_half", None, None),
        ("void gemm<__half>(int)", "gemm", "fp16", None),
        ("volta_sgemm_128x32_nt", "volta_sgemm_128x32_nt", "fp32", False),
        ("volta_dgemm_64x64_nn", "volta_dgemm_64x64_nn", "fp64", False),
        ("ampere_fp16_s16816gemm_fp16_128x64_tn", "ampere_fp16_s16816gemm_fp16_128x64_tn", "fp16", True),
        ("volta_fp16_s884gemm_fp16_64x64_nn", "volta_fp16_s884gemm_fp16_64x64_nn", "fp16", True),
        (
            "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_TNN",
            "nvjet_sm103_tst_32x64_64x16_4x1_v_bz_TNN",
            "bf16",
            True,
        ),
        (CUTLASS, "Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nt_align1>", "tf32", True),
        ("sm80_xmma_gemm_i8i8_i8i32_f32_tn_n", "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n", "int8", None),
        ("void gemm<__nv_fp8_e4m3>(int)", "gemm", "fp8", None),
        (TENSILE, "Cijk_Alik_Bljk_BBS_MT64x16x128", "bf16", True),
        (MANGLED, "add_rmsnorm_quant_kernel", "bf16", None),
        ("triton_poi_fused_add_addmm_silu_4", "triton_poi_fused_add_addmm_silu_4", None, None),
        ("", "", None, None),
    ],
)
def test_a_name_tells(name: str, short: str, number: str | None, cores: bool | None) -> None:
    assert (short_name(name), number_format(name), tensor_cores(name)) == (short, number, cores)


def test_a_long_name_keeps_both_ends() -> None:
    short = short_name(FRAGMENTS)
    assert len(short) == LONGEST
    assert short.startswith("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_t")
    assert short.endswith("64x128x32_tensor16x8x8")
    assert (number_format(FRAGMENTS), tensor_cores(FRAGMENTS)) == ("tf32", True)


@pytest.mark.parametrize(
    ("name", "product", "convolution"),
    [
        ("ampere_sgemm_128x64_tn", True, False),
        ("nvjet_sss_128x64_64x6_1x2_h_bz_coopA_NTT", True, False),
        (TENSILE, True, False),
        (CUTLASS, True, False),
        (FRAGMENTS, True, True),
        ("ampere_scudnn_128x64_relu_medium_nn_v1", True, True),
        ("void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, true, true>", True, True),
        # fbgemm is a library; a product with a vector takes as long as its matrix is read
        ("void fbgemm_gpu::permute_2D_data_kernel<false, int, int>", False, False),
        ("void gemvNSP_kernel<float, float, float, 1, 32, 4, 1024>", False, False),
        (
            "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >",
            False,
            False,
        ),
        ("triton_poi_fused__scaled_mm_clone_3", False, False),
        (FILL, False, False),
    ],
)
def test_products_and_convolutions_by_name(name: str, product: bool, convolution: bool) -> None:
    assert bool(re.search(PRODUCT_KERNEL, name)) is product
    assert bool(product and re.search(CONVOLUTION_KERNEL, name)) is convolution


@pytest.mark.parametrize(
    ("name", "training", "backward"),
    [
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>", True, False),
        ("void at::native::batch_norm_collect_statistics_kernel<at::native::Var, float>", True, False),
        ("MIOpenBatchNormFwdTrainSpatial.kd", True, False),
        ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>", False, False),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>", False, True),
        ("void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>", False, True),
        (FRAGMENTS, False, True),
        # a transposed convolution runs it in its forward
        ("sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckcrs_nhwc", False, False),
    ],
)
def test_training_by_name(name: str, training: bool, backward: bool) -> None:
    assert bool(re.search(TRAINING_MODE_KERNEL, name)) is training
    assert bool(re.search(BACKWARD_KERNEL, name)) is backward


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("volta_scudnn_128x64_relu_interior_nn_v1", 7.0),
        ("ampere_sgemm_128x64_tn", 8.0),
        (CUTLASS, 8.0),
        (FRAGMENTS, 8.0),
        ("nvjet_sm100_hss_64x8_64x16_4x1_v_bz_TNN", 10.0),
        (FILL, None),
    ],
)
def test_what_a_gpu_has_that_runs_it(name: str, capability: float | None) -> None:
    assert least_capability(name) == capability


def test_composable_kernel_writes_bf16_as_unsigned_short() -> None:
    name = "void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<RowMajor, unsigned short, unsigned short, float, float> >"
    assert number_format(name) == "bf16"


def test_a_long_name_takes_no_longer_than_it_is() -> None:
    """Names come from files: a hundred thousand namespaces are 10^10 pairs."""
    began = time.process_time()
    assert number_format("ck::" * 100_000) is None
    assert time.process_time() - began < 2


def gpu(number: int, major: Any, minor: Any = 0) -> dict[str, Any]:
    return {"id": number, "name": "NVIDIA", "computeMajor": major, "computeMinor": minor}


@pytest.mark.parametrize(
    ("listed", "capability"),
    [
        ([gpu(0, 7, 5), gpu(1, 8, 6)], 8.6),  # of the one that works
        ([gpu(0, 9)], 9.0),
        ([gpu(1, "eight")], 7.0),  # from here on what its kernel needs
        ([gpu(1, True)], 7.0),
        ([gpu(1, 1e308, -3)], 7.0),
        ([gpu(1, 8, None)], 7.0),
        ([gpu(1, 10**400)], 7.0),
        ([], 7.0),
    ],
)
def test_the_capability_of_the_gpu_that_works(listed: list[dict[str, Any]], capability: float) -> None:
    timeline = """
        main  0    100  step     ProfilerStep#1
        main  0    10   op       aten::mm
        gpu   10   50   kernel   volta_sgemm_128x64_nn {"device": 1}
    """
    measured = measured_case({"timeline": timeline, "info": {"deviceProperties": listed}})
    assert measured.needed("gpu_capability") == capability
