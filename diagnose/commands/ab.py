"""`python -m diagnose ab`: two commits, or two scripts, held against each other. Heavy imports wait."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.commands.options import READS_NO_TRACE, WRITES_NOTHING, Parser, add_format_options, share
from diagnose.commands.outputs import say
from diagnose.commands.verify import duration
from diagnose.errors import EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, UsageError
from diagnose.run.settings import Target

if TYPE_CHECKING:
    from diagnose.verify.ab import Held
    from diagnose.verify.sides import Side

_USAGE = "python -m diagnose ab A B [options] -- [-m] SCRIPT [arguments …]"
_DESCRIPTION = """\
Is B slower than A? The script runs in turns from both sides, each time in a fresh process and without a
profiler, and pairs of runs are compared.
A and B are git revisions, which are checked out into folders of their own, or `.`, the tree as it is. Two
Python files are run as they are: then only arguments stand behind --.
"""
_EPILOG = """\
examples:
  python -m diagnose ab main . -- train.py --epochs 1
  python -m diagnose ab HEAD~1 HEAD --link data --tolerance 2% -- -m pkg.train
  python -m diagnose ab slow.py fast.py
  python -m diagnose ab . . --set OMP_NUM_THREADS=1 -- train.py

exit codes: 0 not slower, or it cannot be told (which is said), 1 a side could not be run, 2 wrong usage,
            4 B is slower by more than --tolerance, 130 interrupted
"""


class _Parser(Parser):
    def parse(self, argv: Sequence[str], earlier: argparse.Namespace | None = None) -> argparse.Namespace:
        """What stands behind -- is the script's."""
        words = list(argv)
        cut = words.index("--") if "--" in words else len(words)
        options = super().parse(words[:cut], earlier)
        options.behind = words[cut + 1 :]
        return options


def parser() -> Parser:
    parser = _Parser("ab", usage=_USAGE, description=_DESCRIPTION, epilog=_EPILOG)
    add = parser.add_argument
    add("a", metavar="A", nargs="?", help="the side before")
    add("b", metavar="B", nargs="?", help="the side after")
    add(
        "--tolerance", type=share, default=0.0, metavar="SHARE", help="how much slower B may be (default 0%%)"
    )
    add("--precision", type=share, default=0.01, metavar="SHARE", help="to within ± this (default 1%%)")
    add("--budget", type=duration, default=600.0, metavar="TIME", help="90s, 10m, 1h … (default 10m)")
    add(
        "--link", action="append", default=[], metavar="PATH", help="what lies in no commit, data for example"
    )
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of B's environment")
    add_format_options(parser, ("text", "json"), "text, or json (default text)")
    parser.refuse("--out", WRITES_NOTHING)
    parser.refuse("--memory-limit", READS_NO_TRACE)
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, and say it on stdout."""
    from diagnose.verify.ab import held_against
    from diagnose.verify.deadline import Deadline
    from diagnose.verify.paired import Interrupted
    from diagnose.verify.sides import sides

    if options.b is None:
        raise UsageError("ab needs two sides", do=_USAGE)
    deadline = Deadline.after(options.budget)
    environments = [{}, dict(map(_variable, options.set))]
    names, target = [options.a, options.b], _target(options.behind)
    with (
        sides(names, target, links=options.link, environments=environments) as found,
        tempfile.TemporaryDirectory(prefix="diagnose-ab-") as folder,
    ):
        try:
            held = held_against(
                found[0],
                found[1],
                Path(folder),
                precision=max(options.precision, 0.001),
                tolerance=options.tolerance,
                deadline=deadline,
                tell=lambda what: say(f"{what} …", options),
            )
        except (Interrupted, KeyboardInterrupt):
            return EXIT_INTERRUPTED
    print(_as_json(held, found) if options.json else in_words(held, found, options.tolerance), flush=True)
    return EXIT_FINDINGS if held.decision == "slower" else EXIT_OK


def _target(behind: list[str]) -> Target:
    module = behind[:1] == ["-m"]
    words = behind[1:] if module else behind
    if words and not module and not words[0].endswith(".py") and words[0].startswith("-"):
        return Target("", False, tuple(words))  # of two scripts only arguments are given
    return Target(words[0] if words else "", module, tuple(words[1:]))


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise UsageError(f"--set {given} is no NAME=VALUE")
    return name, value


def in_words(held: Held, found: list[Side], tolerance: float) -> str:
    """The decision, the interval it rests on, losses, and what is compared."""
    from diagnose.document.text import ms

    change, limit = held.comparison, f" by more than {tolerance:.1%}" if tolerance else ""
    bound = f" by more than {held.bound:.1%}" if change.high > 0 else ""
    decided = {
        "slower": f"B is slower{limit}.",
        "not_slower": f"B is not slower{bound}." if held.verdict != "faster" else "B is faster.",
        "unclear": "It cannot be told whether B is slower"
        f"{limit}: {change.pairs} pairs of runs were made, and about {held.pairs_needed} would be needed. "
        "Allow more time (--budget), or make the machine quieter.",
    }[held.decision]
    losses = {
        "same": "the same to the bit",
        "close": "close, within what rounding explains",
        "differ": "different",
        "other_data": "not compared: the batches differ",
        "unsteady": "not compared: A itself differs from run to run",
        "unknown": "not known",
    }[held.results.agreement]
    work = (
        f"processor time {held.work.change:+.1%} ({held.work.low:+.1%} to {held.work.high:+.1%}), "
        if held.work
        else ""
    )
    return "\n".join(
        [
            decided,
            f"A step takes {ms(change.before_ms)} in A and {ms(change.after_ms)} in B: "
            f"{change.change:+.1%} ({change.low:+.1%} to {change.high:+.1%}), by {change.pairs} pairs.",
            f"Runs of one side differ by up to {change.noise:.1%} by chance; {work}losses {losses}.",
            *(f"{letter} is {side.what}." for letter, side in zip("AB", found, strict=True)),
        ]
    )


def _as_json(held: Held, found: list[Side]) -> str:
    import json
    from dataclasses import asdict

    sides = {letter: {"name": side.name, "what": side.what} for letter, side in zip("ab", found, strict=True)}
    return json.dumps({"schema": 1, **sides, **asdict(held)})
