"""The calls that the user's own lines made during the detail phase, from the profiler's event tree.

The tree, unlike the exported trace, gives the line that a call was made *from*.
"""

from __future__ import annotations

import os
import re
from threading import get_native_id
from time import perf_counter
from typing import Any

from ..places import OWN_FOLDER, Places, library_path
from ..writing import write_json

_SECONDS_AT_MOST = 15.0
_CALLEE_AT_MOST = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class _Table:
    """Columns, with files and functions numbered."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {
            name: [] for name in ("file", "line", "function", "start_ns", "dur_ns", "tid", "callee")
        }
        self._files: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._callees: dict[str, int] = {}

    def add(self, file: str, line: int, function: str, callee: str, event: Any) -> None:
        row = (
            self._files.setdefault(file, len(self._files)),
            line,
            self._functions.setdefault(function, len(self._functions)),
            event.start_time_ns,
            event.end_time_ns - event.start_time_ns,
            event.start_tid,
            self._callees.setdefault(callee, len(self._callees)),
        )
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def name_threads(self, events: Any) -> None:
        """Turn torch's thread numbers, which the tree has, into the system's, which the trace has."""
        wanted = set(self.columns["tid"])
        known: dict[int, int] = {}
        for event in events:
            if len(known) == len(wanted):
                break
            if event.start_thread_id() in wanted:
                known.setdefault(event.start_thread_id(), event.device_resource_id())
        self.columns["tid"] = [known.get(number, number) for number in self.columns["tid"]]

    def as_json(self, truncated: bool) -> dict[str, Any]:
        names = {
            "files": list(self._files),
            "functions": list(self._functions),
            "callees": list(self._callees),
        }
        return {"schema": 1, **names, **self.columns, "training_tid": get_native_id(), "truncated": truncated}


def write_calls(profiler: Any, path: str, places: Places) -> None:
    """Write the calls of `profiler`'s recording, as far as a bounded time allows.

    In the thread that trains. Raises OSError.
    """
    table = _Table()
    truncated = True
    try:
        results = profiler.profiler.kineto_results
        truncated = not _collect(results.experimental_event_tree(), table, places)
        table.name_threads(results.events())
    except Exception:  # private API of torch: what has been collected is still right
        truncated = True
    write_json(path, table.as_json(truncated))


def _collect(roots: list[Any], table: _Table, places: Places) -> bool:
    """Walk the whole tree; False if time ran out. The roots are whole threads, not calls."""
    deadline = perf_counter() + _SECONDS_AT_MOST
    stack = [root.children for root in roots]
    while stack:
        siblings = stack.pop()
        for event in siblings:
            fields = event.extra_fields
            caller = getattr(fields, "caller", None)
            if caller is not None and (os.path.isabs(caller.file_name) or caller.file_name.startswith("<")):
                file = places.user_file(caller.file_name)
                callee = _callee(event, fields) if file else ""
                if callee:
                    table.add(file, caller.line_number, caller.function_name, callee, event)
            children = event.children
            if children:
                stack.append(children)
        if perf_counter() > deadline:
            return False
    return True


def _callee(event: Any, fields: Any) -> str:
    """The name of what is called; empty for what is only ours.

    A wrapper of ours bears the name of what it stands for, which is no identifier;
    that of an operator is the op's own.
    """
    function = getattr(fields, "callsite", None)
    if function is None:
        return _ADDRESS.sub("", _text(event))[:_CALLEE_AT_MOST] or "?"
    if function.file_name.startswith(OWN_FOLDER):
        name = _first_op(event) or function.function_name
        return "" if name.isidentifier() else name[:_CALLEE_AT_MOST]
    return f"{library_path(function.file_name)}: {function.function_name}"[-_CALLEE_AT_MOST:]


def _first_op(event: Any) -> str | None:
    """The operator that a wrapper of ours calls first of all, if it does so at once."""
    while event.children and not hasattr(event.extra_fields, "inputs"):
        event = event.children[0]
        if hasattr(event.extra_fields, "callsite"):
            return None
    return _text(event) if hasattr(event.extra_fields, "inputs") else None


def _text(event: Any) -> str:
    try:
        return str(event.name)
    except UnicodeDecodeError:  # names of builtins can be gone by the time the recording ends
        return ""
