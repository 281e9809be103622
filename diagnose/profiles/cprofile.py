"""Profiles of cProfile (`python -m cProfile -o FILE`, `.prof`, `.pstats`): functions and their callers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diagnose.profiles.callgraph import CallGraph, Edge
from diagnose.profiles.kinds import KINDS, OTHER, OWN, RANKS, kind_of
from diagnose.profiles.marshalled import Malformed, loads
from diagnose.profiles.symptoms import symptoms
from diagnose.profiles.table import Profile, Row, Site

_MOST_CALLEES = 3
_PROFILER = "_lsprof.Profiler"  # in the names of its own functions
_OFTEN = 3  # calls: what is called less is in no loop
_NOTE = (
    "cProfile slows calls of Python functions and not work in C: many small calls seem dearer than they "
    "do. It sees the thread that started it and no other process: no loader workers."
)


def read(content: bytes) -> Profile:
    """Raises Malformed."""
    return profile_of(_functions(loads(content)))


def _functions(found: Any) -> dict[Site, tuple[int, float, float, dict[Site, tuple[int, float]]]]:
    """Calls, seconds in it alone, seconds with what it called, and callers with calls and seconds."""
    if not isinstance(found, dict) or not found:
        raise Malformed("no table of functions")
    functions = {_site(key): value for key, value in found.items()}
    return {site: _costs(value) for site, value in functions.items() if _PROFILER not in site.function}


def _site(key: Any) -> Site:
    match key:
        case (str(file), int(line), str(function)):
            return Site("" if file == "~" else file, line, function)
    raise Malformed("a function without file, line and name")


def _costs(value: Any) -> tuple[int, float, float, dict[Site, tuple[int, float]]]:
    match value:
        case (int(), int(calls), int() | float() as own, int() | float() as whole, dict(callers)):
            return calls, _seconds(own), _seconds(whole), {_site(k): _call(v) for k, v in callers.items()}
    raise Malformed("a function without its counts and times")


def _call(value: Any) -> tuple[int, float]:
    match value:
        case (int(calls), int(other), int() | float(), int() | float() as whole):
            return max(calls, other), _seconds(whole)  # with recursive calls; cProfile has them first here
        case int():  # of the module profile, which counts only
            return value, 0.0
    raise Malformed("a caller without its counts and times")


def _seconds(value: float) -> float:
    if not math.isfinite(value) or abs(value) > 1e12:
        raise Malformed("a time that is none")
    return max(0.0, float(value))  # clocks may go back by a tick


def profile_of(
    functions: dict[Site, tuple[int, float, float, dict[Site, tuple[int, float]]]],
    profiler: str = "cProfile",
    notes: tuple[str, ...] = (_NOTE,),
) -> Profile:
    numbers = {site: number for number, site in enumerate(functions)}
    if not sum(costs[1] for costs in functions.values()):
        raise Malformed("no times above 0")
    calls = np.array([costs[0] for costs in functions.values()], float)
    self_s = np.array([costs[1] for costs in functions.values()])
    edges = [
        Edge(number, numbers[caller], count, seconds)
        for number, (site, costs) in enumerate(functions.items())
        if not site.is_script
        for caller, (count, seconds) in costs[3].items()
        if caller in numbers
    ]
    graph = CallGraph(self_s, calls, edges)
    kinds, costs = _account(list(functions), calls, graph)
    return Profile(
        profiler=profiler,
        duration_s=float(self_s.sum()),
        is_sampled=False,
        what="function",
        rows=_rows(functions, graph, edges),
        kinds=kinds,
        symptoms=costs,
        notes=notes,
    )


def _rows(functions: dict[Site, Any], graph: CallGraph, edges: list[Edge]) -> tuple[Row, ...]:
    sites = list(functions)
    own = np.array([site.is_own for site in sites], bool)
    with_libraries = graph.absorbed(graph.self_s, own)
    mostly: dict[int, list[tuple[str, float]]] = {}
    for edge in edges:
        if own[edge.parent] and not own[edge.child]:
            mostly.setdefault(edge.parent, []).append((sites[edge.child].callee, edge.seconds))
    found = [
        Row(
            site,
            costs[1],
            float(with_libraries[number]),
            costs[2],
            costs[0],
            tuple(sorted(mostly.get(number, []), key=lambda called: -called[1])[:_MOST_CALLEES]),
        )
        for number, (site, costs) in enumerate(functions.items())
        if own[number]
    ]
    return tuple(sorted(found, key=lambda row: (-row.with_libraries_s, -row.total_s)))


def _account(
    sites: list[Site], calls: np.ndarray, graph: CallGraph
) -> tuple[dict[str, float], dict[str, float]]:
    """Kinds, together all of the time, and symptoms."""
    callees = [site.callee for site in sites]
    kinds = [kind_of(callee) for callee in callees]
    left, found = graph.self_s.copy(), dict[str, float]()
    started = left
    for rank in RANKS:
        of_rank = [kind.name for kind in KINDS if kind.rank == rank]
        stops = {
            name: np.array([kind is not None and kind.name == name for kind in kinds], bool)
            for name in of_rank
        }
        any_stop = np.logical_or.reduce(list(stops.values()))
        chances = {name: graph.chance(stop, any_stop & ~stop) for name, stop in stops.items()}
        found |= {name: float((left * chance).sum()) for name, chance in chances.items()}
        if "starting" in chances:
            started = left * (1 - chances["starting"])
        left = left * np.maximum(0.0, 1 - np.sum(list(chances.values()), axis=0))
    python = np.array([bool(site.file) for site in sites], bool)
    own = np.array([site.is_own for site in sites], bool)
    found[OWN] = float(graph.absorbed(left, python)[own].sum())
    found[OTHER] = max(0.0, float(graph.self_s.sum()) - sum(found.values()))
    costs = {}
    for rule, pattern in symptoms().items():
        called = np.array([bool(pattern.search(callee)) for callee in callees], bool)
        if calls[called].sum() >= _OFTEN:
            costs[rule] = float(graph.absorbed(started, called).sum())
    return found, costs
