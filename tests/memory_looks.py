"""What fills memory in the steps of a task of a test."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

from diagnose.measure.memory_peak import MemoryLook as Seen
from diagnose.run.child.memory.memory_look import MemoryLook
from diagnose.run.child.places import Places

HERE = str(Path(__file__).parent)


def looked_at(step: Callable[[], None]) -> Seen:
    """After a first one; without the tensors that other tests of this process have left."""
    step()
    gc.collect()  # what others left in cycles would be freed at any time
    look = MemoryLook(Places(HERE, HERE))
    assert look.begin()
    ended = False
    while not ended:
        step()
        ended = look.step()
    assert look.told is not None
    kinds = [origin["part"] for origin in look.told["origins"]]
    storages = [row for row in look.told["storages"] if row[1] >= 0 or kinds[row[3]] != "before"]
    return Seen({**look.told, "storages": storages})
