"""The memory of the machine, and how the C library returns freed memory to the system."""

import ctypes
import functools
import os
import sys

OPTIONS = {  # environment variable: option of mallopt, and its value in bytes
    "MALLOC_TRIM_THRESHOLD_": (-1, 2**31 - 1),
    "MALLOC_MMAP_THRESHOLD_": (-3, 2**30),
}


def physical_bytes() -> int:
    """Returns how much memory the machine has."""
    if sys.platform == "win32":
        status = (ctypes.c_uint64 * 8)(64)  # MEMORYSTATUSEX: its own size, and then that of the memory
        ctypes.windll.kernel32.GlobalMemoryStatusEx(status)
        return int(status[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@functools.cache
def keep_freed() -> None:
    """Lets the process reuse the memory of freed tensors.

    By default, glibc returns large blocks to the system at once, and each new one costs a page fault for every 4 KB of
    it. Environment variables that set the same options take precedence.
    """
    if sys.platform == "linux" and not OPTIONS.keys() & os.environ.keys():
        library = ctypes.CDLL(None)
        for option, size in OPTIONS.values():
            if hasattr(library, "mallopt"):  # not in musl
                library.mallopt(option, size)
