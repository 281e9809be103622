"""BatchNorms in evaluation, folded into the convolutions before them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.nn.utils.parametrize import is_parametrized

from ..inspection import Pair, compiler_in_use, convolutions_before_norms
from .base import Sites
from .evaluation import EvaluationIntervention
from .forwards import alike, tensors_in

# of the largest number; an output used twice, or a folded norm too many, is off by far more
_TOLERANCE = 1e-2


@dataclass
class _Folding:
    """One model: the pairs that were seen, and what was replaced."""

    pairs: list[Pair]
    tried: bool = False
    # parent, name, what was there
    replaced: list[tuple[nn.Module, str, nn.Module]] = field(default_factory=list)


class FoldConvNorm(EvaluationIntervention):
    """The first call in evaluation shows the pairs; at the second they are
    folded if the output stays what it is.
    """

    def __init__(self, sites: Sites) -> None:
        super().__init__(sites)
        self._models: weakref.WeakKeyDictionary[nn.Module, _Folding] = weakref.WeakKeyDictionary()

    def forward(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        folding = self._models.get(module)
        if module.training:
            if folding is not None and folding.replaced:
                self.refuse("The model goes back to training.")
            return run(*args, **kwargs)
        if folding is None:
            return self._look(module, run, args, kwargs)
        if not folding.tried:
            folding.tried = True
            self._try(module, folding, run, args, kwargs)
        try:
            return run(*args, **kwargs)
        except AttributeError as error:
            if not folding.replaced:
                raise
            self.refuse(f"The model does not work with its norms folded: {error}")
            return run(*args, **kwargs)

    def refuse(self, why: str) -> None:
        self._unfold_all()
        super().refuse(why)

    def remove(self) -> None:
        self._unfold_all()
        super().remove()

    def _look(
        self, module: nn.Module, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if compiler_in_use():
            self.refuse("The script uses torch.compile, which folds already.")
            return run(*args, **kwargs)
        pairs: list[Pair] = []
        with convolutions_before_norms(module, pairs):
            result = run(*args, **kwargs)
        foldable = [pair for pair in pairs if pair.folds]
        plain = [pair for pair in foldable if _is_plain(module, pair)]
        self._models[module] = _Folding(plain)
        if not foldable:
            self.pass_over("No BatchNorm in evaluation directly follows a convolution.")
        elif len(plain) < len(foldable):
            self.pass_over("A convolution or a norm has hooks, or a weight that is computed for each call.")
        return result

    def _try(
        self,
        module: nn.Module,
        folding: _Folding,
        run: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        if not folding.pairs:
            return
        with torch.no_grad():
            try:
                before = tensors_in(run(*args, **kwargs))
                with torch.inference_mode(False):
                    for pair in folding.pairs:
                        _fold(module, pair, folding)
                after = tensors_in(run(*args, **kwargs))
            except Exception as error:  # as where the model reads its norm's weight
                _unfold(folding)
                self.pass_over(f"The model does not work with its norms folded: {error}")
                return
        if alike(before, after, _TOLERANCE):
            self.count += len(folding.pairs)
        else:
            _unfold(folding)
            self.pass_over(
                "Folding changes the results: the output of a convolution goes elsewhere too, or a module is "
                "used twice."
            )

    def _unfold_all(self) -> None:
        for folding in self._models.values():
            _unfold(folding)


def _is_plain(model: nn.Module, pair: Pair) -> bool:
    """Whether the two modules are nothing more than their weights: no hooks, as weight_norm has, and no
    parametrizations.
    """
    return not any(
        module._forward_hooks or module._forward_pre_hooks or is_parametrized(module)
        for module in map(model.get_submodule, (pair.conv, pair.norm))
    )


def _fold(model: nn.Module, pair: Pair, folding: _Folding) -> None:
    convolution, norm = model.get_submodule(pair.conv), model.get_submodule(pair.norm)
    _replace(model, pair.conv, fuse_conv_bn_eval(convolution, norm), folding)  # type: ignore[type-var,arg-type]
    _replace(model, pair.norm, nn.Identity().eval(), folding)


def _replace(model: nn.Module, path: str, replacement: nn.Module, folding: _Folding) -> None:
    parent_path, _, name = path.rpartition(".")
    parent = model.get_submodule(parent_path)
    folding.replaced.append((parent, name, parent.get_submodule(name)))
    setattr(parent, name, replacement)


def _unfold(folding: _Folding) -> None:
    while folding.replaced:
        parent, name, module = folding.replaced.pop()
        module.train(parent.get_submodule(name).training)  # as it is by now
        setattr(parent, name, module)
