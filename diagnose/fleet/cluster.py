"""The Dask cluster that a fleet is analysed on: one of this machine's own cores, or one that already runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from diagnose.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 30
# Dask gives up a worker of its own that is not there 15 s after it died, even while it is being started
# again, which on a busy machine takes longer; without any worker left all would wait for ever.
SETTINGS = {"distributed.deploy.lost-worker-timeout": "1h"}


@contextmanager
def cluster(scheduler: str = "", workers: int | None = None) -> Iterator[Client]:
    """A client of the scheduler at that address; without one, of `workers` processes of
    this machine (default: one a core).

    A worker reads one trace at a time: reading is one thread's work, and two traces need twice the memory.
    Raises UsageError without Dask, and if nothing answers at the address.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError(
            "a fleet is analysed with Dask, which is not installed",
            saw=str(error),
            do="pip install 'torch-diagnose[dask]'",
        ) from error
    if scheduler:
        with _connected(scheduler) as client:
            yield client
        return
    free_port = "127.0.0.1:0"
    with (
        _environment_kept(),
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=free_port,
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local) as client,
    ):
        yield client


@contextmanager
def _environment_kept() -> Iterator[None]:
    """What Dask sets for the workers that it starts (OMP_NUM_THREADS=1 and more), it sets in this process."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _connected(scheduler: str) -> Client:
    from distributed import Client

    try:
        return Client(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        do = "check the address, and that the scheduler runs: dask scheduler"
        raise UsageError(f"no Dask scheduler answers at {scheduler}", saw=str(error), do=do) from error
