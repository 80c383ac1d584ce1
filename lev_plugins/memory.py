"""Keeps the C library from returning freed memory to the system."""

import ctypes
import functools
import os
import sys

OPTIONS = {  # environment variable: option of mallopt, and its value in bytes
    "MALLOC_TRIM_THRESHOLD_": (-1, 2**31 - 1),
    "MALLOC_MMAP_THRESHOLD_": (-3, 2**30),
}


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
