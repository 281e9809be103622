"""Models in half precision, in another layout, and compiled."""

from __future__ import annotations

import inspect
import math
import threading
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from .trying import Apply, Net, Pictures, here, losses, told


class Probe(nn.Module):
    """Keeps what its layer gave, and returns it in all kinds of containers."""

    def forward(self, inputs: torch.Tensor) -> dict[str, Any]:
        self.seen = self.layer(inputs)
        return {
            "out": self.seen,
            "more": (self.seen, [self.seen], "text"),
            "whole": torch.ones(1, dtype=torch.int64),
        }

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_models_in_half_precision_return_float32(apply: Apply, dtype: str) -> None:
    casting = apply("autocast", dtype=dtype)
    model = Probe()
    result = model(torch.ones(2, 4))
    assert model.seen.dtype is getattr(torch, dtype)
    assert result["out"].dtype is result["more"][0].dtype is result["more"][1][0].dtype is torch.float32
    assert (result["more"][2], result["whole"].dtype) == ("text", torch.int64)
    assert told(casting) == (1, "")
    with pytest.raises(RuntimeError, match="shape"):
        model(torch.ones(2, 5))
    assert model(torch.ones(2, 4))["out"].dtype is torch.float32  # an exception leaves nothing behind
    assert casting.held == 3


def test_bfloat16_trains_as_well(apply: Apply) -> None:
    plain = losses()
    casting = apply("autocast", dtype="bfloat16")
    changed = losses()
    assert changed != plain
    assert changed == pytest.approx(plain, rel=0.05)
    assert told(casting) == (5, "")


def losses_by_hand(make: Any, clip: bool, **arguments: Any) -> list[float]:
    """The loop of `losses` as its author would write it with autocast and a GradScaler."""
    torch.manual_seed(0)
    net = Net()
    optimizer = make(net.parameters(), lr=0.1, **arguments)
    scaler = torch.amp.GradScaler("cpu")
    found = []
    for _ in range(8):
        inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
        with torch.autocast("cpu", torch.float16):
            outputs = net(inputs)
        loss = F.mse_loss(outputs.float(), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if clip:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(
    ("make", "arguments"),
    [(torch.optim.SGD, {}), (torch.optim.Adam, {}), (torch.optim.Adam, {"fused": True})],
)
@pytest.mark.parametrize("clip", [False, True])
def test_float16_scales_the_losses_as_its_author_would(
    apply: Apply, make: Any, arguments: dict[str, Any], clip: bool
) -> None:
    by_hand = losses_by_hand(make, clip, **arguments)
    casting = apply("autocast", dtype="float16")
    raw: list[float] = []

    def after_backward(model: Any) -> None:
        raw.append(model.second.bias.grad.item())
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)

    changed = losses(make=make, steps=8, after_backward=after_backward, **arguments)
    assert changed == by_hand
    assert max(abs(gradient) for gradient in raw if math.isfinite(gradient)) < 10  # the scale is 65536
    assert told(casting) == (8, "")


def test_a_step_whose_gradients_overflow_is_left_out_and_the_scale_becomes_smaller(apply: Apply) -> None:
    apply("autocast", dtype="float16")
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0**-10)
    weights, gradients = [], []
    for _ in range(3):
        optimizer.zero_grad()
        (
            model(torch.ones(1, 1)) * 2.0
        ).sum().backward()  # 2 · 65536 is too much for float16, so is 2 · 32768, 2 · 16384 is not
        gradients.append(model.weight.grad.item())  # type: ignore[union-attr]
        optimizer.step()
        weights.append(model.weight.item())
    assert gradients == [float("inf"), float("inf"), 2.0]
    assert weights == [1, 1, 1 - 2.0**-9]


def test_gradients_are_the_script_s_own_between_two_backward_passes(apply: Apply) -> None:
    """Which it may read, clamp, and add to: 0.25 is clamped to 0.125, to which 0.25 is added, twice."""
    apply("autocast", dtype="float16")
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    nn.init.ones_(model.weight)
    gradients = []
    for _ in range(3):
        (model(torch.ones(1, 1)) * 0.25).sum().backward()
        gradients.append(model.weight.grad.item())  # type: ignore[union-attr]
        model.weight.grad.clamp_(max=0.125)  # type: ignore[union-attr]
    optimizer.step()
    assert gradients == [0.25, 0.375, 0.375]
    assert model.weight.item() == 0.875


def test_several_optimizers_share_a_scale(apply: Apply) -> None:
    apply("autocast", dtype="float16")
    models = [nn.Linear(1, 1, bias=False) for _ in range(2)]
    for model in models:
        nn.init.ones_(model.weight)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.5) for model in models]
    for model in models:
        (model(torch.ones(1, 1)) * 0.25).sum().backward()
    for optimizer in optimizers:
        optimizer.step()
    assert [model.weight.item() for model in models] == [0.875, 0.875]


def test_half_precision_is_refused_to_scripts_that_have_it(apply: Apply) -> None:
    model = Net()
    casting = apply("autocast")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(torch.ones(2, 4)).dtype is torch.bfloat16
    assert told(casting) == (0, "The script uses autocast already.")
    switched_on = apply("autocast")
    torch.set_autocast_enabled("cpu", True)
    model(torch.ones(2, 4))
    torch.set_autocast_enabled("cpu", False)
    assert told(switched_on) == (0, "The script uses autocast already.")
    scaling = apply("autocast", dtype="float16")
    torch.amp.GradScaler("cpu")
    model(torch.ones(2, 4))
    assert told(scaling) == (0, "The script scales its losses already.")
    doubles = apply("autocast")
    assert Net().double()(torch.ones(2, 4, dtype=torch.float64)).dtype is torch.float64
    assert told(doubles) == (0, "The model's parameters are float64 already.")


def test_a_closure_ends_the_scaling_of_losses(apply: Apply) -> None:
    def run() -> list[float]:
        torch.manual_seed(0)
        model, inputs = Net(), torch.randn(16, 4)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(3)]

    plain = run()
    casting = apply("autocast", dtype="float16")
    assert run() == plain
    assert (casting.held, "closure" in casting.why_not) == (0, True)


def test_checkpoints_are_recomputed_as_they_were(apply: Apply) -> None:
    class Checkpointed(Net):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            hidden = torch.utils.checkpoint.checkpoint(self.first, inputs, use_reentrant=False)
            return self.second(torch.relu(hidden))

    casting = apply("autocast")
    assert losses(Checkpointed) == losses()
    assert told(casting) == (10, "")


def test_calls_of_other_lines_and_of_other_threads(apply: Apply) -> None:
    model, seen = Probe(), []
    casting = apply("autocast", here())
    seen.append((model(torch.ones(1, 4)), model.seen.dtype))
    seen.append((model(torch.ones(1, 4)), model.seen.dtype))
    assert [dtype for _, dtype in seen] == [torch.bfloat16, torch.float32]
    everywhere = apply("autocast")
    thread = threading.Thread(target=lambda: seen.append((model(torch.ones(1, 4)), model.seen.dtype)))
    thread.start()
    thread.join()
    assert (seen[-1][1], casting.held, everywhere.held) == (torch.bfloat16, 1, 1)


def test_the_line_of_the_models_class_is_a_site_too(apply: Apply) -> None:
    casting = apply("autocast", inspect.getsourcelines(Probe)[1])
    Probe()(torch.ones(1, 4))
    Net()(torch.ones(1, 4))
    assert casting.held == 1


def test_convolutions_and_pictures_become_channels_last(apply: Apply) -> None:
    torch.manual_seed(0)
    model, pictures = Pictures(), torch.randn(2, 3, 8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plain = model(pictures)
    laying = apply("channels_last")
    for _ in range(2):
        result = model(pictures)
    assert torch.allclose(result, plain, atol=1e-5)
    assert model.layouts == [False, True, True]
    assert model.conv.weight.is_contiguous(memory_format=torch.channels_last)
    assert optimizer.param_groups[0]["params"][0] is model.conv.weight
    assert told(laying) == (1, "")


def test_a_model_that_changes_its_pictures_in_place_gets_the_script_s_own(apply: Apply) -> None:
    class Clamping(Pictures):
        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            return super().forward(pictures.clamp_(0, 1))

    model, changed = Clamping(), apply("channels_last")
    for _ in range(2):
        pictures = 9 * torch.randn(2, 3, 8, 8)
        model(pictures)
        assert (pictures.min(), pictures.max()) == (0, 1)
    assert told(changed) == (0, "The model changes what it is given in place.")
    assert model.layouts == [True, False]


def test_volumes_become_channels_last_too(apply: Apply) -> None:
    laying = apply("channels_last")
    model = nn.Conv3d(3, 4, 3)
    with torch.inference_mode():
        model(torch.randn(2, 3, 8, 8, 8))
    assert model.weight.is_contiguous(memory_format=torch.channels_last_3d)
    assert laying.held == 1
    model(torch.randn(2, 3, 8, 8, 8)).sum().backward()  # made in inference mode, but no inference tensor


def test_lazy_models_become_channels_last_when_they_have_weights(apply: Apply) -> None:
    laying = apply("channels_last")
    model = nn.LazyConv2d(4, 3)
    model(torch.randn(2, 3, 8, 8))
    assert laying.held == 0
    model(torch.randn(2, 3, 8, 8))
    assert laying.held == 1


def test_models_without_another_layout(apply: Apply) -> None:
    laying = apply("channels_last")
    Net()(torch.ones(2, 4))
    assert told(laying) == (0, "The model has no two- or three-dimensional convolutions.")
    again = apply("channels_last")
    Pictures().to(memory_format=torch.channels_last)(torch.randn(2, 3, 8, 8))  # type: ignore[call-overload]
    assert told(again) == (0, "The convolutions are channels_last already.")


class Net2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layer(inputs).tanh()


def test_models_are_compiled_whole(apply: Apply, compiler: Any) -> None:
    plain = losses(lambda: nn.Sequential(nn.Linear(4, 8), Net2()))
    compiling = apply("compile", backend="eager")
    assert losses(lambda: nn.Sequential(nn.Linear(4, 8), Net2())) == plain
    assert told(compiling) == (1, "")
    stats = compiler.utils.counters["stats"]
    assert stats["unique_graphs"] == 1
    assert not compiler.utils.counters["graph_break"]


def test_a_compiler_that_fails_leaves_the_model_as_it_was(apply: Apply, compiler: Any) -> None:
    def backend(graph: Any, inputs: Any) -> Any:
        raise ValueError("no such instruction")

    plain = losses()
    compiling = apply("compile", backend=backend)
    assert losses() == plain
    assert compiling.held == 0
    assert "no such instruction" in compiling.why_not


def test_a_mode_that_the_compiler_does_not_know(apply: Apply, compiler: Any) -> None:
    plain = losses()
    unknown = apply("compile", mode="warp")
    assert losses() == plain
    assert (unknown.held, "warp" in unknown.why_not) == (0, True)


def test_a_script_that_compiles_is_left_alone(apply: Apply, compiler: Any) -> None:
    compiling = apply("compile", backend="eager")
    torch.compile(Net(), backend="eager")(torch.ones(2, 4))
    assert told(compiling) == (0, "The script compiles already.")


@pytest.mark.parametrize("refuses", [True, False])
def test_a_gpu_without_the_type_is_not_cast_to(
    apply: Apply, monkeypatch: pytest.MonkeyPatch, *, refuses: bool
) -> None:
    class Refused(torch.autocast):
        def __init__(self, device: str, *, dtype: torch.dtype) -> None:
            if refuses:
                raise RuntimeError(
                    "Current CUDA Device does not support bfloat16. Please switch dtype to float16."
                )
            super().__init__(device, dtype=dtype, enabled=False)

    casting = apply("autocast", dtype="bfloat16")
    monkeypatch.setattr("diagnose.run.child.interventions.autocast._Ours", Refused)
    assert Net()(torch.ones(1, 4)).dtype is torch.float32
    why = (
        "torch refuses it: Current CUDA Device"
        if refuses
        else "torch has no autocast to torch.bfloat16 on this cpu."
    )
    assert casting.held == 0 and casting.why_not.startswith(why)


def test_what_fails_in_a_fix_never_reaches_the_script(apply: Apply, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own exceptions do, and its model is called as often as without us."""

    class Counting(Pictures):
        calls = 0

        def forward(self, pictures: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            if self.calls == 2:
                raise ValueError("the script's own")
            return super().forward(pictures)

    def fails(value: Any) -> Any:
        raise RuntimeError("ours")

    halving, model, pictures = apply("autocast"), Counting().eval(), torch.randn(2, 3, 8, 8)
    model(pictures)
    with pytest.raises(ValueError, match="own"):
        model(pictures)
    assert halving.held == 2
    monkeypatch.setattr("diagnose.run.child.interventions.autocast.map_tensors", lambda *_: fails(None))
    model(pictures)
    model(pictures)
    assert model.calls == 4
    assert told(halving) == (0, "It fails here: RuntimeError: ours")
    converting = apply("channels_last")
    monkeypatch.setattr(converting, "_convert", fails)
    model(pictures)
    assert model.calls == 5
    assert told(converting) == (0, "It fails here: RuntimeError: ours")
