"""Settings of the whole process: the line of the script that makes them changes,
else one is added below the imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from diagnose.fixes.fix import Arguments, Fix
from diagnose.fixes.patch.arguments import UNKNOWN, code_of, literal, source_of
from diagnose.fixes.patch.certain import certain
from diagnose.fixes.patch.script import ANYWHERE, Change, NoPatch, Script, binds_torch, holds, nodes_in

# The older and the newer way to set the same thing: the later line counts, or torch refuses both.
RIVALS = {
    "torch.set_float32_matmul_precision()": "torch.backends.cuda.matmul.allow_tf32",
    "torch.backends.cuda.matmul.allow_tf32": "torch.set_float32_matmul_precision()",
}


def setting_changes(script: Script, line: int, fix: Fix, arguments: Arguments) -> list[Change]:
    """Raises NoPatch for a setting that the script makes in several places, from an expression, or where it
    is not known to run, and where ``torch`` has another name.
    """
    settings = {argument.name: argument.settings for argument in fix.arguments}
    for name in set(arguments) - set(settings):
        raise NoPatch(f"no line of code is known for `{name}`")
    return [
        change
        for name, value in arguments.items()
        for setting in settings[name]
        for change in _changes(script, setting, value)
    ]


def _changes(script: Script, target: str, value: Any) -> list[Change]:
    rivals = _values(script, RIVALS[target]) if target in RIVALS else []
    if rivals:
        raise NoPatch(f"line {script.line(rivals[0])} decides the same by `{RIVALS[target]}`")
    values = _values(script, target)
    if not values:
        return [_inserted(script, target, value)]
    _check_certain(script, values)
    if all(_same(literal(found), value) for found in values):
        return []
    if len(values) > 1:
        lines = ", ".join(str(script.line(found)) for found in values)
        raise NoPatch(
            f"the script sets it in several places (lines {lines}): it is not known which one counts"
        )
    if literal(values[0]) is UNKNOWN:
        raise NoPatch(
            f"line {script.line(values[0])} sets it to `{source_of(values[0])}`: make that {code_of(value)}"
        )
    return [Change(values[0], target, code_of(value), lambda _: cst.parse_expression(code_of(value)))]


def _values(script: Script, target: str) -> list[cst.BaseExpression]:
    """What the script sets it to, wherever it does."""
    if target.endswith("()"):
        name = target[:-2]
        calls = script.calls({name.split(".")[-1]}, ANYWHERE)
        return [call.args[0].value for call in calls if call.args and _is(script, call.func, name)]
    found = [
        assignment
        for assignment in nodes_in(script.module, cst.Assign)
        if any(_is(script, one.target, target) for one in assignment.targets)
    ]
    if any(len(one.targets) > 1 for one in found):
        raise NoPatch("the script sets it together with something else")
    return [one.value for one in found]


def _is(script: Script, node: cst.CSTNode, target: str) -> bool:
    """Whether that is what the name stands for; of one that no import binds, whether it may."""
    return any(f".{target}".endswith(f".{name}") for name in script.names(node))


def _check_certain(script: Script, values: Sequence[cst.BaseExpression]) -> None:
    """Raises NoPatch for a value in a branch or a function that may not have run."""
    statements = certain(script.module)
    for value in values:
        if not any(holds(statement, value) for statement in statements):
            raise NoPatch(f"line {script.line(value)} sets it, which is not known to run")


def _same(found: Any, value: Any) -> bool:
    return type(found) is type(value) and bool(found == value)


def _inserted(script: Script, target: str, value: Any) -> Change:
    text = f"{target[:-1]}{code_of(value)})" if target.endswith("()") else f"{target} = {code_of(value)}"
    return Change(_last_import(script), target, code_of(value), lambda node: _with_line_after(node, text))


def _last_import(script: Script) -> cst.CSTNode:
    """The end of the imports among which ``torch`` is; imports further down may come after the work."""
    body = script.module.body
    at = next((index for index, statement in enumerate(body) if binds_torch(statement)), None)
    if at is None:
        raise NoPatch("the script does not import `torch` by that name at its top level")
    while at + 1 < len(body) and _imports(body[at + 1]):
        at += 1
    return body[at]


def _imports(statement: cst.CSTNode) -> bool:
    """An import, or a block of nothing else, as under `try:`."""
    if isinstance(statement, (cst.Try, cst.If)):
        return all(map(_imports, statement.body.body))
    if isinstance(statement, cst.SimpleStatementLine):
        return all(map(_imports, statement.body))
    return isinstance(statement, (cst.Import, cst.ImportFrom))


def _with_line_after(statement: Any, text: str) -> cst.FlattenSentinel:
    """A blank line sets what is added apart from the imports, once."""
    before = list(statement) if isinstance(statement, cst.FlattenSentinel) else [statement]
    line = cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)
    return cst.FlattenSentinel(
        [*before, line.with_changes(leading_lines=[cst.EmptyLine(indent=False)] if len(before) == 1 else [])]
    )
