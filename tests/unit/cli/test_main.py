"""What every command does."""

import os
import signal
from argparse import Namespace
from pathlib import Path

import pytest

from lev_plugins import __version__
from lev_plugins.cli import info, main
from lev_plugins.utils.files import all_or_nothing_folder
from tests.commands import ROOT


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trace", ""], "'': No such file or directory"),
        (
            ["edit", str(ROOT / "models" / "en"), "--batch-lines", "9" * 20],
            "--batch-lines must be between 1 and",
        ),
    ],
)
def test_absurd_values_end_in_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(words) == 2
    assert message in capsys.readouterr().err
