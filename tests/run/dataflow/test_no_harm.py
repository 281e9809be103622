"""What the look tries between the script's calls leaves these as they are."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.utils.checkpoint import checkpoint

from diagnose.run.child import guard
from diagnose.run.child.dataflow.known_parts import KnownParts
from diagnose.run.child.dataflow.one_end import OneEnd
from diagnose.run.child.dataflow.shifted import Shifted
from diagnose.run.child.products.products import Products
from diagnose.run.child.values import Call
from tests.run.dataflow.looking import looking, seen


def test_trials_within_a_checkpoint_are_no_part_of_it() -> None:
    """What they would save for their own backward is not there when the checkpoint computes its part again."""
    block = nn.Sequential(nn.Conv1d(8, 8, 3), nn.Tanh())
    signals = torch.randn(2, 8, 32)

    def step() -> None:
        checkpoint(block, signals, use_reentrant=False).sum().backward()

    step()
    expected = [parameter.grad.clone() for parameter in block.parameters() if parameter.grad is not None]
    block.zero_grad()
    assert len(seen(step)["signal_layout"]) == 1 and guard.notes() == []
    block.zero_grad()
    step()
    for parameter, gradient in zip(block.parameters(), expected, strict=True):
        assert parameter.grad is not None and torch.equal(parameter.grad, gradient)


def test_the_scripts_hooks_on_saved_tensors_see_none_of_ours() -> None:
    layer, signals, packed = nn.Conv1d(8, 8, 3), torch.randn(2, 8, 32), []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tensor)
        return tensor

    def step() -> None:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            layer(signals).sum().backward()

    step()
    alone = len(packed)
    assert len(seen(step)["signal_layout"]) == 1
    assert len(packed) == 2 * alone


@pytest.mark.parametrize(
    "observer", [Products.add, Shifted.call, OneEnd.call, Products.made, KnownParts.made]
)
def test_where_an_observer_fails_what_the_call_reads_is_read(
    observer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row of 64, and by the call that fails all of them."""
    rows = torch.rand(64, 64)

    def fail(self: Any, call: Call, *args: Any, **kwargs: Any) -> Any:
        if call.name == "sum" and call.given[0].dim() == 2:
            raise ValueError
        return observer(self, call, *args, **kwargs)

    monkeypatch.setattr(observer.__module__ + "." + observer.__qualname__, fail)

    def step() -> None:
        products = rows @ rows
        products[0].sum()
        products.sum()

    assert seen(step)["unread"] == [] and len(guard.notes()) == 1


def test_calls_on_unusual_tensors_fail_no_observer() -> None:
    """An empty one that is joined with others, a sparse one that is transposed, a nearly empty one times a
    vector, and a scale without dimensions.
    """
    rows, weight, scale = torch.rand(16, 8), torch.rand(4, 8), torch.tensor(0.5)
    sparse, network = torch.eye(16).to_sparse(), nn.LSTM(8, 8, bidirectional=True)

    def step() -> None:
        joined = torch.cat([torch.tensor([]), rows], 1)
        nn.functional.linear(joined, weight)
        sparse.transpose(0, 1)
        torch.eye(128) @ torch.rand(128)
        scale * network(torch.rand(6, 2, 8))[0]

    seen(step)
    assert guard.notes() == []


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_transformer_keeps_its_fast_path() -> None:
    """Which makes padding zeros: of 2 sequences with 1 and 3 elements of 4 these are the other 3 and 1, 8 numbers
    each.
    """
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder, sequences = nn.TransformerEncoder(layer, 2).eval(), torch.rand(2, 4, 8)
    padding = torch.tensor([[False, True, True, True], [False, False, False, True]])
    given: list[Tensor] = []

    def step() -> None:
        with torch.inference_mode():
            encoded = encoder(sequences, src_key_padding_mask=padding)
            given.append(encoded * 1.0)

    step()
    asked = torch.overrides.has_torch_function
    told = seen(step)
    assert int((given[0] == 0).sum()) == 8 * (3 + 1)
    assert torch.equal(given[0], given[1]) and guard.notes() == []
    assert told["calls_ns"] >= 10_000 * 2  # each of its layers is one call

    assert torch.overrides.has_torch_function is asked


def test_nothing_that_a_step_was_given_outlives_it() -> None:
    """Of layers, which may be the first of a pair of calls; the second one's rows are there several times."""
    layer, flow = nn.Linear(8, 128), looking()

    def step() -> list[weakref.ref[Tensor]]:
        rows, one = torch.rand(32, 8), torch.rand(1, 4)
        layer(rows)
        repeated = torch.cat([one.expand(32, 4), torch.rand(4, 4).repeat(8, 1)], 1)
        layer(repeated)
        return [weakref.ref(rows), weakref.ref(repeated)]

    given = step()
    flow.step()
    assert [tensor() for tensor in given] == [None, None]
    flow.end()


def test_variables_are_made_as_before() -> None:
    """By the script itself, once nobody looks; and while somebody does, of what is no tensor too."""
    kind, made = type(Variable), []

    def step() -> None:
        made.append(Variable(torch.ones(2)) + 1)
        with pytest.raises(TypeError):
            Variable("no tensor")

    seen(step)
    assert "__call__" not in vars(kind) and guard.notes() == []
    assert all(torch.equal(tensor, torch.full((2,), 2.0)) for tensor in made)


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
