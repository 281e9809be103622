"""Which functions may hold the dictionary of their variables."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from diagnose.run.child.source.frame_values import is_changed_by_tracing

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 13), reason="tracing changes no dictionary any more")


def code_of(line: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"def work(args, model):\n    loss = 1\n    {line}\n    return loss", names)
    return names["work"].__code__


@pytest.mark.parametrize(
    "line",
    ["held = locals()", "held = vars()", "print(locals())", "args.update(**locals())", "eval('loss')", "sorted(dir())",
     "inspect.currentframe()", "frame.f_locals", "known = locals() or args", "get = locals"],
)  # fmt: skip
def test_a_dictionary_that_is_given_away(line: str) -> None:
    assert is_changed_by_tracing(code_of(line))


@pytest.mark.parametrize(
    "line",
    ["vars(args)", "model.eval()", "loss = 2 if 'loss' in locals() else 3", "print('loss' not in vars())",
     "if args.name in dir(): loss = 2", "dir(model)"],
)  # fmt: skip
def test_one_that_is_only_asked(line: str) -> None:
    assert not is_changed_by_tracing(code_of(line))


def test_a_modules_variables_are_its_own() -> None:
    assert not is_changed_by_tracing(compile("held = locals()", "module", "exec"))
