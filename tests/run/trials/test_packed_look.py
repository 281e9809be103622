"""What recurrent layers take with padded sequences, on copies of theirs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from diagnose.run.child.trials.packed_look import PackedLook, turned
from tests.run.trials.looking import looking_at

LINES = Path(__file__).read_text().splitlines()
RAGGED, EQUAL = torch.tensor([9, 12, 3, 5]), torch.tensor([12, 12, 12, 12])


class Tagger(nn.Module):
    def __init__(self, layer: type[nn.RNNBase] = nn.LSTM, **options: Any) -> None:
        super().__init__()
        self.layer = layer(6, 8, batch_first=True, **options)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]


class Padded(Tagger):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.layer(x)[0]


class InHalf(Tagger):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(x, lengths)


def told_of(model: nn.Module, lengths: Tensor, times: int = 2) -> list[dict[str, Any]]:
    look = looking_at(PackedLook, model)
    assert look.begin()
    for _ in range(times):
        model(torch.randn(4, 12, 6), lengths).sum().backward()
    assert look.step()
    look.end()
    assert nn.Module.__call__.__qualname__ == "Module._wrapped_call_impl"
    assert look.facts is not None
    return look.facts


def test_packed_and_padded_calls_of_a_copy_are_timed() -> None:
    (told,) = told_of(Tagger(), RAGGED, times=3)
    assert told["call_count"] == 3 and "self.layer(packed)" in LINES[told["line"] - 1]
    assert len(told["as_is_ms"]) == len(told["changed_ms"]) >= 5
    assert all(ms > 0 for ms in told["as_is_ms"] + told["changed_ms"])


def test_every_kind_of_layer() -> None:
    for layer in (nn.GRU, nn.RNN):
        assert len(told_of(Tagger(layer), RAGGED)) == 1


def test_rows_are_turned_for_layers_that_read_backwards_where_padding_is() -> None:
    """Its second direction is to begin at each row's last element, as with packing."""
    (told,) = told_of(Tagger(bidirectional=True, num_layers=2), RAGGED)
    assert told["turned"] and len(told["changed_ms"]) >= 5
    (told,) = told_of(Tagger(bidirectional=True), EQUAL)
    assert not told["turned"]


def test_rows_turned_within_their_lengths() -> None:
    rows = torch.tensor([[1, 2, 3], [4, 5, 0]])
    assert turned(rows[..., None], torch.tensor([3, 2]))[..., 0].tolist() == [[3, 2, 1], [5, 4, 0]]


def test_calls_under_autocast_are_not_tried() -> None:
    """Between two steps there is none, and copies would compute in float32."""
    assert told_of(InHalf(), RAGGED) == []


def test_padded_sequences_are_nothing_to_try() -> None:
    assert told_of(Padded(), RAGGED) == []


def test_the_script_goes_on_as_if_nothing_had_been() -> None:
    """Dropout between layers draws random numbers, in copies too."""
    model, x = Tagger(num_layers=2, dropout=0.5), torch.randn(4, 12, 6)
    look = looking_at(PackedLook, model)
    assert look.begin()
    model(x, RAGGED).sum().backward()
    state, random = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    look.step()
    assert look.facts and torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert parameter.grad is not None and torch.equal(parameter.grad, gradient)


def test_a_model_without_recurrent_layers_is_not_looked_at() -> None:
    assert not looking_at(PackedLook, nn.Linear(3, 3)).begin()


def test_while_others_hold_the_cores_copies_run_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of 1 ms took 550 ms with two."""
    monkeypatch.setattr("os.getloadavg", lambda: (1e6, 0.0, 0.0))
    torch.set_num_threads(2)
    seen: list[int] = []

    class Counting(nn.GRU):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(torch.get_num_threads())
            return super().forward(*args, **kwargs)

    (told,) = told_of(Tagger(Counting), RAGGED, times=1)
    assert told["changed_ms"] and (seen[0], set(seen[1:])) == (2, {1})
    assert torch.get_num_threads() == 2
