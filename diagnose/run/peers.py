"""One of several launchers of one run: `torchrun -m diagnose train.py` starts one for each rank, and all are to write into one folder.

The launchers of one machine have the same parent. The first of them chooses the folder and tells the others; the last one to end reports.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from diagnose.errors import UsageError
from diagnose.run.settings import RunOutcome

_POLL_S = 0.05
_PATIENCE_S = 60.0  # for the first launcher to choose a folder: Python starts slowly on a busy machine


@dataclass(frozen=True)
class Peers:
    """What this launcher knows of itself and the others of its machine (`node`), which are `local_count`."""

    rank: int
    local_rank: int
    local_count: int
    node: int
    world_size: int
    restart: int  # how often the ranks have been started anew
    key: str  # the same for the launchers of one start, and for no others

    @property
    def leads(self) -> bool:
        """This one chooses the folder, keeps run.json and says what is going on."""
        return self.local_rank == 0

    # one folder

    def publish(self, out: Path) -> None:
        """Tell the others which folder has been chosen. Raises OSError."""
        descriptor, unfinished = tempfile.mkstemp(prefix="diagnose-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(str(out.resolve()))
        os.replace(unfinished, self._agreement)

    def agreed(self) -> Path:
        """The folder that the first launcher has chosen. Raises UsageError if it does not say so."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if self._agreement.stat().st_uid == os.getuid():
                    return Path(self._agreement.read_text(encoding="utf-8"))
            time.sleep(_POLL_S)
        raise UsageError(
            "the launcher of local rank 0 did not say where the run is recorded",
            saw=f"rank {self.rank} of {self.world_size}, waited {_PATIENCE_S:.0f} s",
            do="start the ranks with torchrun or accelerate launch",
        )

    @property
    def _agreement(self) -> Path:
        return Path(tempfile.gettempdir()) / f"diagnose-{os.getuid()}-{self.key}"

    # who is the last

    def begin(self, out: Path) -> None:
        """Raises OSError."""
        self._present(out).mkdir(parents=True, exist_ok=True)
        self._tell(out, str(os.getpid()))

    def end(self, out: Path, outcome: RunOutcome) -> bool:
        """Write how this rank ended; whether all others have, so that this launcher is to report. Raises OSError."""
        write_end(out, self.rank, outcome)
        self._tell(out, "")
        present = [file for file in self._present(out).iterdir() if file.name.isdecimal()]
        if len(present) < self.local_count or any(_is_at_work(file) for file in present):
            return False
        try:
            (self._present(out) / "reports").touch(exist_ok=False)
        except OSError:  # another one ended at the same moment
            return False
        shutil.rmtree(self._present(out), ignore_errors=True)
        self._agreement.unlink(missing_ok=True)
        return True

    def _present(self, out: Path) -> Path:
        return out / f".launchers-{self.node}"

    def _tell(self, out: Path, text: str) -> None:
        unfinished = self._present(out) / f"{self.rank}.unfinished"
        unfinished.write_text(text, encoding="ascii")
        unfinished.replace(unfinished.with_suffix(""))


def peers_of(environment: Mapping[str, str]) -> Peers | None:
    """What torchrun says to one of several; None for a run that has one launcher."""
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    if not all(environment.get(name, "").isdecimal() for name in names):
        return None
    rank, local_rank, world_size, local_count = (int(environment[name]) for name in names)
    if world_size < 2:
        return None
    restart = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    parent = psutil.Process(os.getppid())
    start = (parent.pid, parent.create_time(), environment.get("TORCHELASTIC_RUN_ID"), environment.get("MASTER_PORT"), restart)
    key = hashlib.sha256(repr(start).encode()).hexdigest()[:16]
    node = environment.get("GROUP_RANK", "")
    return Peers(
        rank, local_rank, local_count, int(node) if node.isdecimal() else 0, world_size, int(restart) if restart.isdecimal() else 0, key
    )


def outlive_the_script() -> None:
    """From now on signals are for the script alone (`launch.Run` passes them on): when one rank ends, torchrun ends all launchers, and the
    last of them has a report to write; torchrun waits 30 s for that."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def write_end(out: Path, rank: int, outcome: RunOutcome) -> None:
    """Leave how a rank ended in its folder. Raises OSError."""
    folder = out / f"rank{rank}"
    folder.mkdir(exist_ok=True)
    (folder / "ended.json").write_text(json.dumps({"schema": 1, **asdict(outcome)}), encoding="utf-8")


def _is_at_work(file: Path) -> bool:
    """Of a launcher that has not ended, by itself or killed."""
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        return psutil.Process(int(file.read_text(encoding="ascii"))).status() != psutil.STATUS_ZOMBIE
    return False
