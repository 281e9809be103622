"""What differs between profiler versions and vendors, as tables.

Sources: libkineto's activity types and Chrome output, torch.profiler 1.8 to
2.13, roctracer and rocprofiler output.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

# Kineto's categories, lower case. torch 1.8–1.11 wrote Operator, Kernel, Memcpy, Memset and Runtime.
HOST_KINDS = {
    "cpu_op": "op",
    "operator": "op",
    "hpu_op": "op",
    "user_annotation": "annotation",
    "python_function": "python",
    "overhead": "overhead",
    "runtime": "runtime",
    "cuda_runtime": "runtime",
    "cuda_driver": "runtime",
    "hip_runtime": "runtime",
    "xpu_runtime": "runtime",
    "xpu_driver": "runtime",
    "xpu_sync": "runtime",
    "collective_comm": "annotation",
    "mtia_runtime": "runtime",
    "glow_runtime": "runtime",
    "privateuse1_runtime": "runtime",
    "privateuse1_driver": "runtime",
}
OTHER_DEVICES = ("xpu", "mtia", "hpu", "privateuse1")  # what their categories begin with
DEVICE_KINDS = {
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "mtia_ccp_events": "kernel",
}


def device_type(categories: Iterable[str]) -> str:
    """torch's word for the devices of a recording, by the categories of its events; those
    of AMD are "cuda" in torch as well.
    """
    vendors = {category.lower().partition("_")[0] for category in categories}
    return next((vendor for vendor in OTHER_DEVICES if vendor in vendors), "cuda")


SYNC_CATEGORY = "cuda_sync"
XPU_SYNC = "xpu_sync"  # calls in which the host waits; written without their process
SYNC_KINDS = {
    "Stream Wait Event": "stream wait",
    "Event Sync": "event sync",
    "Stream Sync": "stream sync",
    "Context Sync": "context sync",
}

# Instant events of ``profile_memory``: one for each block that is allocated or freed. torch 1.9
# wrote neither a category nor totals.
MEMORY_EVENT = "[memory]"
CPU_TYPE = 0  # of c10's device types; CUDA is 1, HIP 6

# Before torch 1.12 these ranges had the category of operators.
ANNOTATION_PREFIXES = (
    "ProfilerStep#",
    "enumerate(DataLoader)#",
    "Optimizer.",
    "DistributedDataParallel.",
    "DataParallel.",
)

# Commands of MTIA's control processor that are no work of their own, and those that copy.
MTIA_WAITS = frozenset({"event_wait", "event_record"})
MTIA_COPIES = frozenset({"dma_request"})

MARK = "diagnose::"
PROFILER_STEP = re.compile(r"ProfilerStep#(\d{1,18})$")
# These begin the names of annotations that torch puts around every optimizer's step and every batch.
OPTIMIZER_STEP = "Optimizer.step#"
LOADER_NEXT = "enumerate(DataLoader)#"
ITERATOR_NEXT = "IteratorGetNext"  # what TensorFlow calls an operator that takes the next batch of tf.data
# How the names of what XLA's compilers record begin: all of one compilation.
XLA_COMPILATION = (
    r"(PjRt|Tfrt|PJRT_)\w*(::|_)Compile|XlaCompil|(Cpu|Gpu)Compiler::RunBackend|backend_compile"
    r"|XlaCompilationCache::|TpuCompil"
)
MODULE_CALL = "nn.Module: "  # begins the names of Python frames that are calls of modules
BACKWARD_ROOT = "autograd::engine::evaluate_function"
# torch 1.8 has no evaluate_function ranges; its backward nodes are ops called SomethingBackward
# or torch::autograd::AccumulateGrad.
BACKWARD_NODE = re.compile(r"(Backward\d*|torch::autograd::AccumulateGrad)$")

# "Memcpy HtoD (Pageable -> Device)"; MTIA writes DEVICE_TO_HOST, roctracer CopyDeviceToHost.
DIRECTION = re.compile(r"\b([HDP]to[HDP])\b")
# Intel's "Memcpy M2D (MEMORY -> DEVICE)": M is memory of the system, H what Level Zero allocated on the host.
XPU_DIRECTION = re.compile(r"\b([MHD])2([MHD])\b")
XPU_MEMORY = {"M": "pageable", "H": "pinned"}
DIRECTION_WORDS = {
    "devicetohost": "DtoH",
    "hosttodevice": "HtoD",
    "devicetodevice": "DtoD",
    "hosttohost": "HtoH",
    "peertopeer": "PtoP",
}
MEMORY_KINDS = re.compile(r"\((\w+) -> (\w+)\)")
HOST_MEMORY = {"pageable": "pageable", "pinned": "pinned"}

# Kernel names of collective libraries, XLA's collectives, and hand-written ones (symmetric memory, vLLM,
# SGLang, FlashInfer, TensorRT-LLM; of DeepEP, which sends tokens to experts). What Inductor fuses has the
# names of all operators around it, and is none.
COMMUNICATION = re.compile(
    r"^(?!triton_(poi|red|per)_fused_).*?("
    r"nccl|rccl|oneccl|xccl|hccl|mscclpp|nvshmem|collective-permute|"
    r"all[_-]?reduce|all[_-]?gather|all[_-]?to[_-]?all|reduce[_-]?scatter|cross_device_reduce|quick_?reduce|"
    r"deep_?ep\b|deep_ep::|int(er|ra)node(_ll)?::|(one|two)_?shot_?(push|pull|lamport|reduce)|"
    r"\b(moe_?)?a2a_?(dispatch|combine)|multimem_|symm_?mem_)",
    re.IGNORECASE | re.DOTALL,
)

# A Python frame, as torch writes it: "train.py(41): main".
FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<function>.+)$", re.DOTALL)
# Library code by its path, and by the first part of it: torch shortens a path by the
# sys.path entry it was imported from.
LIBRARY_PATH = re.compile(
    r"site-packages/|dist-packages/|(^|/)lib(64)?/python\d|^<|/torch/(nn|utils|optim|autograd|_dynamo|profiler)/"
    r"|(^|/)diagnose/run/child/|(^|/)torchinductor_|(^|/)(flashinfer|sglang|vllm)/"
)
LIBRARY_ROOT = re.compile(
    r"torch|torch(vision|audio|text|ao|metrics|rec|_geometric|_xla)|functorch|numpy|scipy|pandas|sklearn|PIL|cv2|matplotlib|tqdm|"
    r"transformers|accelerate|datasets|diffusers|peft|timm|pytorch_lightning|lightning|lightning_fabric|ignite|fastai|apex|deepspeed|"
    r"megatron|fairscale|xformers|flash_attn|triton|vllm|sglang|aiter|tensorboard|wandb|mlflow|fsspec|requests|urllib3|huggingface_hub|"
    r"tokenizers|safetensors|einops|jax|tensorflow|onnx|onnxruntime|ray|dask|click|typer|hydra|omegaconf|absl|fbgemm_gpu|detectron2|"
    r"mmcv|mmengine|bitsandbytes|ipykernel|IPython|debugpy|_pytest|pytest|pluggy|diagnose|"
    + "|".join(map(re.escape, sys.stdlib_module_names))
)
