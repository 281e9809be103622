"""First contact: what is said of scripts that the product had never met, beside an oracle written before.

python -m benchmarks first-contact [--write]    the figures of every version, from what is kept; with --write
                                                in docs/accuracy.md
python -m benchmarks first-contact run [NAME…]  runs scripts that today's version has not met
python -m benchmarks first-contact check [NAME…] [--kind healthy]
                                                runs scripts met before and says what of each is missed, or
                                                wrong, today; nothing is kept
python -m benchmarks first-contact show NAME    an entry: the oracle and every answer
python -m benchmarks first-contact traces DIR   analyses traces that no version has met (traces.toml)

`entries/NAME/oracle.toml` is written by somebody who has not read the rules: each fault with its lines and
its cost, measured by timing with and without it. A row of `said.jsonl` is an answer. Both only grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.first_contact.answers import asked, kept, meet
from benchmarks.first_contact.entries import entries
from benchmarks.first_contact.judge import HEADING, Judged, judged, page, shown, verdict
from benchmarks.first_contact.traces import meet_traces, traces_part
from benchmarks.options import parser
from benchmarks.pages import write_part

ACTIONS = ("table", "run", "check", "show", "traces")


def main(arguments: Sequence[str]) -> None:
    options = parser("first-contact", __doc__)
    options.add_argument("action", nargs="?", choices=ACTIONS, default="table")
    options.add_argument("names", nargs="*", metavar="NAME", help="entries; all without one")
    options.add_argument("--scripts", type=Path, help="where scripts of others were fetched to, by entry")
    options.add_argument("--kind", choices=("planted", "healthy", "real"), help="entries of this kind alone")
    options.add_argument("--again", action="store_true", help="also those that this version has met")
    options.add_argument("--write", action="store_true", help="write the figures into docs/accuracy.md")
    given = options.parse_args(arguments)
    chosen = [
        entry
        for entry in entries()
        if (not given.names or entry.name in given.names) and given.kind in (None, entry.kind)
    ]
    if given.action == "run":
        for entry in chosen:
            print(entry.name, meet(entry, given.scripts, again=given.again), flush=True)
    elif given.action == "check":
        for entry in chosen:
            try:
                print(verdict(Judged(entry, asked(entry, given.scripts))), flush=True)
            except FileNotFoundError as missing:
                print(f"{entry.name}: {missing}", flush=True)
    elif given.action == "traces":
        for folder in given.names:
            meet_traces(Path(folder))
    elif given.action == "show":
        print("\n\n".join(shown(one) for one in judged(chosen, kept())))
    else:
        figures = "\n\n".join(filter(None, [page(judged(chosen, kept())), traces_part()]))
        print(figures)
        if given.write:
            write_part(ROOT / "docs" / "accuracy.md", HEADING, figures)
