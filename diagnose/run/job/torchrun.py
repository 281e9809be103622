"""Start the ranks of a job on this machine as torchrun does, and read what it leaves of a failure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from diagnose.run.settings import RunOutcome, Target

# What torchrun sets for each rank, and its own options (PET_): another start has its own.
_OF_A_START = re.compile(
    r"((LOCAL_|ROLE_|GROUP_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|(TORCHELASTIC|PET)_.*)"
)

_ROOT_CAUSE = re.compile(
    r"Root Cause.*?^\s*rank\s*: (\d+) .*?^\s*exitcode\s*: (-?\d+) .*?(?:\((SIG\w+)\))?\s*$",
    re.DOTALL | re.MULTILINE,
)


def started_by_torchrun(target: Target, ranks: int, logs: Path) -> Target:
    """torchrun's own module with the target as its argument.

    What each rank prints goes to files below `logs`.
    """
    options = [
        "--standalone",
        f"--nproc-per-node={ranks}",
        "--max-restarts=0",
        "--redirects=3",
        f"--log-dir={logs}",
    ]
    return Target(
        "torch.distributed.run",
        True,
        (*options, *(["--module"] if target.module else []), target.script, *target.args),
    )


def was_started_by_torchrun(environment: Mapping[str, str]) -> bool:
    """By the variables of a rank; also true of `accelerate launch`, which does it by torchrun."""
    return "TORCHELASTIC_RUN_ID" in environment


def signals_the_script(environment: Mapping[str, str]) -> bool:
    """Whether torchrun started this process: in a session of its own, all of which it signals."""
    return was_started_by_torchrun(environment) and os.getpgrp() == os.getpid()


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what tells a process that torchrun started it."""
    return {name: value for name, value in environment.items() if not _OF_A_START.fullmatch(name)}


@dataclass(frozen=True)
class LostRank:
    """The rank whose failure was the first; `signal` is the name of the one that killed it."""

    rank: int
    exit_code: int | None
    signal: str | None

    def outcome(self, wall_s: float | None) -> RunOutcome:
        return RunOutcome("killed" if self.signal else "crashed", self.exit_code, self.signal, wall_s)


def lost_rank(said: str) -> LostRank | None:
    """By what torchrun printed at its end; None if that names no rank."""
    found = _ROOT_CAUSE.search(said)
    if found is None:
        return None
    rank, code, signal = int(found[1]), int(found[2]), found[3]
    return LostRank(rank, code if code >= 0 else None, signal)


def printed_by_ranks(logs: Path, last: int | None = None) -> str:
    """What the ranks printed, one after the other: the output of each, then its errors.

    `last`: the rank that comes last.
    """
    folders = [path for path in logs.glob("*/attempt_0/*") if path.name.isdecimal()]
    folders.sort(key=lambda path: (int(path.name) == last, int(path.name)))
    files = [folder / name for folder in folders for name in ("stdout.log", "stderr.log")]
    return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file())
