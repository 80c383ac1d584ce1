"""A training that succeeded must not end with an abort.

fairseq reads batches ahead in a daemon thread. When the interpreter ends, Python stops such a thread where it next asks
for the interpreter; if that is inside torch, C++ cannot be unwound and the whole process aborts (exit status 134,
"terminate called without an active exception"), after everything was saved, which fails the script around it.
So the work on a batch holds a lock, and the first thing that an ending interpreter does is to take it for good.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

PATIENCE = 10.0  # seconds; no batch takes as long
MOMENT = 0.1

Method = TypeVar("Method", bound=Callable[..., Any])


class _Door:
    """Open while somebody may work; shut when the interpreter ends."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked worker starts with a lock of its own: the thread that held this one is not there."""
        self.lock = threading.RLock()  # one guarded function may call another

    def shut(self) -> None:
        self.lock.acquire(timeout=PATIENCE)
        if threading.active_count() > 1:
            time.sleep(MOMENT)  # who had the lock frees its tensors, and comes back to wait here


_door = _Door()
atexit.register(_door.shut)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_door.reset)


def not_while_leaving(method: Method) -> Method:
    """Whoever calls the function after the interpreter began to end waits for ever, in Python and not inside torch.

    >>> @not_while_leaving
    ... def collate(numbers):
    ...     return sum(numbers)
    >>> collate([1, 2])
    3
    """

    @functools.wraps(method)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with _door.lock:
            return method(*args, **kwargs)

    return guarded  # type: ignore[return-value]
