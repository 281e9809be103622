"""What a wait for the GPU is for: one purpose each, the most specific."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas import syncs
from diagnose.measure.metrics import Measured
from diagnose.measure.selection import SELECTORS

LIBRARY = "main 30 475 annotation diagnose::item|/job/train.py|20|main|{}\nmain 35 469 op aten::item"
CASES = {
    "scalar": ["main 30 475 op aten::item", "main 30 475 mark bool@20", "main 30 475 op aten::equal"],
    "nan": ["main 22 6 op aten::isnan\nmain 30 475 op aten::is_nonzero"],
    "clipping": [
        "main 2 4 op aten::_foreach_norm\nmain 22 6 op aten::isnan\nmain 30 475 op aten::is_nonzero",
        LIBRARY.format("torch.nn.utils.clip_grad:clip_grad_norm_"),
    ],
    "scaler": [LIBRARY.format("torch.amp.grad_scaler:_maybe_opt_step")],
    "library": [
        LIBRARY.format("torchmetrics.metric:compute"),
        LIBRARY.format("torch.utils.tensorboard.writer:add_scalar"),
    ],
    "shape": ["main 30 475 op aten::index\nmain 35 469 op aten::nonzero\nmain 36 460 op aten::copy_"],
    "download": ["main 30 475 mark numpy@20\nmain 35 469 op aten::copy_", "main 30 475 op aten::_to_copy"],
    "explicit": ["main 28 1 op aten::view"],
    "": [
        "main 30 475 annotation DistributedDataParallel.forward",
        "main 30 475 op aten::_fused_adam_",
        "main 30 475 mark repr@20",
    ],
}


def measured(context: str) -> Measured:
    """One wait of 462 µs inside the context, on a GPU that then idles."""
    return measured_case(
        {
            "timeline": f"""
main 0   1000 step    ProfilerStep#1
main 10  10   runtime cudaLaunchKernel {{"correlation": 1}}
gpu  20  480  kernel  gemm             {{"correlation": 1}}
{context}
main 40  462  runtime cudaStreamSynchronize
main 510 30   op      aten::mm
main 530 8    runtime cudaLaunchKernel {{"correlation": 2}}
gpu  545 450  kernel  gemm             {{"correlation": 2}}
"""
        }
    )


@pytest.mark.parametrize(
    ("purpose", "context"), [(purpose, one) for purpose, several in CASES.items() for one in several]
)
def test_a_wait_has_the_most_specific_purpose_and_no_other(purpose: str, context: str) -> None:
    recording = measured(context)
    found = {name for name in syncs.MEANINGS if len(recording.rows(SELECTORS[f"{name}_sync"]))}
    assert found == ({purpose} if purpose else set())


def test_a_read_that_follows_a_check_by_far_is_not_the_checks() -> None:
    far = (
        "main 1 1 op aten::isnan\n"
        + "\n".join(f"main {2 + i} 1 op aten::mul" for i in range(7))
        + "\nmain 30 475 op aten::item"
    )
    assert len(measured(far).rows(SELECTORS["scalar_sync"])) == 1
