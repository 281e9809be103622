"""A file in a rank's folder to which its training process and the workers of its loaders append."""

from __future__ import annotations

import os

from torch.utils.data import get_worker_info

from ..coordinator import own_rank
from ..descriptors import close_ours, is_ours, open_ours
from ..shared_state import SharedState


class RankFile:
    """Small appends are atomic, so processes share the file without a lock."""

    def __init__(self, name: str, run_folder: str, shared: SharedState, *, bytes_at_most: int) -> None:
        self._name, self._run_folder, self._shared = name, run_folder, shared
        self._bytes_at_most = bytes_at_most
        self._rank: int | None = None
        self._descriptor = -1

    def append(self, data: bytes) -> bool:
        """False once nothing more is to come: the file is full, or closed. What a process writes that is not
        recorded is dropped. Raises OSError.
        """
        trainer = os.getppid() if get_worker_info() is not None else os.getpid()
        if self._rank is None:
            slots = self._shared.slots()
            self._rank = next((slot.rank for slot in slots if slot.pid == trainer), own_rank())
        if self._shared.pid_at(self._rank) not in (0, trainer):
            return True
        if self._descriptor < 0:
            folder = os.path.join(self._run_folder, f"rank{self._rank}")
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, self._name)
            self._descriptor = open_ours(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if not is_ours(self._descriptor):  # the script has closed it
            return False
        if os.fstat(self._descriptor).st_size >= self._bytes_at_most:
            return False
        os.write(self._descriptor, data)
        return True

    def close(self) -> None:
        """Forget everything: in a forked child, or at the end."""
        self._rank = None
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            close_ours(descriptor)
