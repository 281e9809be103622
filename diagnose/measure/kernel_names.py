"""What a kernel's name tells: what it does, its number format, and whether it uses tensor cores."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 72  # characters of a short name
KEPT_END = 24  # of a longer one: Triton's names end in their number

# By the first that fits: codes and types in the names of cuBLAS, cuDNN, CUTLASS, PyTorch, Triton and ROCm.
_REDUCED = {
    "fp8": r"e4m3|e5m2|fp8|float8|(?<![a-z0-9])f8|nvjet_(sm\d+_)?r?q",
    "int8": r"int8|imma|(?<![a-z0-9])i8",
    "bf16": r"bf16|bfloat16|DF16b|^(?=.*ck::).*\bunsigned short\b|nvjet_(sm\d+_)?t|Cijk_A\w{3}_B\w{3}_B",
    # not of MIOpen's copies, `…_16x32_half`: any 16 bits
    "fp16": r"f16|fp16|(?<![0-9a-z]_)half|h884|h1688|h16816|hgemm|nvjet_(sm\d+_)?h|Cijk_A\w{3}_B\w{3}_H",
    "tf32": r"tf32|s1688",
}
SINGLE_KERNEL = r"(?i)sgemm|scudnn"
# and what is of 16 bits without telling which
REDUCED_PRECISION_KERNEL = "(?i)" + "|".join([*_REDUCED.values(), "s16816", "half"])
# Matrix products and convolutions. (fbgemm is a library; attention has formats of its own, and a product
# with a vector takes as long as its matrix is read.)
PRODUCT_KERNEL = (
    r"(?i)^(?!triton_(poi|red|per)_|.*(fmha|flash|attention|splitk_?reduce|gemv))"
    r".*((?<!fb)gemm|convol|conv[23]d|_conv_|scudnn|cutlass|nvjet|Cijk_|xmma|winograd|fprop|[wd]grad)"
)
CONVOLUTION_KERNEL = r"(?i)convol|conv[23]d|_conv_|cudnn|winograd|fprop|[wd]grad|igemm"
# of cuBLAS from CUDA 12.8 on: 32-bit inputs, with TF32 or without
FLOAT32_INPUTS = r"nvjet_(sm\d+_)?s"
# what only runs in training mode: normalisation by the batch's own statistics, dropout
TRAINING_MODE_KERNEL = (
    r"(?i)bn_fw_tr|batchnorm_fwtr|batch_norm_collect_statistics|batchnorm\w*fwd_?train|fused_dropout"
)
EVALUATION_KERNEL = r"(?i)bn_fw_inf|batchnorm_fwinf|batchnorm\w*fwd_?infer"
# without a convolution's gradient by its input: a transposed convolution runs that in its forward
BACKWARD_KERNEL = r"(?i)backward|bn_bw|bwd_?weight|wgrad|(fmha|flash)\w*bwd"
# what a GPU must have to run kernels of these names; later ones run most of them too
_GENERATIONS = {"volta": 7.0, "turing": 7.5, "ampere": 8.0, "hopper": 9.0}
_GENERATION = re.compile(r"(?i)^(volta|turing|ampere|hopper)_|(?:\bsm|_sm|cutlass_)(\d{2,3})_")
_PATTERNS = {number_format: re.compile(f"(?i){pattern}") for number_format, pattern in _REDUCED.items()}
# of these the one that is named first: the types of a kernel's numbers come before those of its arguments
_UNREDUCED = re.compile(
    r"(?i)(?P<fp64>dgemm|dgemv|f64|d884|\bdouble\d?\b|Cijk_A\w{3}_B\w{3}_D)"
    r"|(?P<fp32>sgemm|scudnn|f32|fp32|\bfloat\d?\b|Cijk_A\w{3}_B\w{3}_S)"
)
_TENSOR_CORES = re.compile(
    r"(?i)tensorop_|_tensor\d+x|wgmma|hmma|imma|warpgroup|h884|s884|1688|16816|16832|nvjet|flash_(fwd|bwd)"
    r"|fmha_cutlass\w_b?f16|_MI\d+x\d|mfma|xdl|gtcx"
)
_NO_TENSOR_CORES = re.compile(f"{SINGLE_KERNEL}|simt|ffma|dgemm|gemv")

_WRAPPER = re.compile(  # kernels that are told apart by what they are a template of
    r"elementwise_kernel|^reduce_kernel$|multi_tensor_apply|^Kernel2?$|^device_kernel$|_kernel_agent"
)
_INDIFFERENT = re.compile(  # template arguments that tell nothing
    r"^(\d\w*|true|false|const|bool|char|signed|unsigned|short|int|long|float|double|Half|BFloat16|c10|at|std|cub|thrust"
    r"|native|detail|internal|binary_internal|cuda|cutlass|gemm|kernel|gpu_kernel_impl\w*|BinaryFunctor|[AB]?UnaryFunctor"
    r"|ReduceOp|func_wrapper_t|array|TensorListMetadata|TensorListScalarListMetadata|FusedOptimizerTensorListMetadata"
    r"|enable_\w+|u?int\d+_t)$"
)
_TENSILE = re.compile(
    r"^(Cijk_\w{4}_\w{4}_[^_]+)_.*(MT\d+x\d+x\d+).*"
)  # ROCm: of dozens of settings two tell
_NAMELESS = re.compile(r"\(anonymous namespace\)::|<unnamed>::|^void |^static ")


def short_name(name: str) -> str:
    """`elementwise_kernel<AddFunctor>`: without namespaces, template arguments and parameters, but for
    the argument that tells what a kernel of many uses does.
    """
    bare = _TENSILE.sub(r"\1_\2", _NAMELESS.sub("", _demangled(name)))
    head = re.split(r"[<(]", bare, maxsplit=1)[0].strip().rsplit("::", 1)[-1]
    if not head:
        return _cut(name)
    if _WRAPPER.search(head):
        inner = next(
            (word for word in re.findall(r"\w+", bare[bare.find(head) + len(head) :]) if _tells(word)), ""
        )
        return _cut(f"{head}<{inner}>" if inner else head)
    return _cut(head)


@lru_cache(maxsize=4096)
def number_format(name: str) -> str | None:
    """The format that a kernel of that name computes in, the smallest where it reads several; None where
    the name does not tell.
    """
    reduced = next((known for known, pattern in _PATTERNS.items() if pattern.search(name)), None)
    if reduced:
        return reduced
    found = _UNREDUCED.search(name)
    return found.lastgroup if found else None


def tensor_cores(name: str) -> bool | None:
    """Whether a kernel of that name uses tensor cores, AMD's matrix cores; None where it does not tell."""
    if _TENSOR_CORES.search(name):
        return True
    return False if _NO_TENSOR_CORES.search(name) else None


def least_capability(name: str) -> float | None:
    """The compute capability that a GPU has at least if it runs a kernel of that name; None where the name
    does not tell.
    """
    found = _GENERATION.search(name)
    if not found:
        return None
    return int(found[2]) / 10 if found[2] else _GENERATIONS[found[1].lower()]


def _tells(word: str) -> bool:
    return not _INDIFFERENT.search(word)


def _demangled(name: str) -> str:
    """The last part of a mangled C++ name; any other as it is."""
    found = re.match(r"_ZN?", name)
    if not found:
        return name
    at, last = found.end(), name
    while length := re.compile(r"\d+").match(name, at):
        at = length.end() + int(length[0])
        last = name[length.end() : at]
    return last


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - KEPT_END - 1]}…{name[-KEPT_END:]}"
