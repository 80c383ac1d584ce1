"""``lev-plugins trace``."""

import io
import re
import sys
from pathlib import Path

import pytest

from lev_plugins.cli.main import main
from lev_plugins.cli.trace import in_colour
from tests.helpers import Refusal
from tests.logs import LOG

REPOSITORY = Path(__file__).parents[3]
# an editor on sentence pieces; the README shows its trace
README_LOG = """\
S-84\tRetufn true if ohe objetc is a code object.
T-84\tReturn true if the object is a code object.
H-84\t-0.040742482990026474\t▁Return ▁true ▁if ▁the ▁object ▁is ▁a ▁code ▁object .
D-84\t-0.040742482990026474\tReturn true if the object is a code object.
P-84\t-0.1769 0.0000 0.0000 -0.1963 -0.1157 0.0000 0.0000 0.0000 0.0000 0.0000 0.0000
I-84\t0
E-84_0\t▁Retufn ▁true ▁if ▁ohe ▁objetc ▁is ▁a ▁code ▁object .
E-84_1\t▁true ▁if ▁is ▁a ▁code ▁object .
E-84_2\t<plh> ▁true ▁if <plh> <plh> ▁is ▁a ▁code ▁object .
E-84_3\t▁Return ▁true ▁if ▁the ▁object ▁is ▁a ▁code ▁object .
"""


def run_trace(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["trace", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "generate.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_the_trace_of_the_readme_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "decode.log").write_text(README_LOG, encoding="utf-8")
    trace = run_trace(capsys, tmp_path / "decode.log", "--select", 84, "--remove-bpe", "sentencepiece")
    blocks = re.findall(r"^```\w*\n(.*?)^```$", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    [shown] = [block for block in blocks if block.startswith("   source")]
    assert shown.splitlines() == [
        line for line in trace.splitlines() if re.match(r" *(source|delete|open|fill) ", line)
    ]


def numbers(printed: str) -> list[int]:
    return [int(number) for number in re.findall(r"^sentence (\d+)(?:$|, candidate 1)", printed, re.MULTILINE)]


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ([], [3, 11, 20]),  # in the order of the input
        (["--select", "20,3"], [3, 20]),
        (["--select", "20", "--select", " 11"], [11, 20]),
    ],
)
def test_select_by_number(log: Path, capsys: pytest.CaptureFixture[str], flags: list[object], shown: list[int]) -> None:
    assert numbers(run_trace(capsys, log, *flags)) == shown


def test_incomplete_sentences_are_skipped_and_counted(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(LOG.replace("E-11_4\thouse\n", ""), encoding="utf-8")
    assert main(["trace", str(log)]) == 0
    out, err = capsys.readouterr()
    assert numbers(out) == [3, 20]
    assert err.startswith(f"lev-plugins: {log}: 1 of 3 sentences")
    assert main(["trace", str(log), "--select", "11"]) == 0
    assert capsys.readouterr() == ("", err)


def test_bytes_that_are_not_utf8_are_escaped(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(LOG.encode().replace(b"house", b"h\xf6use"))
    assert "h\\xf6use" in run_trace(capsys, log) and numbers(run_trace(capsys, log)) == [3, 11, 20]


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refusal: Refusal) -> None:
    for arguments in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
        assert numbers(run_trace(capsys, *arguments)) == [3, 11, 20]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert "standard input has no E- lines" in refusal("trace")


@pytest.mark.parametrize(
    ("content", "flags", "message"),
    [
        (b"", [], "{log} has no E- lines with the history of the iterations"),
        (b"\x80\x00\xff\n\n" * 9, [], "{log} has no E- lines"),
        (b"S-0\tw1\nW-0\t0.1\tseconds\n", [], "fairseq-interactive"),
        (b"S-0\tw1\nH-0\t-0.1\tv1\nE-0_0\t\n", [], "{log} has no sentence with a complete history"),
        (LOG.encode(), ["--select", "3,4"], "--select 4: {log} has no such sentence"),
        (LOG.encode(), ["--select", "3,S-4"], "'S-4' is not a number"),
        (LOG.encode(), ["--select", ""], "'' is not a number"),
    ],
)
def test_wrong_logs_and_selections_are_refused(
    log: Path, refusal: Refusal, content: bytes, flags: list[object], message: str
) -> None:
    log.write_bytes(content)
    assert message.format(log=log) in refusal("trace", log, *(str(flag).format(log=log) for flag in flags))
    assert log.read_bytes() == content


@pytest.mark.parametrize(
    ("when", "terminal", "environment", "coloured"),
    [
        (None, True, {}, True),
        ("auto", True, {}, True),
        (None, False, {}, False),
        (None, True, {"NO_COLOR": "1"}, False),
        (None, True, {"NO_COLOR": ""}, True),
        (None, True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_when_colour_is_used(
    when: str | None, terminal: bool, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert in_colour(when) == coloured


def test_letters_outside_the_encoding_are_escaped(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_text(LOG.replace("Haus", "家"), encoding="utf-8")
    stdout = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout, encoding="ascii"))
    assert main(["trace", str(log), "--select", "11"]) == 0
    assert b"   source  ein \\u5bb6\n" in stdout.getvalue()
