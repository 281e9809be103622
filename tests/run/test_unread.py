"""Which results of a step are mostly not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from diagnose.run.child.dataflow import Dataflow
from diagnose.run.child.places import Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
HEAD, X = nn.Linear(16, 500), torch.randn(4, 10, 16)


def unread_of(step: Callable[[], object], then: Callable[[], object] | None = None) -> dict[str, int]:
    """By the line's text: how many calls have results that are mostly not read."""
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    step()
    assert not flow.step()
    if then is not None:
        then()
    assert flow.step()
    assert flow.facts is not None
    return {LINES[line["line"] - 1].strip(): line["call_count"] for line in flow.facts["unread"]}


def test_an_output_layer_of_which_the_last_position_is_read() -> None:
    def step() -> None:
        logits = HEAD(X)
        logits[:, -1].softmax(-1).argmax(-1)

    assert unread_of(step) == {"logits = HEAD(X)": 1}


def test_with_gradients_and_through_calls_that_keep_each_number() -> None:
    def step() -> None:
        logits = HEAD(X)
        scaled = logits / 2.0
        functional.cross_entropy(scaled.view(40, 500)[:4], torch.zeros(4, dtype=torch.int64)).backward()

    assert unread_of(step) == {"logits = HEAD(X)": 1, "scaled = logits / 2.0": 1}


@pytest.mark.parametrize(
    "how", ["all later", "over all", "in parts", "kept", "a half and more", "written to"]
)
def test_what_is_read_elsewhere_is_read(how: str) -> None:
    def step() -> object:
        logits = HEAD(X)
        if how == "kept":
            return logits
        if how == "in parts":
            first, *others = logits.split(2, dim=1)
            return first.sum(), [other.sum() for other in others]
        if how == "over all":
            return logits.log_softmax(1)[:, -1].sum()
        if how == "a half and more":
            return logits[:, :6].sum()
        if how == "written to":
            logits[:, 0] = 0
            return logits.sum()
        last = logits[:, -1].sum()
        return last, logits.mean()

    assert unread_of(step) == {}


def test_a_recurrent_network_needs_all_its_steps() -> None:
    network = nn.GRU(16, 8, batch_first=True)

    def step() -> None:
        output, _ = network(X)
        output[:, -1].sum().backward()

    assert unread_of(step) == {}


def test_scores_of_all_items_of_which_some_are_picked() -> None:
    """Ten of 500 per row are read: of 1 ms, 0.98 ms are for nothing."""
    users, items, wanted = torch.randn(8, 16), torch.randn(500, 16), torch.zeros(8, 10, dtype=torch.int64)

    def step() -> None:
        scores = users @ items.t()
        scores.gather(1, wanted).sum()

    assert list(unread_of(step)) == ["scores = users @ items.t()"]


def test_what_the_next_step_reads_is_read() -> None:
    """A step that ends with the model's call: the next one picks, or reads all."""
    kept = []

    def step() -> None:
        kept.append(HEAD(X))

    assert unread_of(step, lambda: kept[-1][:, -1].sum()) == {"kept.append(HEAD(X))": 1}
    assert unread_of(step, lambda: (kept[-1][:, -1].sum(), kept[-1].sum())) == {}
