"""How the ranks of a program that records itself agree on one folder: through the store
that their process group has anyway.

Nothing here is a collective: a rank that never opens its block makes no other one wait for ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from diagnose.run.child.coordinator import own_rank

_FOR_FOLDER_S = 10.0  # that rank 0 opens its block
_POLL_S = 0.02
_OVER = "over"

# opened in this process since there is a process group; the same block has the same number on all ranks
_blocks = 0


class NoRendezvous(Exception):
    """The text says why this rank cannot join the others."""


class Rendezvous:
    """One block of one rank."""

    def __init__(self) -> None:
        """`rank` is 0 also where there is but one process.

        Raises NoRendezvous for a rank that is told so by its launcher alone.
        """
        global _blocks
        group = _group()
        self._store = _store() if group is not None else None
        if group is not None:
            self.rank = int(group.get_rank())
            _blocks += 1
        else:
            self.rank = own_rank()
            if self.rank:
                raise NoRendezvous(
                    "the process group was not there yet: call init_process_group before the block"
                )
        self._key = f"diagnose/block{_blocks}"

    @property
    def leads(self) -> bool:
        """This rank chooses the folder and writes the report."""
        return self.rank == 0

    def announce(self, folder: Path) -> None:
        """Of the rank that leads: tell the others where to record."""
        if self._store is not None:
            self._store.set(self._key, json.dumps([socket.gethostname(), str(folder)]))

    def folder(self) -> Path:
        """Of the others: where to record. Raises NoRendezvous."""
        told = self._told()
        if told == _OVER:
            raise NoRendezvous("rank 0 has left its block already")
        host, folder = json.loads(told)
        if host != socket.gethostname() or not os.path.isdir(folder):
            raise NoRendezvous(f"only the ranks on the machine of rank 0 ({host}) are recorded")
        return Path(folder)

    def _told(self) -> str:
        deadline = time.monotonic() + _FOR_FOLDER_S
        try:
            while self._store is not None and time.monotonic() < deadline:
                if self._store.check([self._key]):
                    return str(self._store.get(self._key), "utf-8")
                time.sleep(_POLL_S)
        except RuntimeError as error:  # the process that keeps the store is gone
            raise NoRendezvous(str(error)) from None
        raise NoRendezvous("rank 0, which leads, records nothing")

    def close(self) -> None:
        """Of the rank that leads: who comes now comes too late."""
        with contextlib.suppress(RuntimeError):  # the block may have ended the process group
            if self._store is not None:
                self._store.set(self._key, _OVER)


def _group() -> Any:
    """torch.distributed where there is a process group."""
    distributed = sys.modules.get("torch.distributed")
    return (
        distributed
        if distributed is not None and distributed.is_available() and distributed.is_initialized()
        else None
    )


def _store() -> Any:
    """The one of the process group; None where torch does not offer it, for the function is private."""
    try:
        from torch.distributed.distributed_c10d import _get_default_store

        return _get_default_store()
    except (ImportError, RuntimeError, ValueError):
        return None
