"""Sampled stacks: what each line of the user's takes, and what its time goes to."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from diagnose.profiles.kinds import KINDS, OTHER, OWN, TITLES, kind_of, kind_of_line
from diagnose.profiles.symptoms import OF_LINES, symptoms
from diagnose.profiles.table import Row, Site

_MOST_CALLEES = 3
_LONGEST_SOURCE = 2**22  # bytes of a file whose lines are looked at
_RANKS = {kind.name: kind.rank for kind in KINDS}
_NO_RANK = 0
_DEEPEST_RECURSION = 1000  # frames: what lies deeper in others of the user's is taken as counted above


class StackTree:
    """Stacks, outermost frame first; what begins alike is one path. ``seconds``: by node, in it alone."""

    def __init__(self, frames: Sequence[Site]) -> None:
        self._frames = frames
        self._nodes: dict[tuple[int, int], int] = {}
        self._parents, self._of, self.seconds = [-1], [-1], [0.0]

    def below(self, node: int, frame: int) -> int:
        """The node of a call; 0 is the one above all."""
        known = self._nodes.get((node, frame))
        if known is None:
            known = self._nodes[node, frame] = len(self._of)
            self._parents.append(node)
            self._of.append(frame)
            self.seconds.append(0.0)
        return known

    def add(self, stack: Iterable[int], seconds: float) -> None:
        node = 0
        for frame in stack:
            node = self.below(node, frame)
        self.seconds[node] += seconds

    @property
    def own_seconds(self) -> float:
        """Of stacks with a line of the user's in them."""
        own = [False]
        for node in range(1, len(self._of)):
            own.append(own[self._parents[node]] or self._frames[self._of[node]].is_own)
        return sum(seconds for seconds, is_own in zip(self.seconds, own, strict=True) if is_own)

    def account(self) -> tuple[dict[str, float], dict[str, float]]:
        """Seconds by kind, together all, and by symptom."""
        frames = [_Known(frame) for frame in self._frames]
        kinds, costs = dict.fromkeys(TITLES, 0.0), dict.fromkeys(symptoms(), 0.0)
        of_path: list[str] = [""]
        known: list[frozenset[str]] = [frozenset()]
        for node in range(1, len(self._of)):
            frame, parent = frames[self._of[node]], self._parents[node]
            above = "" if frame.is_script else of_path[parent]
            of_path.append(_higher(above, frame.kind))
            more = frame.symptoms - known[parent]
            known.append(known[parent] | more if more else known[parent])
            if self.seconds[node] > 0:
                kind = _higher(of_path[node], frame.kind_alone) or (OWN if frame.is_own else OTHER)
                kinds[kind] += self.seconds[node]
                if kind != "starting":
                    for rule in known[node] | frame.symptoms_alone:
                        costs[rule] = costs.get(rule, 0.0) + self.seconds[node]
        kinds[OTHER] += self.seconds[0]
        return kinds, {rule: cost for rule, cost in costs.items() if cost > 0}

    def rows(self) -> tuple[Row, ...]:
        """The user's lines."""
        whole = list(self.seconds)
        for node in range(len(self._of) - 1, 0, -1):
            whole[self._parents[node]] += whole[node]
        self_s, total_s, mine = dict[Site, float](), dict[Site, float](), dict[Site, float]()
        mostly: dict[Site, dict[str, float]] = {}
        innermost: list[int] = [0]  # the node of the user's nearest line above, itself included
        own = [frame.is_own for frame in self._frames]
        for node in range(1, len(self._of)):
            site, parent = self._frames[self._of[node]], self._parents[node]
            innermost.append(node if own[self._of[node]] else innermost[parent])
            if own[self._of[node]]:
                self_s[site] = self_s.get(site, 0.0) + self.seconds[node]
                if not self._is_inside(node, innermost):
                    total_s[site] = total_s.get(site, 0.0) + whole[node]
            line = innermost[node]
            if not line:
                continue
            caller = self._frames[self._of[line]]
            mine[caller] = mine.get(caller, 0.0) + self.seconds[node]
            if parent == line and node != line:
                called = mostly.setdefault(caller, {})
                called[site.callee] = called.get(site.callee, 0.0) + whole[node]
        found = [
            Row(site, self_s[site], mine.get(site, 0.0), total_s[site], None, _most(mostly.get(site, {})))
            for site in self_s
        ]
        return tuple(sorted(found, key=lambda row: (-row.with_libraries_s, -row.total_s)))

    def _is_inside(self, node: int, innermost: Sequence[int]) -> bool:
        """Whether the same line is on the stack above: its time is counted there."""
        above = innermost[self._parents[node]]
        for _ in range(_DEEPEST_RECURSION):
            if not above:
                return False
            if self._of[above] == self._of[node]:
                return True
            above = innermost[self._parents[above]]
        return True


class _Known:
    """What a frame tells. ``kind_alone``, ``symptoms_alone``: of time in it, and in nothing that it calls."""

    def __init__(self, site: Site) -> None:
        callee = site.callee
        found = kind_of(callee)
        self.is_own, self.is_script = site.is_own, site.is_script
        self.kind = found.name if found else ""
        self.symptoms = frozenset(rule for rule, pattern in symptoms().items() if pattern.search(callee))
        text = source_line(site.file, site.line) if self.is_own else ""
        by_text = kind_of_line(text) if text else OWN
        self.kind_alone = "" if by_text == OWN else by_text
        self.symptoms_alone = symptoms_of_line(text)


def symptoms_of_line(text: str) -> frozenset[str]:
    return frozenset(rule for rule, pattern in OF_LINES.items() if re.search(pattern, text))


def _higher(above: str, kind: str) -> str:
    """Of two kinds on a stack that which counts."""
    return kind if kind and _RANKS[kind] >= _RANKS.get(above, _NO_RANK) else above


def _most(called: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(called.items(), key=lambda one: -one[1])[:_MOST_CALLEES])


def source_line(file: str, number: int) -> str:
    """The text of a line, if the file is here. A recording may name any file: only sources are opened."""
    lines = _source(file)
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@lru_cache(maxsize=512)
def _source(file: str) -> Sequence[str]:
    try:
        path = Path(file)
        about = path.stat()
        if path.suffix != ".py" or not stat.S_ISREG(about.st_mode) or about.st_size > _LONGEST_SOURCE:
            return ()
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):  # ValueError: a name with a null byte
        return ()
