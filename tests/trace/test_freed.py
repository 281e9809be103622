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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc can be asked")
def test_what_small_blocks_leave_behind_goes_back():
    """200 MB of blocks, all but every thousandth freed."""
    done = subprocess.run([sys.executable, "-c", SCATTERED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 100
