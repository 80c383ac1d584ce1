"""Keep a successful training from ending with an abort.

fairseq reads batches ahead in a daemon thread. When the interpreter shuts down, Python stops such a thread as soon as
it requests the interpreter lock. Inside torch, C++ cannot be unwound and the whole process aborts (exit status 134,
"terminate called without an active exception"): everything is saved, but the surrounding script fails.
So the threads are ended in order, before the interpreter shuts down.
"""

import threading
import time

from fairseq.data.iterators import BackgroundConsumer

JOIN_SECONDS = 10.0  # longer than any batch takes
POLL_SECONDS = 0.05


def stop_reading_ahead() -> None:
    """Ends every thread that reads batches ahead, after the batch that it is reading."""
    readers = [thread for thread in threading.enumerate() if isinstance(thread, BackgroundConsumer)]
    for reader in readers:
        reader._max_len = 0
    deadline = time.monotonic() + JOIN_SECONDS
    for reader in readers:
        while reader.is_alive() and time.monotonic() < deadline:
            while not reader._queue.empty():  # a full queue blocks its thread
                reader._queue.get_nowait()
            reader.join(POLL_SECONDS)
