"""A fixture that runs a command in this process, with bytes on its standard input."""

import io
import sys

import pytest

from lev_plugins.cli.main import main
from tests.helpers import Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Returns a function that runs a command, and returns its exit status and what it printed."""

    def of(*words: object, stdin: bytes = b"") -> tuple[int, bytes, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with io.TextIOWrapper(out := io.BytesIO(), write_through=True) as text:
            monkeypatch.setattr(sys, "stdout", text)
            status = main([*map(str, words)])
            printed = out.getvalue()
        return status, printed, capfdbinary.readouterr().err.decode()

    return of
