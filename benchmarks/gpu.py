"""Everything that is to be measured on a machine with a GPU, in one go, as far as the time goes.

    python -m benchmarks gpu --out FOLDER [--pack FILE] [--budget SECONDS] [--only 'stor*' …]
    python -m benchmarks gpu --tables FOLDER [--pack FILE]    what was measured as tables, anywhere
    python -m benchmarks gpu --write FOLDER [--pack FILE]     … in docs/accuracy.md, anywhere
    python -m benchmarks gpu --keep FOLDER [--pack FILE]      the recordings of samples that need
    a GPU beside their scripts, anywhere

Run the first again with the same FOLDER, or on another machine with the same pack, to go on where it stopped;
what failed is tried again last. docs/gpu.md says what to do with the results. --rehearse goes through all of
it on a machine without a GPU, with what shows there. Exit codes: 0 all done, 1 something failed, 2 this
machine cannot, 3 something is left.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks import ROOT, pack
from benchmarks.brought import provide
from benchmarks.machine import in_words, machine, obstacles, shortcomings
from benchmarks.options import parser
from benchmarks.tasks import RECORDS, run_tasks, summary

CANNOT = 2
UNLIMITED_S = 1e9
PACKAGES = "packages"
WHEELS = ROOT / "wheels"


def main(arguments: Sequence[str]) -> int:
    started = time.monotonic()
    given = _parsed(arguments)
    if given.out is not None and (wrong := provide(given.wheels, given.out / PACKAGES)):
        print(wrong, file=sys.stderr)
    if found := obstacles(without_gpu=given.rehearse or given.out is None):
        print("This cannot be done here:\n" + "\n".join(f"- {one}" for one in found), file=sys.stderr)
        return CANNOT
    try:
        if given.out is None:
            return _written(given)
        return _measured(given, started + given.budget)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return CANNOT


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    options = parser("gpu", __doc__)
    what = options.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, metavar="FOLDER", help="measure")
    for name in ("--tables", "--write", "--keep"):
        what.add_argument(name, type=Path, metavar="FOLDER", help="of what was measured")
    options.add_argument(
        "--pack",
        type=Path,
        metavar="FILE",
        help="a .tar.gz to go on from, and to keep all results in after every task",
    )
    options.add_argument(
        "--budget", type=float, default=UNLIMITED_S, metavar="SECONDS", help="end before this time is over"
    )
    options.add_argument(
        "--only",
        nargs="+",
        default=["*"],
        metavar="PIECES",
        help="only tasks so named: 'samples/mnist/*', 'stor*'",
    )
    options.add_argument(
        "--wheels",
        type=Path,
        default=WHEELS,
        metavar="FOLDER",
        help="of packages that are missing (default wheels/)",
    )
    options.add_argument("--rehearse", action="store_true", help="without a GPU, with what shows on a CPU")
    given = options.parse_args(arguments)
    folder = given.out or given.tables or given.write or given.keep
    if given.pack is not None and given.pack.resolve().is_relative_to(folder.resolve()):
        options.error(f"--pack: a pack of {folder} lies outside it")
    return given


def _measured(given: argparse.Namespace, ends_at: float) -> int:
    """Raises OSError, ValueError for a pack that cannot be read."""
    known = machine()
    if given.rehearse and known["gpu"]:
        print("--rehearse is for a machine without a GPU", file=sys.stderr)
        return CANNOT
    if differs := _claimed(given.out, known, given.pack):
        print(differs, file=sys.stderr)
        return CANNOT
    print(in_words(known), *shortcomings(), sep="\n", flush=True)
    if given.pack is not None:
        print(f"{given.pack}: {pack.take_up(given.pack, given.out)} files taken up", flush=True)

    from benchmarks.stages import all_tasks

    device = "cpu" if given.rehearse else "cuda"
    tasks = [
        task for task in all_tasks(given.out, device) if any(fnmatch(str(task), one) for one in given.only)
    ]
    if not tasks:
        print(f"no task is called {' or '.join(given.only)}", file=sys.stderr)
        return CANNOT
    outcome = run_tasks(tasks, given.out, ends_at - time.monotonic(), _packing(given.pack, given.out))
    print(f"\n{summary(outcome)}")
    if outcome.left:
        print("to go on: the same command again")
    print(f"tables, on any machine: python -m benchmarks gpu --tables {given.out}")
    return outcome.exit_code


def _packing(file: Path | None, out: Path) -> Callable[[], None]:
    """What is done after each task; a file that is too large is named once."""
    named: set[str] = set()

    def packed() -> None:
        if file is not None:
            too_large = set(pack.refresh(file, out)) - named
            named.update(too_large)
            for one in sorted(too_large):
                print(f"too large for the pack: {one}", flush=True)

    return packed


def _claimed(out: Path, known: dict[str, Any], file: Path | None = None) -> str:
    """Write down whose results these are. Returns why they cannot be: folder or pack
    was begun with another GPU or torch.

    Raises OSError, ValueError for a pack that cannot be read.
    """
    from benchmarks.results import MACHINE, machine_of

    begun = {("folder", out): machine_of(out)} if (out / MACHINE).is_file() else {}
    if file is not None and (told := pack.told_by(file, MACHINE)) is not None:
        begun["pack", file] = told
    for (kind, name), before in begun.items():
        if any(before[which] != known[which] for which in ("gpu", "torch")):
            return f"{name} was begun on {in_words(before)}; this is {in_words(known)}: choose another {kind}"
    (out / RECORDS).mkdir(parents=True, exist_ok=True)
    first, *others = [*begun.values(), known]
    (out / MACHINE).write_text(json.dumps(_with_others(first, others), indent=1), encoding="utf-8")
    return ""


def _with_others(first: dict[str, Any], others: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The first machine, and under ``also`` those that went on and differ in
    something: its driver, its processor.
    """
    also = list(first.get("also", ()))
    itself = {name: value for name, value in first.items() if name != "also"}
    for other in others:
        one = {name: value for name, value in other.items() if name != "also"}
        if one != itself and one not in also:
            also.append(one)
    return itself | ({"also": also} if also else {})


def _written(given: argparse.Namespace) -> int:
    from benchmarks.accuracy import PAGE
    from benchmarks.results import keep_recordings, machine_of, write_page, write_tables

    folder = given.tables or given.write or given.keep
    try:
        if given.pack is not None:
            pack.take_up(given.pack, folder)
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
