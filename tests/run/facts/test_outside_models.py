"""The line outside of all models that leads to a call of one."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

import torch
from torch import nn

from diagnose.run.child.facts.sequences import _outside_models
from diagnose.run.child.places import Place, Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


class Model(nn.Module):
    def loss(self) -> Place:
        return self.inner()

    @torch.no_grad()  # whose method is torch's wrapper
    def inner(self) -> Place:
        return _outside_models(sys._getframe(), Places(str(HERE.parent), str(HERE.parent)))


class Large:
    pass


class Trainer:
    def keeps_nothing(self, model: Model) -> bool:
        """The copy of its variables that tells whether this is a model's method would keep `large`."""
        large = Large()
        gone = weakref.ref(large)
        model.loss()
        del large
        return gone() is None


def train_epoch(model: Model) -> Place:
    """Given the model first, as its methods are."""
    return model.loss()


def evaluate(loader: object, model: Model) -> Place:
    return model.loss()


def text_of(place: Place) -> str:
    return LINES[place.line - 1].strip()


def test_a_function_that_is_given_the_model_first_is_none_of_its_methods() -> None:
    assert train_epoch(Model()).function == "train_epoch"
    assert evaluate(None, Model()).function == "evaluate"
    assert text_of(train_epoch(Model())) == "return model.loss()"


def test_what_a_function_lets_go_is_gone() -> None:
    assert Trainer().keeps_nothing(Model())
