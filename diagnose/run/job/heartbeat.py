"""Which launchers of a job are still at work, and which of them is the last: it writes the report.

On one machine launchers know each other's processes. Machines see of each other only what is written into the
run folder: each shows a sign of life every few seconds, and one whose signs cease is lost and not waited for.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import psutil

from diagnose.run.job.folder import JobFolder, forget, launchers_of
from diagnose.run.record import write_record
from diagnose.run.settings import RunOutcome

_SIGN_S = 2.0  # between two signs of life of a machine
_SILENCE_S = 10.0  # without one a machine is lost; torchrun gives launchers that it ends 30 s in all
_POLL_S = 0.2
_SIGN, _OVER = "sign", "over"


def begin(job: JobFolder) -> None:
    """This launcher is at work. Raises OSError."""
    _here(job).mkdir(parents=True, exist_ok=True)
    _say(job, str(os.getpid()))
    show_sign(job)


def show_sign(job: JobFolder) -> None:
    """This machine is at work; to be called often, by all its launchers:
    one of them writes, every few seconds.
    """
    sign = _here(job) / _SIGN
    now = time.time()
    with contextlib.suppress(OSError):
        if not sign.exists():
            sign.touch()
        if abs(now - sign.stat().st_mtime) >= _SIGN_S:
            os.utime(sign, (now, now))  # by this machine's clock, which its launchers have in common


def end(job: JobFolder, outcome: RunOutcome) -> bool:
    """Write how this rank ended, if there is room; whether it was the last on this machine."""
    with contextlib.suppress(OSError):
        write_end(job.out, job.peers.rank, outcome, job.peers.agent)
    with contextlib.suppress(OSError):
        _say(job, "")
    try:
        present = [file for file in _here(job).iterdir() if file.name.isdecimal()]
    except OSError:  # somebody has taken the folder away
        return False
    if len(present) < job.peers.local_count or any(_is_at_work(file) for file in present):
        return False
    if not _is_first(_here(job) / _OVER):  # another one ended at the same moment
        return False
    forget(job.peers)
    return True


def is_last(job: JobFolder) -> bool:
    """Asked by the last launcher of a machine: whether it is the one that reports, for
    no other machine is at work any more.
    """
    seen: dict[Path, int] = {}
    deadline = time.monotonic() + _SILENCE_S
    while others := [
        one for one in job.out.glob(".launchers-*") if one != _here(job) and not (one / _OVER).exists()
    ]:
        signs = {other: _read_sign(other) for other in others}
        if any(sign != seen.get(one, sign) for one, sign in signs.items()):
            return False  # that machine will report
        if time.monotonic() >= deadline:
            break
        seen = signs | seen
        time.sleep(_POLL_S)
    return _here(job).exists() and _is_first(_here(job).with_name(".reports"))


def is_started_anew(job: JobFolder) -> bool:
    """Whether torchrun will start the ranks again, for one has failed.

    On several machines each torchrun counts for itself: unknown.
    """
    peers = job.peers
    if peers.machines > 1 or not peers.restarts_left:
        return False
    return any(
        _ending(job.out, rank) not in ("stopped", "finished", "interrupted")
        for rank in range(peers.world_size)
    )


def close(job: JobFolder) -> None:
    """Take away what the launchers shared, but for those of machines that were
    lost: one that comes back reports again.
    """
    for one in job.out.glob(".launchers-*"):
        if (one / _OVER).exists():
            shutil.rmtree(one, ignore_errors=True)
    (job.out / ".reports").unlink(missing_ok=True)


def end_record(out: Path, outcome: RunOutcome, *, starts_anew: bool) -> None:
    """Say in run.json how the run ended, if the launcher that keeps it was killed or
    lost, and that another start follows.

    Raises OSError, ValueError.
    """
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    own = asdict(outcome) if record["ended"] == "running" else {}
    write_record(out, record | own | {"starts_anew": starts_anew})


def write_end(out: Path, rank: int, outcome: RunOutcome, agent: str | None = None) -> None:
    """Leave how a rank ended in its folder; `agent`: the torchrun that started it. Raises OSError."""
    folder = out / f"rank{rank}"
    folder.mkdir(exist_ok=True)
    started_by = {"agent": agent} if agent else {}
    (folder / "ended.json").write_text(
        json.dumps({"schema": 1, **asdict(outcome), **started_by}), encoding="utf-8"
    )


def _ending(out: Path, rank: int) -> str | None:
    with contextlib.suppress(OSError, ValueError):
        return str(json.loads((out / f"rank{rank}" / "ended.json").read_text(encoding="utf-8"))["ended"])
    return None


def _here(job: JobFolder) -> Path:
    return launchers_of(job.out, job.peers.node)


def _say(job: JobFolder, text: str) -> None:
    unfinished = _here(job) / f"{job.peers.rank}.unfinished"
    unfinished.write_text(text, encoding="ascii")
    unfinished.replace(unfinished.with_suffix(""))


def _is_at_work(file: Path) -> bool:
    """Of a launcher that has not ended, by itself or killed."""
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        return psutil.Process(int(file.read_text(encoding="ascii"))).status() != psutil.STATUS_ZOMBIE
    return False


def _is_first(file: Path) -> bool:
    """Whether nobody has claimed what the file stands for."""
    try:
        file.touch(exist_ok=False)
    except OSError:
        return False
    return True


def _read_sign(launchers: Path) -> int:
    """Opened, for a shared file system may not tell the latest of a file that
    is only looked at; 0 if it cannot be.
    """
    with contextlib.suppress(OSError), (launchers / _SIGN).open("rb") as file:
        return os.fstat(file.fileno()).st_mtime_ns
    return 0
