import ctypes
import os
import platform
import subprocess
import sys

import pytest

SCATTERED = """
import resource
from diagnose.trace.freed import give_back

def held_mb():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6

blocks = [bytes(2_000) for _ in range(100_000)]
kept = blocks[::1_000]  # high in the heap, between what is freed
del blocks
before = held_mb()
give_back()
print(before - held_mb())
"""


LEARNT = """
import ctypes
from diagnose.trace.freed import large_blocks_apart

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena small fast mapped mapped_bytes a b c d e".split()]

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
libc.mallinfo2.restype = Info

SET
libc.free(libc.malloc(20_000_000))  # from which malloc learns to keep 20 MB
before = libc.mallinfo2().mapped_bytes
libc.malloc(16_000_000)
print(libc.mallinfo2().mapped_bytes - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc tells, from 2.33 on")
def test_large_blocks_come_from_the_system_again_and_again():
    """16 MB after 20 MB were freed: part of the heap for malloc, unless it is told otherwise."""

    def mapped_bytes(setting: str) -> int:
        program = LEARNT.replace("SET\n", f"{setting}\n")
        plain = {
            name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")
        }  # dask's
        done = subprocess.run(
            [sys.executable, "-c", program], env=plain, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert mapped_bytes("") == 0 and mapped_bytes("large_blocks_apart()") >= 16_000_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be asked")
def test_what_small_blocks_leave_behind_goes_back():
    """200 MB of blocks, all but every thousandth freed."""
    done = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 100
