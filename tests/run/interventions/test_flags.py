"""Settings of torch that are kept although the script sets them."""

from __future__ import annotations

import torch

from .trying import Apply, told


def test_flags_are_kept(flags: None, gpu: None, apply: Apply) -> None:
    wanted = {"cudnn_benchmark": True, "matmul_precision": "high", "flash_sdp": False, "math_sdp": True}
    changed = apply("backend_flags", **wanted)
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == (True, "high")
    assert told(changed) == (3, "")  # math_sdp is on by itself
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_flash_sdp(True)
    torch._C._set_cudnn_benchmark(False)  # behind our back
    changed.tick(1)
    assert (torch.backends.cudnn.benchmark, torch.backends.cuda.flash_sdp_enabled(), changed.held) == (
        True,
        False,
        3,
    )
    changed.remove()
    assert (changed.held, torch.backends.cuda.flash_sdp_enabled()) == (3, True)


def test_flags_that_the_script_sets_itself(flags: None, gpu: None, apply: Apply) -> None:
    changed = apply("backend_flags", cudnn_benchmark=True, matmul_precision="high")
    assert changed.held == 2
    torch.backends.cudnn.benchmark = True
    assert changed.held == 1
    torch.set_float32_matmul_precision("high")
    assert told(changed) == (0, "It is already so.")
    changed.remove()
    # the script's will
    assert (torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision()) == (True, "high")
    torch.backends.cudnn.benchmark = False
    torch.set_float32_matmul_precision("highest")


def test_tf32_is_two_flags_of_which_one_is_on_by_itself(flags: None, gpu: None, apply: Apply) -> None:
    changed = apply("backend_flags", allow_tf32=True)
    assert (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32) == (True, True)
    assert told(changed) == (1, "")
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.backends.cuda.matmul.allow_tf32
    changed.remove()
    assert not torch.backends.cuda.matmul.allow_tf32


def test_flags_of_gpus_do_not_hold_without_one(flags: None, apply: Apply) -> None:
    changed = apply("backend_flags", cudnn_benchmark=True, allow_tf32=True)
    assert told(changed) == (0, "The script did not use a CUDA GPU.")
    changed.remove()
    changed = apply("backend_flags", cudnn_benchmark=True, matmul_precision="high")
    assert told(changed) == (1, "")
