"""Calls that drop some of what they compute: the same twice gives other numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from tests.run.dataflow.looking import again, call_of

ROWS = torch.rand(3, 2, 8)


def recurrent(make: Callable[..., nn.Module], rows: Any) -> Callable[[bool, float], None]:
    def call(trains: bool, share: float) -> None:
        make(8, 4, num_layers=2, dropout=share).train(trains)(rows)

    return call


def attention_of_module(trains: bool, share: float) -> None:
    nn.MultiheadAttention(8, 2, dropout=share).train(trains)(ROWS, ROWS, ROWS)


CALLS = {
    "lstm": recurrent(nn.LSTM, ROWS),
    "gru": recurrent(nn.GRU, ROWS),
    "rnn_tanh": recurrent(nn.RNN, pack_padded_sequence(ROWS, [3, 2])),
    "multi_head_attention_forward": attention_of_module,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("trains", "share", "is_random"), [(True, 0.2, True), (True, 0.0, False), (False, 0.2, False)]
)
def test_modules_hand_dropout_by_position(name: str, trains: bool, share: float, is_random: bool) -> None:
    call = call_of(lambda: CALLS[name](trains, share), lambda call: call.name == name)
    assert call.is_new is is_random


@pytest.mark.parametrize(
    "attention",
    [
        lambda share: functional.scaled_dot_product_attention(ROWS, ROWS, ROWS, None, share),
        lambda share: functional.scaled_dot_product_attention(ROWS, ROWS, ROWS, dropout_p=share),
    ],
)
def test_attention_is_handed_dropout_either_way(attention: Callable[[float], Tensor]) -> None:
    for share in (0.0, 0.2):
        call = call_of(partial(attention, share), lambda call: call.name.startswith("scaled"))
        assert call.is_new is (share > 0)


@pytest.mark.parametrize("trains", [True, False])
def test_a_network_that_drops_is_not_computed_again(trains: bool) -> None:
    network, state = nn.GRU(8, 8, num_layers=2, dropout=0.2).train(trains), torch.zeros(2, 2, 8)

    def step() -> None:
        network(ROWS, state)
        network(ROWS, state)

    assert bool(again(step)) is not trains


@pytest.mark.parametrize("trains", [True, False])
def test_a_layer_that_drops_is_not_computed_again(trains: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1).train(trains)

    def step() -> None:
        layer(ROWS)
        layer(ROWS)

    assert bool(again(step)) is not trains
