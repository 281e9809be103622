"""Fixes of copies to a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .trying import Apply, here, told


class Copies:
    """What `Tensor.to` and `Tensor.cuda` were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Any, ...]] = []
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        for name in ("to", "cuda"):
            monkeypatch.setattr(
                torch.Tensor, name, lambda tensor, *args, **kwargs: self.asked.append((args, kwargs))
            )


def test_copies_to_the_gpu_do_not_wait(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch)
    moving = apply("non_blocking")
    tensor = torch.ones(2)
    tensor.to("cuda")
    tensor.to(torch.device("cuda", 0), torch.float16, False)
    tensor.to(device="cuda:0", non_blocking=False)
    tensor.cuda(0)
    tensor.cuda(0, False)
    assert moving.held == 5
    tensor.to("cuda", non_blocking=True)  # already so
    tensor.to(torch.float16)
    tensor.to("cpu")
    tensor.to(tensor)
    assert moving.held == 5
    assert copies.asked == [
        (("cuda",), {"non_blocking": True}),
        ((torch.device("cuda", 0), torch.float16, True), {}),
        ((), {"device": "cuda:0", "non_blocking": True}),
        ((0,), {"non_blocking": True}),
        ((0, True), {}),
        (("cuda",), {"non_blocking": True}),
        ((torch.float16,), {}),
        (("cpu",), {}),
        ((tensor,), {}),
    ]


def test_only_the_copies_of_the_lines_in_question(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(monkeypatch)
    moving = apply("non_blocking", here())
    torch.ones(1).to("cuda")
    torch.ones(1).to("cuda")
    assert [kwargs for _, kwargs in copies.asked] == [{"non_blocking": True}, {}]
    assert moving.held == 1


def test_copies_without_a_gpu(apply: Apply) -> None:
    assert told(apply("non_blocking")) == (0, "There is no CUDA GPU to copy to.")
