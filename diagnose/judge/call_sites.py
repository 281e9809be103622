"""Where the script calls the function whose arguments a remedy changes, even if the time shows elsewhere."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from diagnose.judge.float64_calls import called, calls_to_float64, of_much
from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.areas.restarts import restarting_loaders
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.sources import Sources

FLOAT64 = "float64"  # not a function's name: every call that makes 64-bit floats
FLOAT64_OF_MUCH = "float64 of much"  # nor this: those that make them of a whole model, or of all that follows
MODEL = "Model"  # nor this: wherever a model is made that the finding blames for its layout
RESTARTED = (
    "DataLoader with workers"  # nor this: the loader that feeds the steps, and all that start workers anew
)
MOST = 5  # more calls of one name than that point nowhere
LARGEST_BYTES = 1_000_000  # a source file beyond that was not written by a person


class CallSite(NamedTuple):
    """A line on which a call begins."""

    file: str
    line: int


def call_sites(name: str, measured: Measured, blamed: Sequence[CallSite]) -> list[CallSite]:
    """The calls of the function or method of that name in the script's own files, as far as they are at hand.

    Of what is constructed only the one that matters, where the recorder saw it made: the loader that feeds
    the steps, the optimizers that step (`Optimizer` stands for every class of them, `Model` for those of
    models that the lines blamed call). Where there are many calls, only those on the lines that the finding
    blames.
    """
    if made := _made_at(name, measured):
        return made
    sites = _sites(_classes(measured, blamed) if name == MODEL else {name}, measured)
    if len(sites) > MOST and name == FLOAT64:
        sites = _sites({FLOAT64_OF_MUCH}, measured)
    if len(sites) <= MOST:
        return sites
    return sorted(set(sites) & set(blamed))[:MOST]


def _sites(names: set[str], measured: Measured) -> list[CallSite]:
    sources = Sources(measured.recording)
    return [
        CallSite(file, line)
        for file in sorted(_own_files(measured))
        for line in sorted({line for name in names for line in _lines_of_calls(name, sources.path(file))})
    ]


def _classes(measured: Measured, calling: Sequence[CallSite]) -> set[str]:
    """Of the models that are called at these lines, where copies of them were tried."""
    tried = measured.recording.facts.get("layouts") or []
    return {one["class"] for one in tried if "class" in one and (one["file"], one["line"]) in calling}


def _made_at(name: str, measured: Measured) -> list[CallSite]:
    loaders = [] if isinstance(feeding_loader(measured), Missing) else restarting_loaders(measured)
    made = {
        "DataLoader": loaders[:1],
        RESTARTED: loaders,
        "Optimizer": measured.recording.facts.get("optimizers") or [],
    }.get(name, [])
    return [
        CallSite(*place)
        for place in dict.fromkeys((one["file"], one["line"]) for one in made if one.get("file"))
    ]


def _own_files(measured: Measured) -> set[str]:
    """Files of the user's own that the recording names."""
    facts = measured.recording.facts
    listed = [entry for kind in ("loaders", "optimizers", "models") for entry in facts.get(kind) or []]
    traces = [
        trace for trace in (measured.recording.timeline, measured.recording.detail) if trace is not None
    ]
    seen = {str(file) for trace in traces for file in trace.host["file"].cat.categories}
    return {
        file
        for file in [
            *seen,
            *measured.recording.calls.get("files", []),
            *(entry.get("file", "") for entry in listed),
        ]
        if file
    }


def _lines_of_calls(name: str, path: Path | None) -> list[int]:
    tree = _parsed(path, name) if path is not None else None
    if tree is None:
        return []
    if name in (FLOAT64, FLOAT64_OF_MUCH):
        told = calls_to_float64(tree)
        return sorted({call.lineno for call in told if name == FLOAT64 or of_much(call)})
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sorted({call.lineno for call in calls if called(call) == name})


def _parsed(path: Path, name: str) -> ast.Module | None:
    """None for a file that holds no such call, or that Python does not understand."""
    if path.stat().st_size > LARGEST_BYTES:
        return None
    source = path.read_bytes()
    if name not in (FLOAT64, FLOAT64_OF_MUCH) and name.encode() not in source:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the user's strings
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # nested too deeply
            return None
