"""The DEVICE table: copies, collectives, devices and streams, links to launches and ops."""

from __future__ import annotations

import pytest

from diagnose.trace.schema import DEVICE
from tests.trace.build import event, kernel, launch, read, row


def test_every_column_has_the_schemas_type() -> None:
    for trace in (read(kernel("k", 2, 1, 5)), read(event("cpu only", 1))):
        assert {name: str(dtype) for name, dtype in trace.device.dtypes.items()} == {
            name: column.dtype for name, column in DEVICE.items()
        }


@pytest.mark.parametrize(
    ("name", "args", "direction", "host_memory"),
    [
        ("Memcpy HtoD (Pageable -> Device)", {}, "HtoD", "pageable"),
        ("Memcpy HtoD (Pinned -> Device)", {}, "HtoD", "pinned"),
        ("Memcpy DtoH (Device -> Pageable)", {}, "DtoH", "pageable"),
        ("Memcpy DtoH (Device -> Pinned)", {}, "DtoH", "pinned"),
        ("Memcpy HtoD (Host -> Device)", {"kind": "HtoD"}, "HtoD", "unknown"),  # HIP
        ("Memcpy DtoH (Device -> Host)", {"kind": "DtoH"}, "DtoH", "unknown"),
        ("CopyHostToDevice", {}, "HtoD", "unknown"),  # roctracer
        ("Memcpy DtoD (Device -> Device)", {}, "DtoD", ""),
        ("Memcpy PtoP (Device -> Device)", {}, "PtoP", ""),
        ("Memcpy HtoD (Device -> Device)", {}, "PtoP", ""),  # DataParallel, between GPUs
        ("Memcpy DtoH (Device -> Device)", {}, "PtoP", ""),
        ("Memcpy HtoH (Pageable -> Pinned)", {}, "HtoH", ""),
        ("Memcpy (Unknown)", {}, "", ""),
        ("Memcpy M2D (MEMORY -> DEVICE)", {}, "HtoD", "pageable"),  # of Intel's
        ("Memcpy D2M (DEVICE -> MEMORY)", {}, "DtoH", "pageable"),
        ("zeCommandListAppendMemoryCopy(H2D)", {}, "HtoD", "pinned"),
        ("Memcpy D2D (DEVICE -> DEVICE)", {}, "DtoD", ""),
        ("Memcpy S2D (SHARED -> DEVICE)", {}, "", ""),
    ],
)
@pytest.mark.parametrize("cat", ["gpu_memcpy", "Memcpy"])
def test_direction_and_host_memory_of_copies(
    name: str, args: dict[str, str], direction: str, host_memory: str, cat: str
) -> None:
    copy = row(read(kernel(name, 1, 2, 3, cat=cat, bytes=512, **args)), name, "device")
    assert (copy["kind"], copy["direction"], copy["host_memory"], copy["bytes"]) == (
        "memcpy",
        direction,
        host_memory,
        512,
    )


def test_sets_and_missing_or_quoted_bytes() -> None:
    trace = read(
        kernel("Memset (Device)", 1, 2, 3, cat="gpu_memset", bytes="64"),
        kernel("Memset (Unknown)", 4, 2, 3, cat="Memset"),
        kernel("k", 9, 1, 4),
    )
    assert trace.device["kind"].tolist() == ["memset", "memset", "kernel"]
    assert trace.device["bytes"].tolist() == [64, -1, -1]
    assert trace.device["direction"].tolist() == ["", "", ""]


@pytest.mark.parametrize(
    ("name", "communicates"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", True),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 8>", True),
        ("void vllm::cross_device_reduce_1stage<half, 2>", True),
        ("_dispatch_all_to_all_kernel", True),
        # as their projects name them: DeepEP, NVSHMEM, TensorRT-LLM, FlashInfer, symmetric memory
        ("void deep_ep::intranode::dispatch<4, 768, 8192>(int4*, float*, int*)", True),
        ("void deep_ep::internode_ll::combine<false, 7168, 9>(void*, void*)", True),
        ("nvshmemi_barrier_all_kernel", True),
        ("void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<8>", True),
        ("void moe_a2a_dispatch_kernel<8>(int)", True),
        ("one_shot_push_kernel", True),
        ("symm_mem_barrier_kernel", True),
        ("all-reduce.7", True),  # XLA's, as on TPUs
        ("collective-permute-start.1", True),
        ("triton_poi_fused_all_gather_into_tensor_wait_tensor_1", False),
        ("triton_red_fused_add_all_reduce_0", False),
        # tokens sorted by expert on one GPU, and the parts of split attention joined
        ("_combined_routing_compute", False),
        ("kn_fmla_fwd_splictkv_combine", False),
        ("groupnorm_kernel_dispatch_down", False),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", False),
        ("volta_sgemm_128x64_nn", False),
    ],
)
def test_collectives_by_name(name: str, communicates: bool) -> None:
    assert read(kernel(name, 1, 2, 3)).device["communication"].tolist() == [communicates]


def test_collectives_by_what_the_profiler_says() -> None:
    assert read(kernel("user_kernel", 1, 2, 3, Collective_name="allreduce")).device[
        "communication"
    ].tolist() == [True]


def test_device_and_stream_from_arguments_or_from_pid_and_tid() -> None:
    bare = {
        "ph": "X",
        "cat": "Kernel",
        "name": "old",
        "pid": 1,
        "tid": "stream 7",
        "ts": 5,
        "dur": 1,
        "args": {"correlation": 3},
    }
    trace = read(kernel("new", 1, 2, 3, stream=20, device=2), bare)
    assert trace.device[["device", "stream"]].to_numpy().tolist() == [[2, 20], [1, 7]]


def test_launch_and_innermost_op() -> None:
    trace = read(
        event("aten::linear", 0, 50),
        event("aten::addmm", 5, 30),
        event("scope", 10, 20, "user_annotation"),
        launch(12, 3, 100),
        kernel("gemm", 40, 10, 100),
        kernel("from a graph", 51, 10, 100),
        kernel("launched before the recording", 70, 1, 99),
    )
    names = trace.host["name"].tolist()
    gemm, graph, orphan = trace.device.itertuples(index=False)
    assert [names[row] for row in (gemm.launch, gemm.op, graph.op)] == [
        "cudaLaunchKernel",
        "aten::addmm",
        "aten::addmm",
    ]
    assert (orphan.launch, orphan.op) == (-1, -1)


def test_op_by_external_id_where_the_launch_is_outside_of_ops() -> None:
    trace = read(
        event("aten::mm", 0, 50, External_id=7), launch(12, 3, 100, tid="-1"), kernel("gemm", 40, 10, 100, External_id=7),
        event("old", 60, 5, "Operator", **{"external_id": 8}), kernel("lost", 70, 1, 55, cat="Kernel", **{"external_id": 8}),
    )  # fmt: skip
    assert [trace.host["name"].iloc[row] for row in trace.device["op"]] == ["aten::mm", "old"]


def test_an_external_id_is_no_correlation_where_others_have_one() -> None:
    work = kernel("gemm", 40, 10, 0)
    work["args"] = {"External id": 7, "device": 0, "stream": 7}
    trace = read(
        event("aten::mm", 0, 50, External_id=7),
        launch(12, 3, 100),
        event("aten::add", 60, 9),
        launch(61, 3, 7),
        work,
    )
    linked = row(trace, "gemm", "device")
    assert (linked["launch"], trace.host["name"].iloc[linked["op"]]) == (-1, "aten::mm")


def test_rocm_without_correlation_links_by_external_id() -> None:
    trace = read(
        event("aten::mm", 0, 50, External_id=25),
        event("hipExtModuleLaunchKernel", 70, 2, "cuda_runtime", External_id=25),
        {
            "ph": "X",
            "cat": "kernel",
            "name": "Cijk",
            "pid": 2,
            "tid": 0,
            "ts": 75,
            "dur": 3,
            "args": {"External id": 25},
        },
    )
    device = row(trace, "Cijk", "device")
    assert trace.host["name"].iloc[device["launch"]] == "hipExtModuleLaunchKernel"
    assert device["op"] == -1  # here the id is no op's, whatever op has the same number


def test_mtia_copies_and_waits() -> None:
    trace = read(
        event("aten::add", 0),
        event("event_wait", 1, 99, "mtia_ccp_events", pid=17, stream=3),
        event("pe_exe", 2, 5, "mtia_ccp_events", pid=17, stream=4),
        event(
            "dma_request", 8, 1, "mtia_ccp_events", pid=17, stream=5, direction="DEVICE_TO_HOST", size=1024
        ),
    )
    assert trace.device[["name", "kind", "direction", "bytes", "device"]].to_numpy().tolist() == [
        ["pe_exe", "kernel", "", -1, 17],
        ["dma_request", "memcpy", "DtoH", 1024, 17],
    ]
