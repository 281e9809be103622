"""A script as a tree that remembers every blank and comment, and changes made to it in one go, so
that lines are always the original's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

Node = TypeVar("Node", bound=cst.CSTNode)

ANYWHERE = 0  # instead of a line: every such call of the file
BYTE_ORDER_MARK = "\ufeff"


def nodes_in(tree: cst.CSTNode, kind: type[Node]) -> Iterator[Node]:
    """As `libcst.matchers.findall`, in the order of the source; importing that takes a sixth of a second."""
    if isinstance(tree, kind):
        yield tree
    for child in tree.children:
        yield from nodes_in(child, kind)


def holds(tree: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the node is in the tree."""
    return tree is node or any(holds(child, node) for child in tree.children)


class NoPatch(Exception):
    """Why a fix has no patch here, in words that the user reads."""


@dataclass(frozen=True, eq=False)
class Change:
    """What becomes of one node of a `Script`. ``made`` takes the node as earlier changes left it.

    Two changes of the same ``what`` of a node are rivals unless they agree on the ``value``.
    """

    node: cst.CSTNode
    what: str
    value: str
    made: Callable[[Any], Any]


class Script:
    """Raises NoPatch for a source that is not Python or would not come back as it was."""

    def __init__(self, source: str) -> None:
        self._mark = BYTE_ORDER_MARK if source.startswith(BYTE_ORDER_MARK) else ""  # a tree drops it
        try:
            wrapper = MetadataWrapper(cst.parse_module(source))
        except (cst.ParserSyntaxError, RecursionError):
            raise NoPatch("the file cannot be read as Python") from None
        self.module = wrapper.module
        self._places = wrapper.resolve(PositionProvider)
        if self._mark + self.module.code != source:
            raise NoPatch("the file's line ends or blanks are unusual")
        self._origins = _origins(self.module)

    def calls(self, names: Collection[str], line: int) -> list[cst.Call]:
        """The calls of functions or methods of these names: those that begin on the
        line, else the innermost one around it.
        """
        calls = list(self._calls(names))
        if line == ANYWHERE:
            return calls
        starting = [call for call in calls if line in (self.line(call), self.line(_called(call)))]
        around = [call for call in calls if self.line(call) <= line <= self._place(call).end.line]
        return starting or sorted(around, key=self._height)[:1]

    def names(self, node: cst.CSTNode) -> set[str]:
        """What a name may be in full, by the file's imports and definitions: `torch.utils.data.DataLoader`
        of `data.DataLoader`. One that they do not bind is as it is written; one of the file's own begins with
        a dot.
        """
        first, *rest = full_name(node).split(".")
        return {".".join([origin, *rest]) for origin in self._origins.get(first, {first})}

    def not_torchs(self, call: cst.Call) -> str:
        """Where the file takes what is called from, if that is not torch."""
        if full_name(call.func).split(".")[0] not in self._origins:
            return ""
        return min((name for name in self.names(call.func) if name.split(".")[0] != "torch"), default="")

    def line(self, node: cst.CSTNode) -> int:
        return self._place(node).start.line

    def has_torch(self) -> bool:
        """Whether the name ``torch`` is bound by an import at the top level."""
        return any(map(binds_torch, self.module.body))

    def changed(self, changes: Iterable[Change]) -> str:
        return self._mark + self.module.visit(_Changer(changes)).code

    def _calls(self, names: Collection[str]) -> Iterator[cst.Call]:
        return (call for call in nodes_in(self.module, cst.Call) if name_of(call) in names)

    def _height(self, node: cst.CSTNode) -> int:
        place = self._place(node)
        return place.end.line - place.start.line

    def _place(self, node: cst.CSTNode) -> CodeRange:
        place = self._places[node]
        assert isinstance(place, CodeRange)
        return place


class _Changer(cst.CSTTransformer):
    def __init__(self, changes: Iterable[Change]) -> None:
        super().__init__()
        self._changes: dict[cst.CSTNode, list[Change]] = defaultdict(list)
        for change in changes:
            self._changes[change.node].append(change)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        for change in self._changes.get(original_node, []):
            updated_node = change.made(updated_node)
        return updated_node


def _called(call: cst.Call) -> cst.BaseExpression:
    """The name that is called; of a method in a chain over several lines it is not on the
    line on which the expression begins.
    """
    return call.func.attr if isinstance(call.func, cst.Attribute) else call.func


def name_of(call: cst.Call) -> str:
    """The last part of what is called, `DataLoader` of
    `torch.utils.data.DataLoader`; empty if it has no name.
    """
    called = _called(call)
    return called.value if isinstance(called, cst.Name) else ""


def full_name(node: cst.CSTNode) -> str:
    return get_full_name_for_node(node) or ""


def binds_torch(statement: cst.CSTNode) -> bool:
    """`import torch`, also as part of `import torch.nn`, which binds the same name."""
    lines = statement.body if isinstance(statement, cst.SimpleStatementLine) else []
    names = [alias for line in lines if isinstance(line, cst.Import) for alias in line.names]
    return any(_bound(alias) == "torch" for alias in names)


def _bound(alias: cst.ImportAlias) -> str:
    if alias.asname is not None:
        return _bound_as(alias) if full_name(alias.name) == "torch" else ""
    return full_name(alias.name).split(".")[0]


def _origins(module: cst.Module) -> dict[str, set[str]]:
    """What each name that the file imports or defines stands for, in full."""
    found: dict[str, set[str]] = defaultdict(set)
    for statement in nodes_in(module, cst.Import):
        for alias in statement.names:
            whole, bound = full_name(alias.name), _bound_as(alias)
            found[bound or whole.split(".")[0]].add(whole if bound else whole.split(".")[0])
    for taken in nodes_in(module, cst.ImportFrom):
        source = "." * len(taken.relative) + (full_name(taken.module) if taken.module else "")
        for alias in [] if isinstance(taken.names, cst.ImportStar) else taken.names:
            name = full_name(alias.name)
            found[_bound_as(alias) or name].add(f"{source}.{name}")
    for definition in module.body:
        if isinstance(definition, (cst.FunctionDef, cst.ClassDef)):
            found[definition.name.value].add(f".{definition.name.value}")
    return found


def _bound_as(alias: cst.ImportAlias) -> str:
    return full_name(alias.asname.name) if alias.asname is not None else ""
