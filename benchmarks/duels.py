"""How often `diagnose ab` is wrong between real commits: equal ones, and ones with a planted slow-down.

    python -m benchmarks duels [--count N] [--budget SECONDS] [--write]

A repository is made with a small training whose step is a number of equal matrix products; commits after
the first only change a comment, or make the products 3 to 10 % more. N duels of each kind are fought by the
command itself. With ``--write`` each is added to benchmarks/duels.jsonl, which only grows, and docs/duels.md
is made of all of them: those on a quiet machine apart from those beside other programs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.tables import table
from diagnose.verify.trial import Usage

PAGE, KEPT = ROOT / "docs" / "duels.md", ROOT / "benchmarks" / "duels.jsonl"
COUNT, BUDGET_S = 40, 90
QUIET = 0.1  # of the cores, used by other programs
PLANTED = (3, 4, 5, 6, 7, 8, 9, 10)  # per cent
SCRIPT = """\
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
PRODUCTS = {products}  # {comment}
x = torch.randn(64, 128)
weights = torch.nn.Parameter(torch.randn(128, 128) / 12)
optimizer = torch.optim.SGD([weights], lr=1e-6)
for step in range(100000):
    y = x
    for _ in range(PRODUCTS):
        y = y @ weights
    y.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
PRODUCTS = 100


@dataclass(frozen=True)
class Duel:
    """``planted``: per cent; ``decision``: of `ab`, or `failed`; ``change``, ``low``, ``high``: per cent;
    ``others``: the share of all cores that other programs used meanwhile.
    """

    planted: int
    decision: str
    change: float
    low: float
    high: float
    pairs: int
    seconds: float
    budget_s: int
    others: float


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=duel", "-c", "user.email=duel@example.com")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, planted: int, comment: str) -> None:
    products = round(PRODUCTS * (1 + planted / 100))
    (folder / "train.py").write_text(SCRIPT.format(products=products, comment=comment))
    git(folder, "add", "train.py")
    git(folder, "commit", "-m", comment)


def fought(folder: Path, planted: int, number: int, budget_s: int) -> Duel:
    """The first commit against one more."""
    git(folder, "checkout", "-q", "first")
    commit(folder, planted, f"duel {number}")
    words = [
        "ab",
        "first",
        "HEAD",
        "--quiet",
        "--format",
        "json",
        "--budget",
        f"{budget_s}s",
        "--",
        "train.py",
    ]
    began, usage = time.monotonic(), Usage()
    done = subprocess.run(
        [sys.executable, "-m", "diagnose", *words], cwd=folder, capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    others = usage.others_share()
    if not done.stdout.strip():
        print(done.stderr, file=sys.stderr)
        return Duel(planted, "failed", 0.0, 0.0, 0.0, 0, seconds, budget_s, others)
    held = json.loads(done.stdout)
    change = held["comparison"]
    change_pc, low, high = (100 * change[name] for name in ("change", "low", "high"))
    return Duel(planted, held["decision"], change_pc, low, high, change["pairs"], seconds, budget_s, others)


def _table(duels: Sequence[Duel]) -> str:
    rows = [
        (
            f"+{planted} %" if planted else "none",
            str(len(those)),
            *(
                str(sum(duel.decision == said for duel in those))
                for said in ("slower", "not_slower", "unclear", "failed")
            ),
            f"{sum(duel.low <= planted <= duel.high for duel in those if duel.pairs)}",
            f"{sum(duel.seconds for duel in those) / len(those):.0f}",
        )
        for planted in (0, *PLANTED)
        if (those := [duel for duel in duels if duel.planted == planted])
    ]
    head = [
        "planted",
        "duels",
        "slower",
        "not slower",
        "cannot tell",
        "failed",
        "interval holds it",
        "s each",
    ]
    return table(head, rows).strip()


def _summary(duels: Sequence[Duel]) -> str:
    equal, slower = ([duel for duel in duels if bool(duel.planted) is planted] for planted in (False, True))
    false, found = (sum(duel.decision == "slower" for duel in those) for those in (equal, slower))
    return f"False alarms: {false} of {len(equal)}. Found: {found} of {len(slower)} planted."


def page_of(duels: Sequence[Duel]) -> str:
    kinds = {
        f"On a quiet machine (other programs use less than {QUIET:.0%} of the cores)": [
            duel for duel in duels if duel.others < QUIET
        ],
        "Beside other programs": [duel for duel in duels if duel.others >= QUIET],
    }
    parts = [
        "# Commits held against each other",
        f"Written by `python -m benchmarks duels --write`, on {in_words(machine())}, from "
        "`benchmarks/duels.jsonl`.",
        "Each duel is `diagnose ab` between two real commits; *s each* is what it took. What cannot be told "
        "is neither a pass nor a failure.",
    ]
    for title, those in kinds.items():
        if those:
            parts += [f"## {title}", _table(those), _summary(those)]
    return "\n\n".join(parts) + "\n"


def kept() -> list[Duel]:
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    return [Duel(**json.loads(line)) for line in lines]


def main(arguments: Sequence[str]) -> int:
    options = parser("duels", __doc__)
    options.add_argument("--count", type=int, default=COUNT, help="duels of each kind")
    options.add_argument("--budget", type=int, default=BUDGET_S, help="seconds for each")
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    before = kept() if given.write else []
    duels: list[Duel] = []
    with tempfile.TemporaryDirectory(prefix="duels-") as name:
        folder = Path(name)
        git(folder, "init", "-q")
        commit(folder, 0, "first")
        git(folder, "tag", "first")
        for number in range(2 * given.count):
            number += len(before)  # goes on where the last session ended
            planted = PLANTED[number // 2 % len(PLANTED)] if number % 2 else 0
            duels.append(fought(folder, planted, number, given.budget))
            print(duels[-1], file=sys.stderr, flush=True)
            if given.write:
                with KEPT.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(duels[-1])) + "\n")
                PAGE.write_text(page_of(before + duels), encoding="utf-8")
    print(page_of(before + duels))
    return 0
