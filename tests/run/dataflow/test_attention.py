"""Attention that is written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diagnose.run.child.products.attention_trial import attention_of_module
from diagnose.run.child.values import Call, Values
from tests.run.dataflow.looking import seen, text_of


def attention(queries: Tensor, keys: Tensor, values: Tensor, drop: float = 0.0) -> Tensor:
    scores = queries @ keys.transpose(-2, -1) / queries.size(-1) ** 0.5
    weights = functional.dropout(functional.softmax(scores, -1), drop)
    return weights @ values


def tried_attention(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text, the share that the fused kernel left."""
    return {text_of(line): line["left_ns"] / line["ns"] for line in seen(step)["attention"]}


def test_attention_that_is_written_out_is_tried_fused() -> None:
    """Of long sequences reading and writing the scores is most of the work, of 50 tokens it is not. The
    script's random numbers stay what they are.
    """

    def left(heads: int, tokens: int, width: int) -> float:
        rows = torch.randn(heads, tokens, width)
        state = torch.random.get_rng_state()
        (told,) = tried_attention(lambda: attention(rows, rows, rows)).items()
        assert told[0] == "return weights @ values"
        assert torch.equal(torch.random.get_rng_state(), state)
        return told[1]

    assert left(16, 512, 32) < 0.9 * left(60, 50, 6)  # 0.3 to 0.7, and 0.9 to 1.0 on one core


def test_attention_by_einsum_is_tried_too() -> None:
    """Whose values have the heads behind the keys."""
    queries, keys, values = (torch.randn(2, 16, 4, 8) for _ in range(3))

    def step() -> None:
        weights = torch.einsum("bqhd,bkhd->bhqk", queries, keys).softmax(-1)
        torch.einsum("bhqk,bkhd->bqhd", weights, values)

    assert list(tried_attention(step)) == ['torch.einsum("bhqk,bkhd->bqhd", weights, values)']


def test_passes_over_the_scores_are_tried_with_them() -> None:
    """The scale and the mask: the division is none, for it is of the queries."""
    rows, mask = torch.randn(4, 16, 8), torch.zeros(16, 16)
    found: list[int] = []

    def step() -> None:
        scores = (rows / 8**0.5) @ rows.transpose(-2, -1)
        for each in (scores, scores + mask, (scores + mask).masked_fill(mask > 0, -1e9)):
            each.softmax(-1) @ rows

    def left(attention: Any, ns: int, *, is_trained: bool) -> float:
        found.append(attention.way.passes)
        return 0.5

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diagnose.run.child.products.products.left_by_fused", left)
        patch.setattr("diagnose.run.child.products.tried.Tried.left", lambda *given: given[-1]())
        seen(step)
    assert found == [0, 1, 2]


def test_attention_that_drops_scores_and_that_of_one_query_are_not_tried() -> None:
    rows = torch.randn(4, 16, 8)
    assert tried_attention(lambda: attention(rows, rows, rows, 0.1)) == {}
    assert tried_attention(lambda: attention(rows[:, :1], rows, rows)) == {}
    assert tried_attention(lambda: functional.softmax(rows, -1) @ torch.randn(8, 3)) == {}


def test_written_attention_within_blocks_is_told_with_all_its_calls() -> None:
    """Eight blocks of 32: 8 of 64 tiles hold pairs that count."""
    rows, block = torch.randn(2, 3, 256, 4), torch.arange(256) // 32
    others = block[:, None] != block

    def step() -> None:
        scores = rows @ rows.transpose(-2, -1)
        scores = scores.masked_fill(others, float("-inf"))
        weights = scores.softmax(-1)
        weights = functional.dropout(weights, 0.1)
        weights @ rows

    told = {text_of(line): line["left_ns"] / line["ns"] for line in seen(step)["masked"]}
    left = pytest.approx(0.1 + 2.6 * 8 / 64, rel=1e-3)
    assert told == {
        "scores = rows @ rows.transpose(-2, -1)": left,
        'scores = scores.masked_fill(others, float("-inf"))': left,
        "weights = scores.softmax(-1)": left,
        "weights = functional.dropout(weights, 0.1)": left,
        "weights @ rows": left,
    }


def test_written_attention_of_which_a_mask_leaves_much_is_not_told() -> None:
    rows, causal = torch.randn(2, 256, 4), torch.ones(256, 256).tril() == 0

    def step() -> None:
        scores = rows @ rows.transpose(-2, -1)
        (scores.softmax(-1) @ rows).sum()
        scores.masked_fill(causal, float("-inf")).softmax(-1) @ rows

    assert seen(step)["masked"] == []


@pytest.mark.parametrize("batch_first", [True, False])
def test_a_module_that_is_asked_for_its_weights_is_tried_with_its_shapes(batch_first: bool) -> None:
    """6 sequences of 40 tokens, 8 heads of 4 numbers."""
    module, rows = nn.MultiheadAttention(32, 8, batch_first=batch_first), torch.randn(6, 40, 32)
    rows = rows if batch_first else rows.transpose(0, 1)
    found: list[Any] = []

    def step() -> None:
        mixed, _ = module(
            rows, rows[:, :30] if batch_first else rows[:30], rows[:, :30] if batch_first else rows[:30]
        )
        mixed.sum().backward()

    class Looking(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            attention = attention_of_module(Call(Values(lambda: 0), func, args, kwargs or {}))
            found.extend([] if attention is None else [attention])
            return func(*args, **(kwargs or {}))

    with Looking():
        step()
    (attention,) = found
    assert (attention.weights.shape, attention.width) == ((6, 8, 40, 30), 4)
    assert list(tried_attention(step)) == ["mixed, _ = module("]


@pytest.mark.parametrize("how", ["no weights", "drops", "one query"])
def test_a_module_with_nothing_to_fuse_is_not(how: str) -> None:
    module = nn.MultiheadAttention(32, 8, dropout=0.1 if how == "drops" else 0.0, batch_first=True)
    rows = torch.randn(6, 40, 32)
    queries = rows[:, :1] if how == "one query" else rows

    def step() -> None:
        module(queries, rows, rows, need_weights=how != "no weights")[0].sum().backward()

    assert tried_attention(step) == {}
