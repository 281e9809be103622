"""The one folder that all launchers of a job record into.

On each machine the first launcher chooses and tells the others through a file in the temporary folder.
Machines come to the same folder by its name, if they share a file system: the first of them makes it, the
others find in its run.json that it is of their job.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from diagnose.errors import UsageError
from diagnose.run.job.peers import Peers
from diagnose.run.record import numbered, write_record

_POLL_S = 0.05
_PATIENCE_S = 60.0  # for the first launcher to choose a folder: Python starts slowly on a busy machine


@dataclass(frozen=True)
class JobFolder:
    """`out`: the run folder.

    `keeps_record`: this launcher writes run.json. `before`: the folders of the job's earlier starts.
    """

    peers: Peers
    out: Path
    keeps_record: bool = False
    before: tuple[str, ...] = ()


def common_folder(peers: Peers, wanted: Path | None) -> JobFolder:
    """The folder of this start of the job: `wanted`, or a new one in ``diagnosis``.

    Where an earlier start of the job recorded into that folder, it is the next free one (-2, -3
    …). Raises UsageError if the folder belongs to something else, cannot be made, or if the
    launcher that chooses does not say so.
    """
    if not peers.leads:
        return JobFolder(peers, _told(peers))
    chosen = _chosen(peers, wanted)
    _tell(peers, chosen.out)
    return chosen


def launchers_of(out: Path, node: int) -> Path:
    """The folder in which the launchers of a machine leave that they are there (`heartbeat`)."""
    return out / f".launchers-{node}"


def recorded_before(peers: Peers, wanted: Path | None) -> Path | None:
    """The folder of an earlier start of the job that recorded every phase of every rank, so
    that there is nothing left to record.
    """
    return next(
        (folder for folder in _starts_before(peers, wanted) if is_recorded(folder, peers.world_size)), None
    )


def is_recorded(folder: Path, ranks: int) -> bool:
    """Whether the folder holds every phase of so many ranks."""
    return all(_value_in(folder / f"rank{rank}" / "steps.json", "complete") is True for rank in range(ranks))


def _starts_before(peers: Peers, wanted: Path | None) -> list[Path]:
    """Where earlier starts of the job were recorded, oldest first.

    Only a job on one machine can tell itself from all others.
    """
    folder, pattern = (Path("diagnosis"), "*") if wanted is None else (wanted.parent, f"{wanted.name}*")
    if peers.machines > 1 or not peers.restart:
        return []
    found = [run.parent for run in folder.glob(f"{pattern}/run.json") if _job_in(run.parent) == peers.job]
    return sorted(found, key=lambda path: (path / "run.json").stat().st_mtime_ns)


def _chosen(peers: Peers, wanted: Path | None) -> JobFolder:
    before = [str(path.resolve()) for path in _starts_before(peers, wanted)]
    base = wanted or _default(peers)
    for folder in numbered(base):
        if _is_made(folder, peers):
            return JobFolder(peers, folder.resolve(), True, tuple(before))
        if _job_in(folder) != peers.job:
            if folder == wanted:
                raise UsageError(
                    f"--out {wanted} exists and is not an empty folder",
                    do="name a new folder; nothing is ever overwritten",
                )
        elif _has_part(folder, peers):
            if _is_by(peers.agent, folder) and str(folder.resolve()) not in before:
                before.append(str(folder.resolve()))
        else:
            launchers_of(folder, peers.node).mkdir(exist_ok=True)
            return JobFolder(peers, folder.resolve(), False, tuple(before))
    raise UsageError(f"no folder is free beside {base}", do="name another folder with --out")


def _default(peers: Peers) -> Path:
    """By time, which several machines have no common notion of: by the name of the job there."""
    return Path("diagnosis") / (time.strftime("%Y%m%d-%H%M%S") if peers.machines == 1 else peers.name)


def _is_made(folder: Path, peers: Peers) -> bool:
    """Whether this launcher has made the folder, or filled an empty one, with a run.json that names the job.

    Raises UsageError.
    """
    unfinished = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        launchers_of(unfinished, peers.node).mkdir(parents=True)
        write_record(unfinished, {"schema": 1, "job": peers.job, "ended": "running"})
        try:
            unfinished.rename(folder)  # fails if anything is in it; of several machines that try, one gets it
        except OSError:
            if not folder.exists():
                raise
            return False
        return True
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be created", saw=str(error), do="name another folder with --out"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _job_in(folder: Path) -> Any:
    return _value_in(folder / "run.json", "job")


def _value_in(file: Path, name: str) -> Any:
    """None where the file is missing, damaged, or does not have it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return json.loads(file.read_text(encoding="utf-8")).get(name)
    return None


def _has_part(folder: Path, peers: Peers) -> bool:
    """Whether this machine's ranks were recorded into the folder before."""
    return launchers_of(folder, peers.node).exists() or (folder / f"rank{peers.rank}" / "ended.json").exists()


def _is_by(agent: str, folder: Path) -> bool:
    """Whether this machine's torchrun started ranks that were recorded into the folder: then
    it is no other job by the same name.
    """
    return any(f'"{agent}"' in file.read_text(encoding="utf-8") for file in folder.glob("rank*/ended.json"))


# on one machine


def _agreement(peers: Peers) -> Path:
    return Path(gettempdir()) / f"diagnose-{os.getuid()}-{peers.start}"


def _tell(peers: Peers, out: Path) -> None:
    unfinished = _agreement(peers).with_suffix(".unfinished")
    unfinished.write_bytes(os.fsencode(out))  # names of folders need not be UTF-8
    unfinished.replace(_agreement(peers))


def forget(peers: Peers) -> None:
    """The start is over: a later one on this machine chooses anew."""
    _agreement(peers).unlink(missing_ok=True)


def _told(peers: Peers) -> Path:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if _agreement(peers).stat().st_uid == os.getuid():
                return Path(os.fsdecode(_agreement(peers).read_bytes()))
        time.sleep(_POLL_S)
    raise UsageError(
        "the launcher of local rank 0 did not say where the run is recorded",
        saw=f"rank {peers.rank} of {peers.world_size}, waited {_PATIENCE_S:.0f} s",
        do="start the ranks with torchrun or accelerate launch",
    )
