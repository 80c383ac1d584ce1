import os
import platform
import subprocess
import sys

import pytest

from lev_plugins.utils import memory

PIECES = """
import resource
from lev_plugins.utils.memory import keep_freed
keep_freed()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for size in 2 * [2**22, 2**24, 2**26]:
    b"1" * size
before = faults()
for size in 4 * [2**22, 2**24, 2**26]:
    b"1" * size
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="memory.py is about glibc")
def test_memory_that_was_freed_is_used_again_unless_the_environment_says_otherwise() -> None:
    def faults(**own: str) -> int:
        rest = {name: value for name, value in os.environ.items() if name not in memory.OPTIONS}
        found = subprocess.run([sys.executable, "-c", PIECES], env=rest | own, capture_output=True, check=True)
        return int(found.stdout)

    pages = 4 * (2**22 + 2**24 + 2**26) // os.sysconf("SC_PAGE_SIZE")
    assert faults() < pages / 100
    assert faults(MALLOC_MMAP_THRESHOLD_="131072") > pages / 2
