"""Keep a successful training from ending with an abort.

fairseq reads batches ahead in a daemon thread. When the interpreter shuts down, Python stops such a thread as soon as
it requests the interpreter lock. Inside torch, C++ cannot be unwound and the whole process aborts (exit status 134,
"terminate called without an active exception"): everything is saved, but the surrounding script fails.
So work on a batch holds a lock, which the interpreter takes for good as the first step of its shutdown.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["not_while_leaving"]

PATIENCE = 10.0  # seconds; longer than any batch takes
MOMENT = 0.3  # a busy machine needs some of it

Method = TypeVar("Method", bound=Callable[..., Any])


class _Door:
    """Open while batches may be made; shut when the interpreter shuts down."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked worker gets its own lock: the thread that held the old one was not forked."""
        self.lock = threading.RLock()  # one guarded function may call another

    def shut(self) -> None:
        self.lock.acquire(timeout=PATIENCE)
        if threading.active_count() > 1:
            time.sleep(MOMENT)  # the thread that held the lock frees its tensors, then waits here


_door = _Door()
atexit.register(_door.shut)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_door.reset)


def not_while_leaving(method: Method) -> Method:
    """Once the interpreter is shutting down, a call waits for ever, in Python instead of inside torch.

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
