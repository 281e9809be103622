"""How often `diagnose ab` is wrong between real commits: equal ones, and ones with a planted slow-down.

    python -m benchmarks duels [--count N] [--budget SECONDS] [--write]

A repository is made with a small training whose step is a number of equal matrix products; commits after
the first only change a comment, or make the products 3 to 10 % more. N duels of each kind are fought by the
command itself. With ``--write`` what came out goes into docs/duels.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.machine import in_words, machine
from benchmarks.options import parser
from benchmarks.tables import table

PAGE = ROOT / "docs" / "duels.md"
COUNT, BUDGET_S = 40, 90
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
    """``planted``: per cent; ``decision``: of `ab`, or `failed`; ``change``, ``low``, ``high``: per cent."""

    planted: int
    decision: str
    change: float
    low: float
    high: float
    pairs: int
    seconds: float


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
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "diagnose", *words], cwd=folder, capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    if not done.stdout.strip():
        print(done.stderr, file=sys.stderr)
        return Duel(planted, "failed", 0.0, 0.0, 0.0, 0, seconds)
    held = json.loads(done.stdout)
    change = held["comparison"]
    change_pc, low, high = (100 * change[name] for name in ("change", "low", "high"))
    return Duel(planted, held["decision"], change_pc, low, high, change["pairs"], seconds)


def page_of(duels: Sequence[Duel], budget_s: int) -> str:
    equal = [duel for duel in duels if not duel.planted]
    slower = [duel for duel in duels if duel.planted]
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
    false, found = (sum(duel.decision == "slower" for duel in those) for those in (equal, slower))
    return (
        "\n\n".join(
            [
                "# Commits held against each other",
                f"Written by `python -m benchmarks duels --write`, on {in_words(machine())}.",
                f"Each duel is `diagnose ab` between two real commits, with {budget_s} s for each.",
                table(
                    [
                        "planted",
                        "duels",
                        "slower",
                        "not slower",
                        "cannot tell",
                        "interval holds it",
                        "s each",
                    ],
                    rows,
                ).strip(),
                f"False alarms: {false} of {len(equal)}. Found: {found} of {len(slower)} planted. "
                "What cannot be told is neither a pass nor a failure.",
            ]
        )
        + "\n"
    )


def main(arguments: Sequence[str]) -> int:
    options = parser("duels", __doc__)
    options.add_argument("--count", type=int, default=COUNT, help="duels of each kind")
    options.add_argument("--budget", type=int, default=BUDGET_S, help="seconds for each")
    options.add_argument("--write", action="store_true", help="write the page")
    given = options.parse_args(arguments)
    duels: list[Duel] = []
    with tempfile.TemporaryDirectory(prefix="duels-") as name:
        folder = Path(name)
        git(folder, "init", "-q")
        commit(folder, 0, "first")
        git(folder, "tag", "first")
        for number in range(2 * given.count):
            planted = PLANTED[number // 2 % len(PLANTED)] if number % 2 else 0
            duels.append(fought(folder, planted, number, given.budget))
            print(duels[-1], file=sys.stderr, flush=True)
            if given.write:
                PAGE.write_text(page_of(duels, given.budget), encoding="utf-8")
    print(page_of(duels, given.budget))
    return 0
