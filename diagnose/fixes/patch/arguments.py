"""The arguments of a call: what is given, and one set or dropped in the formatting that the call has."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from typing import Any, Final

import libcst as cst

from diagnose.fixes.patch.script import NoPatch, nodes_in

UNKNOWN: Final = object()  # the value of an expression
NOT_GIVEN: Final = object()
NOWHERE: Final = 10**6  # the position of an argument that goes by keyword only

Blank = cst.BaseParenthesizableWhitespace
Lines = cst.ParenthesizedWhitespace  # blanks with line ends in them


def code_of(value: Any) -> str:
    """The value as people write it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def source_of(node: cst.CSTNode) -> str:
    """As it is written."""
    return cst.Module([]).code_for_node(node)


def literal(node: cst.CSTNode) -> Any:
    """The value that is written there; UNKNOWN if it takes more than reading."""
    try:
        return ast.literal_eval(source_of(node))
    except (ValueError, SyntaxError):
        return UNKNOWN


def value_of(call: cst.Call, name: str, position: int = NOWHERE) -> Any:
    """The argument's value, UNKNOWN if it is an expression, or NOT_GIVEN.

    Raises NoPatch where stars hide whether it is given.
    """
    index = _index(call, name, position)
    return NOT_GIVEN if index is None else literal(call.args[index].value)


def known_value(call: cst.Call, name: str, position: int, wanted: str) -> Any:
    """The same, but NoPatch where an expression gives the value, which may be an option of the script's: to
    change that is left to the user, who is told what is ``wanted`` of it.
    """
    value = value_of(call, name, position)
    if value is UNKNOWN:
        index = _index(call, name, position)
        assert index is not None
        raise NoPatch(f"`{name}` is given by `{source_of(call.args[index].value)}`: {wanted}")
    return value


def with_argument(call: cst.Call, name: str, value: Any, position: int = NOWHERE) -> cst.Call:
    """The call with the argument set where it is given already, else appended."""
    expression = cst.parse_expression(code_of(value))
    index = _index(call, name, position)
    if index is not None:
        args = list(call.args)
        args[index] = args[index].with_changes(value=expression)
        return call.with_changes(args=args)
    return _appended(call, cst.Arg(value=expression, keyword=cst.Name(name), equal=_equal_sign(call)))


def without_argument(call: cst.Call, name: str, position: int = NOWHERE) -> cst.Call:
    """The call without the argument, its own comment included; the same call if it is not given."""
    index = _index(call, name, position)
    if index is None:
        return call
    if call.args[index].keyword is None and any(arg.keyword is None for arg in call.args[index + 1 :]):
        raise NoPatch(f"`{name}` is given by position, with more after it")
    return call.with_changes(
        args=_removed(call.args, index), **({} if len(call.args) > 1 else {"whitespace_before_args": _NONE})
    )


def _index(call: cst.Call, name: str, position: int) -> int | None:
    """Which of the call's arguments is that one."""
    for index, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value == name:
            return index
    stars = [
        index
        for index, arg in enumerate(call.args)
        if arg.star == "**" or (arg.star == "*" and position != NOWHERE)
    ]
    if stars:
        raise NoPatch(
            f"the call takes `{source_of(call.args[stars[0]]).rstrip(', ')}`, which may hold `{name}`"
        )
    return position if position < len(call.args) and call.args[position].keyword is None else None


_NONE: Final = cst.SimpleWhitespace("")
_PLAIN_END: Final = cst.TrailingWhitespace()  # of a line: no blanks, no comment


def _equal_sign(call: cst.Call) -> cst.AssignEqual:
    """Spaced as in the call's other arguments."""
    signs = [arg.equal for arg in call.args if isinstance(arg.equal, cst.AssignEqual)]
    return signs[-1] if signs else cst.AssignEqual(_NONE, _NONE)


def _appended(call: cst.Call, new: cst.Arg) -> cst.Call:
    if not call.args:
        return call.with_changes(args=[new])
    *before, last = call.args
    end = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    separator: Blank = cst.SimpleWhitespace(" ")
    indentation = _indentation(call)
    if indentation is not None:
        separator, end = _own_line(indentation, end)
    if isinstance(last.comma, cst.Comma):
        new = new.with_changes(comma=last.comma.with_changes(whitespace_after=end))
        last = last.with_changes(comma=last.comma.with_changes(whitespace_after=separator))
    else:
        new = new.with_changes(whitespace_after_arg=end)
        last = last.with_changes(comma=cst.Comma(whitespace_after=separator), whitespace_after_arg=_NONE)
    return call.with_changes(args=[*before, _in_parentheses(last), new])


def _own_line(indentation: Lines, end: Blank) -> tuple[Blank, Blank]:
    """The blanks before and after an argument on a line of its own: comments
    after the last argument stay beside it.
    """
    if not isinstance(end, Lines):
        return indentation, end
    separator = indentation.with_changes(first_line=end.first_line, empty_lines=end.empty_lines)
    return separator, end.with_changes(first_line=_PLAIN_END, empty_lines=[])


def _indentation(call: cst.Call) -> Lines | None:
    """The line end and indentation between arguments that have a line each; None where some share one."""
    between = [arg.comma.whitespace_after for arg in call.args[:-1] if isinstance(arg.comma, cst.Comma)] or [
        call.whitespace_before_args
    ]
    last = between[-1]
    if not isinstance(last, Lines) or not all(isinstance(one, Lines) for one in between):
        return None
    return last.with_changes(first_line=_PLAIN_END, empty_lines=[])


def _in_parentheses(arg: cst.Arg) -> cst.Arg:
    """A generator may go without parentheses only where it is the only argument."""
    if not isinstance(arg.value, cst.GeneratorExp) or arg.value.lpar:
        return arg
    return arg.with_changes(value=arg.value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))


def _removed(args: Sequence[cst.Arg], index: int) -> list[cst.Arg]:
    """The arguments without one; what it leaves behind it ends the one before."""
    left = [*args[:index], *args[index + 1 :]]
    if index == 0:
        return left
    gone, before = args[index], args[index - 1]
    assert isinstance(before.comma, cst.Comma)
    between = before.comma.whitespace_after
    if not isinstance(between, Lines):
        left[index - 1] = before.with_changes(
            comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg
        )
    elif index == len(left) and not any(nodes_in(between, cst.Comment)):
        left[index - 1] = before.with_changes(
            comma=_bare(gone.comma), whitespace_after_arg=_bare(gone.whitespace_after_arg)
        )
    elif index == len(left):
        end = gone.comma.whitespace_after if isinstance(gone.comma, cst.Comma) else gone.whitespace_after_arg
        closing = between.with_changes(
            last_line=end.last_line if isinstance(end, Lines) else between.last_line
        )
        left[index - 1] = before.with_changes(comma=before.comma.with_changes(whitespace_after=closing))
    return left


def _bare(blank: Any) -> Any:
    """Without the comment that went with the argument on its line."""
    if isinstance(blank, cst.Comma):
        return blank.with_changes(whitespace_after=_bare(blank.whitespace_after))
    return blank.with_changes(first_line=_PLAIN_END) if isinstance(blank, Lines) else blank
