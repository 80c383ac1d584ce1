"""What every command does."""

import os
import signal
from argparse import Namespace
from pathlib import Path

import pytest

from lev_plugins import __version__
from lev_plugins.cli import info, main
from lev_plugins.utils.files import all_or_nothing_folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_removes_what_a_command_has_not_completed(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(args: Namespace) -> int:
        with all_or_nothing_folder(tmp_path / "out") as scratch:
            (scratch / "weights").write_bytes(b"1")
            os.kill(os.getpid(), number)
        return 0

    monkeypatch.setattr(info, "run", stopped)
    kept = {kind: signal.getsignal(kind) for kind in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises(SystemExit) as exit:
            main.main(["info", str(tmp_path)])
    finally:
        for kind, handler in kept.items():
            signal.signal(kind, handler)
    assert exit.value.code == 128 + number and not os.listdir(tmp_path)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main.main(["--version"])
    assert exit.value.code == 0 and capsys.readouterr().out == f"lev-plugins {__version__}\n"
