"""One of several launchers of one job: `torchrun -m diagnose train.py` starts one for each
rank, and all are to record one run.

What torchrun tells each of them: which rank of how many, on which machine, and
how often the ranks have been started.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

import psutil

from diagnose.run.signals import overhear


@dataclass(frozen=True)
class Peers:
    """What this launcher knows of itself and the others.

    `node`: which of the `machines` of the job this is; it has `local_count`.
    """

    rank: int
    local_rank: int
    local_count: int
    node: int
    machines: int
    world_size: int
    restart: int  # how often the ranks have been started anew, as far as the torchrun of this machine counts
    restarts_left: int
    agent: str  # the torchrun of this machine, which stays the same when the ranks are started anew
    start: str  # the same for the launchers of one start on this machine, and for no others
    job: str  # the same for all launchers of the job, in all its starts
    name: str  # the same for all launchers of one start on all machines; for people

    @property
    def leads(self) -> bool:
        """This one chooses the folder for its machine and says what is going on."""
        return self.local_rank == 0


def peers_of(environment: Mapping[str, str]) -> Peers | None:
    """What torchrun says to one of several; None for a run that has one launcher."""
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    if not all(environment.get(name, "").isdecimal() for name in names):
        return None
    rank, local_rank, world_size, local_count = (int(environment[name]) for name in names)
    if world_size < 2:
        return None
    parent = psutil.Process(os.getppid())
    agent = f"{socket.gethostname()} {parent.pid} {parent.create_time():.2f}"
    machines = _number(environment, "GROUP_WORLD_SIZE", -(-world_size // max(1, local_count)))
    restart = _number(environment, "TORCHELASTIC_RESTART_COUNT", 0)
    run_id, address, port = (
        environment.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
    )
    has_name = run_id not in ("", "none")  # torchrun's own word for none
    return Peers(
        rank,
        local_rank,
        local_count,
        node=_number(environment, "GROUP_RANK", 0),
        machines=machines,
        world_size=world_size,
        restart=restart,
        restarts_left=max(0, _number(environment, "TORCHELASTIC_MAX_RESTARTS", 0) - restart),
        agent=agent,
        start=hashlib.sha256(repr((agent, run_id, port, restart)).encode()).hexdigest()[:16],
        job=f"{run_id} {agent}"
        if machines == 1
        else f"{run_id} {address}",  # the port changes from start to start
        name=re.sub(r"[^\w.-]+", "-", run_id if has_name else f"{address}-{port}"),
    )


def _number(environment: Mapping[str, str], name: str, default: int) -> int:
    value = environment.get(name, "")
    return int(value) if value.isdecimal() else default


def outlive_the_script() -> None:
    """From now on signals are for the script alone (`launch.Run` passes them on): when one rank ends,
    torchrun ends all launchers, and the last of them has a report to write; torchrun waits 30 s for that.
    """
    overhear()
