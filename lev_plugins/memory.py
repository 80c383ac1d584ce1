"""What the C library does with memory that tensors no longer need."""

import ctypes
import functools
import os
import sys

OPTIONS = {"MALLOC_TRIM_THRESHOLD_": (-1, 2**31 - 1), "MALLOC_MMAP_THRESHOLD_": (-3, 2**30)}  # of mallopt, and bytes


@functools.cache
def keep_freed() -> None:
    """A process keeps the memory of its tensors for the next ones.

    By default, glibc returns large pieces to the system at once, and each new one costs a page fault for every 4 KB of
    it. Variables of the environment that set the same are heeded.
    """
    if sys.platform == "linux" and not OPTIONS.keys() & os.environ.keys():
        library = ctypes.CDLL(None)
        for option, size in OPTIONS.values():
            if hasattr(library, "mallopt"):  # not in musl
                library.mallopt(option, size)
