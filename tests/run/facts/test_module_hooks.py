"""Which functions of a script's own are called around a layer's forward."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
from torch import nn

from diagnose.run.child.facts.module_hooks import module_hooks
from diagnose.run.child.places import Places

HERE = Path(__file__)


class Watch:
    def __call__(self, module: nn.Module, given: Any, result: Any) -> None:
        self.seen = result

    def before(self, module: nn.Module, given: Any) -> None:
        self.given = given


def spread(log: list[float], module: nn.Module, given: Any, result: Any) -> None:
    with torch.no_grad():
        deviation = result.std()
    log.append(deviation.item())


def test_functions_methods_partial_ones_and_objects_are_found_once() -> None:
    model, watch = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), Watch()
    for layer in model:
        layer.register_forward_hook(functools.partial(spread, []))
        layer.register_forward_hook(watch)
    model.register_forward_pre_hook(watch.before)
    model.register_forward_hook(torch.nn.functional.relu)  # not the script's own
    found = module_hooks([model], Places(str(HERE.parent), str(HERE.parent)))
    assert {hook["function"] for hook in found} == {"spread", "__call__", "before"} and len(found) == 3
    (one,) = (hook for hook in found if hook["function"] == "spread")
    assert one["file"] == str(HERE) and one["last_line"] - one["line"] == 3


def test_hooks_of_all_modules_count() -> None:
    handle = nn.modules.module.register_module_forward_hook(Watch())
    try:
        (hook,) = module_hooks([], Places(str(HERE.parent), str(HERE.parent)))
        assert hook["function"] == "__call__"
    finally:
        handle.remove()
