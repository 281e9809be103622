"""What our recordings leave in glibc's heap, in a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

HELD_HIGH = """
import ctypes
from diagnose.run.child.memory.heap import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]
libc.free.argtypes = [ctypes.c_void_p]

give_back()
low = libc.sbrk(0)
blocks = sorted(libc.malloc(200) for _ in range(100_000))
high = libc.sbrk(0)
for block in reversed(blocks):  # the highest ones are those that malloc keeps for its thread
    libc.free(block)
give_back()
print(high - low, libc.sbrk(0) - low)
"""

OF_THE_SCRIPT = """
import ctypes
from diagnose.run.child.memory.heap import MMAP_MAX, is_as_it_comes, keep_thresholds

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
small, fence = [libc.malloc(2**16) for _ in range(2000)], libc.malloc(8)
for block in small:
    libc.free(block)  # 128 MB lie free in the heap
print(is_as_it_comes())
libc.mallopt(MMAP_MAX, 0)
print(is_as_it_comes())
keep_thresholds()
block = libc.malloc(2**28)
with open("/proc/self/maps") as maps:
    heap = next(line for line in maps if "[heap]" in line)
print(block < int(heap.split("-")[1].split()[0], 16))
"""
GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be asked")


@GLIBC
def test_a_script_that_has_malloc_keep_all_is_left_alone() -> None:
    """256 MB lie in the heap, where nothing is taken from the system one by one."""
    done = subprocess.run([sys.executable, "-c", OF_THE_SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]


@GLIBC
def test_what_malloc_keeps_for_its_thread_holds_no_heap_open() -> None:
    """20 MB of blocks of 208 bytes, all of them freed: the heap's end comes back."""
    done = subprocess.run([sys.executable, "-c", HELD_HIGH], capture_output=True, text=True, check=True)
    taken, left = map(int, done.stdout.split())
    assert taken > 15_000_000
    assert left < 2_000_000
