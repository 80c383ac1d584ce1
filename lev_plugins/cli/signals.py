"""Signals that end a command."""

import signal
import sys


def exit_at_signals() -> None:
    """Makes SIGTERM, and SIGHUP of a closed terminal, raise SystemExit, so that what is unfinished is removed."""
    for number in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):  # Windows: only the first
        if signal.getsignal(number) != signal.SIG_IGN:  # as with nohup
            signal.signal(number, lambda received, _: sys.exit(128 + received))
