"""What models of pictures take in another layout, on copies of theirs."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from diagnose.run.child import guard
from diagnose.run.child.trials import layout_look
from diagnose.run.child.trials.layout_look import LayoutLook
from tests.run.trials.looking import looking_at

LINES = Path(__file__).read_text().splitlines()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8 * 16 * 16, 4)

    def forward(self, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        x = torch.relu(self.second(torch.relu(self.norm(self.first(x)))))
        return self.head(self.flat(x) * scale["by"])

    def flat(self, x: Tensor) -> Tensor:
        return x.flatten(1)


class Viewing(Net):
    def flat(self, x: Tensor) -> Tensor:
        return x.view(len(x), -1)


def trained(look: LayoutLook, model: nn.Module, times: int = 2) -> None:
    for _ in range(times):
        model(torch.randn(4, 3, 16, 16), {"by": torch.ones(())}).sum().backward()
    assert look.step()
    look.end()


def test_pairs_of_calls_are_timed_on_copies() -> None:
    model, hooked = Net(), []
    model.second.register_forward_hook(lambda *_: hooked.append(1))
    look = looking_at(LayoutLook, model)
    assert look.begin()
    trained(look, model, times=3)
    assert look.facts is not None
    (told,) = look.facts
    assert told["call_count"] == 3 and len(hooked) == 3
    assert told["class"] == "Net" and "model(torch.randn(" in LINES[told["line"] - 1]
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) >= 5
    assert all(ms > 0 for ms in told["as_is_ms"] + told["changed_ms"])
    assert (
        model.second.weight.is_contiguous() and nn.Module.__call__.__qualname__ == "Module._wrapped_call_impl"
    )


def plain(model: Net) -> Net:
    return model


def normed(model: Net) -> Net:
    """Whose weights are made anew in each call, and one round further in a power iteration."""
    nn.utils.parametrizations.spectral_norm(model.first)
    nn.utils.parametrizations.spectral_norm(model.second)
    return model


@pytest.mark.parametrize("made", [plain, normed])
def test_kernels_are_laid_out_whatever_makes_them(
    made: Callable[[Net], Net], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[nn.Module] = []

    def in_turns(as_is: Any, changed: Any, *, with_graph: bool) -> dict[str, Any]:
        tried.extend((as_is[0], changed[0]))
        return {}

    monkeypatch.setattr(layout_look, "in_turns", in_turns)
    model = made(Net())
    look = looking_at(LayoutLook, model)
    assert look.begin()
    trained(look, model)
    layouts = [one.second.weight.is_contiguous(memory_format=torch.channels_last) for one in tried]  # type: ignore[operator, union-attr]
    assert layouts == [False, True]


def test_kernels_of_one_channel_are_laid_out_as_the_fix_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both layouts are the same for their numbers; but by the strides torch chooses what a convolution gives."""
    tried: list[Any] = []
    monkeypatch.setattr(
        layout_look, "in_turns", lambda as_is, changed, **_: tried.extend((as_is[0], changed[0])) or {}
    )
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))
    look = looking_at(LayoutLook, model)
    assert look.begin()
    model(torch.randn(2, 1, 8, 8)).sum().backward()
    assert look.step()
    as_is, changed = tried
    fixed = copy.deepcopy(model).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    for one in (0, 2):
        assert changed[one].weight.stride() == fixed[one].weight.stride() != as_is[one].weight.stride()


@pytest.mark.parametrize("made", [plain, normed])
def test_the_script_goes_on_as_if_nothing_had_been(made: Callable[[Net], Net]) -> None:
    model = made(Net())
    before = copy.deepcopy(model.state_dict())
    look = looking_at(LayoutLook, model)
    assert look.begin()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    model(torch.randn(4, 3, 16, 16), {"by": torch.ones(())}).sum().backward()
    after: Any = copy.deepcopy((model.state_dict(), [one.grad for one in model.parameters()]))
    random = torch.get_rng_state()
    look.step()
    assert torch.equal(torch.get_rng_state(), random)
    for name, value in model.state_dict().items():
        assert torch.equal(value, after[0][name])
    for one, gradient in zip(model.parameters(), after[1], strict=True):
        assert one.grad is not None and torch.equal(one.grad, gradient)


def test_a_view_of_pictures_is_no_obstacle() -> None:
    model = Viewing()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    trained(look, model)
    assert look.facts and len(look.facts[0]["changed_ms"]) >= 5


class Data:
    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


def test_data_that_a_model_holds_is_not_copied() -> None:
    model = Net()
    model.data, model.sizes = Data(), [1, 2]
    look = looking_at(LayoutLook, model)
    assert look.begin()
    trained(look, model)
    assert look.facts


class Single(Net):
    """Cannot be copied."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("one of a kind")


def test_a_model_that_cannot_be_copied_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    model = Single()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    trained(look, model)
    assert look.facts == []
    assert guard.notes() == []  # it is no failure of ours


def test_without_gradients_nothing_goes_backward() -> None:
    model = Net().eval()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    with torch.no_grad():
        model(torch.randn(4, 3, 16, 16), {"by": torch.ones(())})
    assert look.step()
    assert look.facts and look.facts[0]["call_count"] == 1


def test_an_evaluation_in_the_step_does_not_count_beside_its_training() -> None:
    model = Net().eval()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    for _ in range(4):
        model(torch.randn(4, 3, 16, 16), {"by": torch.ones(())})  # evaluates
    trained(look, model.train(), times=1)
    assert look.facts is not None
    (told,) = look.facts
    assert told["call_count"] == 1 and "# evaluates" not in LINES[told["line"] - 1]


@pytest.mark.parametrize(
    "model",
    [
        nn.Linear(3, 3),
        Net().to(memory_format=torch.channels_last),  # type: ignore[call-overload]
        nn.Conv2d(8, 4, 1),  # both layouts are the same for its weights
        nn.Conv1d(3, 3, 3),
    ],
    ids=["no pictures", "laid out so", "points", "sounds"],
)
def test_where_there_is_nothing_to_try(model: nn.Module) -> None:
    assert not looking_at(LayoutLook, model).begin()


def test_nothing_is_tried_where_the_clock_counts_backwards() -> None:
    """It would count the copies', and take them for steps."""
    model = Net()
    look = looking_at(LayoutLook, model)
    look._place_for = lambda kind: (nn.Module, "backward" if kind == "backward" else "__call__")
    assert look.begin()
    trained(look, model)
    assert look.facts == []


def test_where_the_clock_counts_forwards_the_copies_are_called_beside_it() -> None:
    """As in a service that only answers."""
    model, counted, is_counting = Net(), [], [True]

    def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        counted.append(is_counting[0])
        return nn.Module.__call__(module, *args, **kwargs)

    @contextlib.contextmanager
    def uncounted() -> Iterator[None]:
        is_counting[0] = False
        yield
        is_counting[0] = True

    clock = SimpleNamespace(forward=forward)
    look = looking_at(LayoutLook, model)
    look._place_for = lambda kind: (clock, kind)
    look._uncounted = uncounted
    assert look.begin()
    with torch.inference_mode():
        clock.forward(model, torch.randn(4, 3, 16, 16), {"by": torch.ones(())})
        assert look.step()
    assert counted == [True] and is_counting == [True]
    assert look.facts and look.facts[0]["call_count"] == 1 and len(look.facts[0]["changed_ms"]) >= 5


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv3d(1, 8, 3, padding=1), nn.Conv3d(8, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x)))


def test_volumes_have_such_a_layout_too() -> None:
    model = Volumes()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    model(torch.randn(2, 1, 8, 8, 8)).sum().backward()
    assert look.step()
    assert look.facts and len(look.facts[0]["changed_ms"]) >= 5
    assert model.second.weight.is_contiguous()


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Unflatten(1, (3, 8, 8)), nn.Conv2d(3, 4, 3)),
        nn.Sequential(
            nn.Unflatten(1, (3, 8, 8)), *(nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU()) for _ in range(2))
        ),
    ],
    ids=["a convolution", "blocks of one each"],
)
def test_a_model_that_makes_its_pictures_itself_is_tried_as_a_whole(model: nn.Module) -> None:
    look = looking_at(LayoutLook, model)
    assert look.begin()
    model(torch.randn(2, 192)).sum().backward()
    assert look.step() and look.facts
    (told,) = look.facts
    assert told["class"] == "Sequential" and len(told["changed_ms"]) >= 5


class Sounds(nn.Module):
    """Of two dimensions, until the model has made pictures of them."""

    def __init__(self) -> None:
        super().__init__()
        self.chain = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        )
        self.last = nn.Conv2d(4, 2, 3)

    def forward(self, waves: Tensor) -> Tensor:
        pictures = self.chain(waves.view(-1, 1, 12, 12))  # pictures
        return self.last(pictures)


def test_a_part_that_is_given_pictures_is_tried_where_its_model_is_not() -> None:
    """The outermost part of several convolutions: neither what lies inside of it nor a single one beside."""
    model = Sounds()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    model(torch.randn(2, 144)).sum().backward()
    assert look.step() and look.facts is not None
    (told,) = look.facts
    assert told["class"] == "Sequential" and LINES[told["line"] - 1].endswith("# pictures")


class Checkpointed(Volumes):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(2, 8, 3), nn.ReLU(), nn.Conv3d(8, 8, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.second(checkpoint(self.first, x, use_reentrant=False))


def test_what_a_backward_computes_again_is_no_call_of_its_own() -> None:
    model = Checkpointed()
    look = looking_at(LayoutLook, model)
    assert look.begin()
    model(torch.randn(2, 2, 8, 8, 8)).sum().backward()
    assert look.step() and look.facts is not None
    assert [told["class"] for told in look.facts] == ["Checkpointed"]
