"""The share of terms used; the table of the command."""

from pathlib import Path

import pytest

from lev_plugins.cli.main import main
from tests.helpers import write_lines


def test_score_terms_prints_a_row_per_term(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "source", ["a hat and a hat", "a cap: new", "nothing"])
    output = write_lines(tmp_path / "output", ["ein Hut und Hüte", "eine Mütze", ""])
    glossary = write_lines(tmp_path / "terms.tsv", ["hat\tHut", "cap: new\tneue: Mütze", "sun\tSonne"])
    command = ["score", "terms", str(output), "--source", str(source), "--glossary", str(glossary)]
    assert main([*command, "--bootstrap", "100"]) == 0
    summary, *table = capsys.readouterr().out.splitlines()
    assert summary.startswith("system      terms used = 0.3333, 95 % between 0.0000 and ")
    assert [line.split() for line in table[1:]] == [
        ["hat", ">", "Hut", "2", "1"],
        ["cap:", "new", ">", "neue:", "Mütze", "1", "0"],
    ]
