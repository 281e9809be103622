"""Everything that is to be measured on a machine with a GPU, in one go, as far as the time goes.

    python -m sample_traces.gpu --out FOLDER [--budget SECONDS] [--only 'stor*' …]
    python -m sample_traces.gpu --tables FOLDER     the tables once more, anywhere
    python -m sample_traces.gpu --write FOLDER      … into docs/accuracy.md, anywhere
    python -m sample_traces.gpu --keep FOLDER       the recordings of samples that need a GPU beside their scripts, anywhere

Run the first again with the same FOLDER to go on where it stopped; what failed is tried again last. docs/gpu.md says what to do with the
results. --rehearse goes through all of it on a machine without a GPU, with what shows there. Exit codes: 0 all done, 1 something
failed, 2 this machine cannot, 3 something is left.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sample_traces.conductor import LONGEST_S, RECORDS, called, conduct, summary
from sample_traces.machine import in_words, machine, obstacles, shortcomings

ROOT = Path(__file__).parent.parent
CANNOT = 2
TABLES_S = 60.0  # kept for the tables at the end
UNLIMITED_S = 1e9


def main(arguments: list[str] | None = None) -> int:
    started = time.monotonic()
    parser = argparse.ArgumentParser(
        prog="python -m sample_traces.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, metavar="FOLDER", help="measure")
    for name in ("--tables", "--write", "--keep"):
        what.add_argument(name, type=Path, metavar="FOLDER", help="of what was measured")
    parser.add_argument("--budget", type=float, default=UNLIMITED_S, metavar="SECONDS", help="end before this time is over")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PIECES", help="only pieces so named: 'samples/mnist/*', 'stor*'")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, with what shows on a CPU")
    given = parser.parse_args(arguments)
    if found := obstacles(without_gpu=given.rehearse or given.out is None):
        print("This cannot be done here:\n" + "\n".join(f"- {one}" for one in found), file=sys.stderr)
        return CANNOT
    if given.out is None:
        return _written(given)
    return _measured(given.out, started + given.budget, given.only, given.rehearse)


def _measured(out: Path, ends_at: float, only: list[str], rehearse: bool) -> int:
    known = machine()
    if rehearse and known["gpu"]:
        print("--rehearse is for a machine without a GPU", file=sys.stderr)
        return CANNOT
    if differs := _claimed(out, known):
        print(differs, file=sys.stderr)
        return CANNOT
    print(in_words(known), *shortcomings(), sep="\n", flush=True)

    from sample_traces.stages import all_pieces

    pieces = [piece for piece in all_pieces(out, "cpu" if rehearse else "cuda") if any(fnmatch(str(piece), one) for one in only)]
    if not pieces:
        print(f"no piece is called {' or '.join(only)}", file=sys.stderr)
        return CANNOT
    conducted = conduct(pieces, out, ends_at - time.monotonic() - TABLES_S)
    print(f"\n{_tables(out, ends_at - time.monotonic())}\n")
    print(summary(conducted))
    if conducted.left:
        print("to go on: the same command again")
    return conducted.exit_code


def _tables(out: Path, seconds: float) -> str:
    """Written by a process of its own, so that they are ended in time; they can be written anywhere later."""
    command = [sys.executable, "-m", "sample_traces.gpu", "--tables", str(out.resolve())]
    try:
        return called(command, ROOT, dict(os.environ), min(seconds, LONGEST_S)).stdout
    except RuntimeError as error:
        return f"no tables: {error}"


def _claimed(out: Path, known: dict[str, Any]) -> str:
    """Write down whose results these are. Returns why they cannot be: the folder was begun on another machine, but for its processor."""
    from sample_traces.results import MACHINE, machine_of

    names = ("gpu", "torch", "python")
    if (out / MACHINE).is_file():
        before = machine_of(out)
        same = all(before[name] == known[name] for name in names)
        return "" if same else f"{out} was begun on {in_words(before)}; this is {in_words(known)}: choose another folder"
    (out / RECORDS).mkdir(parents=True, exist_ok=True)
    (out / MACHINE).write_text(json.dumps(known, indent=1), encoding="utf-8")
    return ""


def _written(given: argparse.Namespace) -> int:
    from sample_traces.accuracy import PAGE
    from sample_traces.results import keep_recordings, machine_of, write_page, write_tables

    folder = given.tables or given.write or given.keep
    try:
        machine_of(folder)
        if given.tables:
            print(write_tables(folder))
        elif given.write:
            print("\n".join(f"{PAGE}: {heading}" for heading in write_page(folder, PAGE)))
        else:
            print("\n".join(keep_recordings(folder)))
    except (OSError, ValueError) as error:
        print(f"{folder} holds nothing to write: {error}", file=sys.stderr)
        return CANNOT
    return 0


if __name__ == "__main__":
    sys.exit(main())
