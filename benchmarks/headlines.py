"""Whether headlines are what was written down before the product's answer was looked at.

python -m benchmarks headlines FOLDER…

headlines.toml holds a row for each trace, which never changes: one sentence of a GPU engineer, the kinds of
answer that are as good, and names of which one has to be among a report's first lines. An answer is right if
its kind is one of them and so is a name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.options import parser
from diagnose.document.leads import headroom_share, is_healthy, leading
from diagnose.document.model import Document
from diagnose.document.queries import is_complete, planned
from diagnose.document.text import share
from diagnose.errors import DiagnoseError
from diagnose.pipeline import analyse
from diagnose.report import account
from diagnose.report.blocks import unpadded_table

WRITTEN = ROOT / "benchmarks" / "headlines.toml"
HEALTHY_ROW = 0.05
# What a report's headline is about, by the rule that leads; of the first that fits.
_OF_RULE = (
    (r"warm-up", {"first_call"}),
    (r"queued", {"queued"}),
    (r"^input|slow-item|slow-storage|collate|iterable", {"input_wait"}),
    (r"fp32|fp64|dims-unaligned", {"precision", "compute"}),
    (r"channels-last|layout", {"layout", "compute"}),
    (r"unfused", {"elementwise", "compute"}),
    (r"compute-bound|dominant-kernel|cudnn|conv-|repeat-", {"compute"}),
    (r"collective|communication|data-parallel|gloo|gradient-sync|unused-parameter", {"communication"}),
    (r"rank|unequal-batches|pipeline", {"other_rank", "communication"}),
    (r"sync-batchnorm", {"communication"}),
    (r"^sync|host-sync|host-read|print|tensor-printed|blocking", {"host_sync"}),
    (r"copies|round-trip|same-tensor|not-pinned", {"copies"}),
    (r"tensors-built|tensor-from-list|item-conversion", {"host_work", "copies"}),
    (r"allocator|memory", {"allocator"}),
    (r"recompil|graph-breaks", {"compilation"}),
    (r"profiler", {"profiler"}),
    (r"optimizer", {"optimizer", "launch_bound"}),
    (r"python|own-line|in-loop|gc-pauses", {"python", "host_work"}),
    (r"launch|small-ops|row-loop|forward-per|gradients-zeroed|batch-of-one|pieces|loop", {"launch_bound"}),
)
_OF_HEADLINE = {
    "No GPU work was recorded": {"nothing_recorded"},
    "First calls": {"first_call"},
    "Compilation and graph capture": {"compilation", "first_call"},
}
_OF_ROW = {
    "exposed_communication": {"communication"},
    "exposed_copies": {"copies"},
    "first_calls": {"first_call"},
    "operators": {"host_work"},
    "host_reads": {"host_sync"},
    "unattributed": {"queued", "python"},
}


@dataclass(frozen=True)
class Answer:
    """What a report says first: its headline, of which kinds that is, and its first lines."""

    headline: str
    kinds: set[str]
    lines: str
    named_share: float | None = None
    claims_nothing: bool = False  # says that nothing is worth fixing
    headroom: float = 0.0


@dataclass(frozen=True)
class Judged:
    """An answer beside what was written."""

    trace: str
    expected: dict[str, Any]
    answer: Answer

    @property
    def right_kind(self) -> bool:
        return bool(self.answer.kinds & set(self.expected["kinds"]))

    @property
    def right_name(self) -> bool:
        names = self.expected["names"]
        return not names or any(name.lower() in self.answer.lines.lower() for name in names)

    @property
    def right(self) -> bool:
        silent = self.answer.kinds & {"refused", "nothing_recorded"}
        return self.right_kind and (self.right_name or bool(silent))


@cache
def written() -> dict[str, dict[str, Any]]:
    """By the trace's name."""
    return tomllib.loads(WRITTEN.read_text(encoding="utf-8"))


def answer_of(source: Path) -> Answer:
    try:
        return of_document(analyse(source))
    except DiagnoseError as error:
        return refusal(source, error)


def refusal(source: Path, error: DiagnoseError) -> Answer:
    said = f"refused: {error.what.replace(str(source), source.name)}"
    return Answer(said, {"refused"}, said)


def of_document(document: Document) -> Answer:
    if not is_complete(document):
        return Answer(document.headline, {"nothing_recorded"}, document.headline)
    return Answer(
        document.headline,
        _kinds(document),
        _first_lines(document),
        document.named_share,
        document.headline.endswith("nothing worth fixing"),
        headroom_share(document),
    )


def _kinds(document: Document) -> set[str]:
    """What the headline is about."""
    plan = planned(document)
    for beginning, kinds in _OF_HEADLINE.items():
        if document.headline.startswith(beginning):
            return kinds
    if re.match(r"(< )?\S+ % of [\w ]+ is ", document.headline):  # the largest part, by name
        plan = []
    elif lead := leading(document):
        return _of_row(lead.row)
    if plan:
        return next((kinds for pattern, kinds in _OF_RULE if re.search(pattern, plan[0].rule)), set())
    largest = max(document.ledger, key=lambda row: row.share)
    return _of_row(largest.row) | ({"healthy"} if is_healthy(document) else set())


def _of_row(row: str) -> set[str]:
    return _OF_ROW.get(row, {row})


def _first_lines(document: Document) -> str:
    """Headline, what is wrong and where in the plan, where to look first, the names in the ledger."""
    plan = [f"{one.cause} {one.fix.title} {one.fix.how}" for one in planned(document)[:3]]
    culprits = [one for finding in planned(document)[:3] for one in finding.culprits]
    places = [f"{one.file}:{one.line} {one.via}" for one in culprits]
    names = [f"{row.title} {account.names_in(row, document)}" for row in document.ledger]
    inside = [one.mostly for row in document.account for one in row.spenders[:3]]
    first = [document.headline, document.doubt]
    return "\n".join([*first, *plan, *places, *account.looks(document), *names, *inside])


def judged(sources: Iterable[Path]) -> list[Judged]:
    """The traces of which something was written."""
    known = written()
    return [
        Judged(name, known[name], answer_of(source))
        for source in sources
        if (name := source.name.split(".")[0]) in known
    ]


def page(found: list[Judged]) -> str:
    """A table of the rows that are not right, and how many are."""
    wrong = [
        (one.trace, one.expected["says"], one.answer.headline, "name" if one.right_kind else "kind")
        for one in found
        if not one.right
    ]
    return "\n".join([*summary(found), "", unpadded_table(("trace", "written", "said", "wrong"), wrong)])


def summary(found: list[Judged]) -> list[str]:
    right, sure = sum(one.right for one in found), [one for one in found if one.expected["sure"]]
    shares = [one.answer.named_share for one in found if one.answer.named_share is not None]
    idle = [one for one in found if one.answer.claims_nothing and one.answer.headroom >= HEALTHY_ROW]
    kinds = sum(one.right_kind for one in found)
    return [
        f"{right} of {len(found)} headlines are what was written beforehand ({share(right / len(found))}): "
        f"kind {kinds}; of the {len(sure)} that a second engineer would not dispute "
        f"{sum(one.right for one in sure)}.",
        f"Named share: median {share(float(np.median(shares)))}, least {share(min(shares))}.",
        f"Reports that find nothing worth fixing with a headroom of 5 % and more: {len(idle)}.",
    ]


def main(arguments: Sequence[str]) -> None:
    options = parser("headlines", __doc__)
    options.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="of traces")
    folders = options.parse_args(arguments).folders
    print(page(judged(sorted(path for folder in folders for path in folder.iterdir()))))
