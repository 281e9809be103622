"""Which statements of a script run whenever it is started, as far as its text tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from diagnose.fixes.patch.script import nodes_in

_MAIN = "__name__ == '__main__'"


def certain(module: cst.Module) -> list[cst.SimpleStatementLine]:
    """Those at the top level, in blocks that are entered in any case, and in functions that such statements
    call by their own names. What stands in a branch, a loop or a method is none of them.
    """
    functions = {one.name.value: one for one in module.body if isinstance(one, cst.FunctionDef)}
    found: list[cst.SimpleStatementLine] = []
    blocks: list[Sequence[cst.CSTNode]] = [module.body]
    while blocks:
        statements = list(_entered(blocks.pop()))
        found += statements
        for call in (call for statement in statements for call in nodes_in(statement, cst.Call)):
            if isinstance(call.func, cst.Name) and (called := functions.pop(call.func.value, None)):
                blocks.append(called.body.body)
    return found


def _entered(block: Sequence[cst.CSTNode]) -> Iterator[cst.SimpleStatementLine]:
    for statement in block:
        if isinstance(statement, cst.SimpleStatementLine):
            yield statement
        elif isinstance(statement, (cst.With, cst.Try)) or _is_main_guard(statement):
            yield from _entered(statement.body.body)  # type: ignore[attr-defined]


def _is_main_guard(statement: cst.CSTNode) -> bool:
    if not isinstance(statement, cst.If):
        return False
    return cst.Module([]).code_for_node(statement.test).replace('"', "'") == _MAIN
