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

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def from_the_system(size):
    with open("/proc/self/maps") as file:
        heap = [line for line in file if "[heap]" in line][0]
    low, high = (int(end, 16) for end in heap.split()[0].split("-"))
    block = libc.malloc(size)
    with open("/proc/self/maps") as file:
        heap = [line for line in file if "[heap]" in line][0]
    high = int(heap.split()[0].split("-")[1], 16)
    return block, not low <= block < high

SET
first, _ = from_the_system(20_000_000)
libc.free(first)  # from which malloc learns to keep 20 MB
print(from_the_system(16_000_000)[1])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be asked")
def test_large_blocks_come_from_the_system_again_and_again():
    def said(setting: str) -> str:
        program = LEARNT.replace("SET\n", f"{setting}\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert said("") == "False" and said("large_blocks_apart()") == "True"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be asked")
def test_what_small_blocks_leave_behind_goes_back():
    """200 MB of blocks, all but every thousandth freed."""
    done = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 100
