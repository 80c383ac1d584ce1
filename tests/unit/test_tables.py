"""The tables of examples/NAME/RESULTS.md, and how a new run comes into them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.examples import EXAMPLES, load_script, run_script

WITH_TABLES = sorted(path.parent.name for path in EXAMPLES.glob("*/results.json"))


def test_tables_are_those_of_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("tables", "--check") == 0, capsys.readouterr().out


@pytest.mark.parametrize("example", WITH_TABLES)
def test_every_row_has_a_run(example: str) -> None:
    results = json.loads((EXAMPLES / example / "results.json").read_text("utf-8"))
    page, tables = (EXAMPLES / example / "RESULTS.md").read_text("utf-8"), results["tables"]
    assert re.findall(r"<!-- table: (.*) -->", page) == list(tables)
    assert {row[0] for table in tables.values() for row in table["rows"]} == results["runs"].keys()
    for run in results["runs"].values():
        assert len({"command", "paper"} & run.keys()) == 1


# ---- a run of one's own ----------------------------------------------------------------------------------------------

PAGE = "Before.\n\n  <!-- table: scores -->\n  <!-- end -->\n\nAfter.\n"
TABLE = {
    "head": ["", "BLEU", "the paper", "remark"],
    "best": {"BLEU": "highest"},
    "rows": [["old", "levt", "30.1 ± 0.2", "27.3", ""], ["old", "pbd", "31.0", "", "slow"]],
}
REPORT = {"command": "make", "seed": "2", "tables": [[["", "ms"]], [["", "BLEU", "ms"], ["levt", "31.5", "12"]]]}


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[dict[str, Any], str]]:
    """Adds to a toy's table what a report in OUT has; returns the JSON and the page."""
    script: ModuleType = load_script("tables")
    monkeypatch.setattr(script, "EXAMPLES", tmp_path)
    toy, out = tmp_path / "toy", tmp_path / "out"
    toy.mkdir()
    out.mkdir()
    (toy / "RESULTS.md").write_text(PAGE, "utf-8")
    (toy / "results.json").write_text(json.dumps({"runs": {"old": {"seed": "1"}}, "tables": {"scores": TABLE}}))

    def added(*words: str, **changed: object) -> tuple[dict[str, Any], str]:
        (out / "results.json").write_text(json.dumps(REPORT | changed), "utf-8")
        assert run_script(script, "toy", "--add", out, "scores", *words) == 0
        return json.loads((toy / "results.json").read_text("utf-8")), (toy / "RESULTS.md").read_text("utf-8")

    return added


def test_a_run_replaces_its_rows(put: Callable[..., tuple[dict[str, Any], str]]) -> None:
    results, page = put()
    assert results["runs"] == {"old": {"seed": "1"}, "out": {"command": "make", "seed": "2"}}
    assert page == PAGE.replace(
        "  <!-- end -->",
        "  | | BLEU | the paper | remark |\n  |---|---|---|---|\n  | levt | **31.5** | 27.3 | |\n"
        "  | pbd | 31.0 | | slow |\n  <!-- end -->",
    )
    # the same folder again: its other row keeps the run that made it; the run without rows goes
    results, page = put("pbd", "--title", "levt", "--cells", "remark=fast", seed="3")
    assert [row[0] for row in results["tables"]["scores"]["rows"]] == ["out", "out 2"]
    assert results["runs"].keys() == {"out", "out 2"} and "| pbd | **31.5** | | fast |" in page
    _, page = put("new", "--cells", "BLEU=32")
    assert "  | new | **32** | | |\n  <!-- end -->" in page and "| pbd | 31.5 |" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pbd", "--title", "levt"], "the report has no remark of pbd: give --cells COLUMN=TEXT"),
        (["levt", "--cells", "bleu=3"], "columns, each with a name of its own .* are , BLEU, the paper, remark"),
    ],
)
def test_nothing_of_an_older_run_stays(put: Callable[..., object], words: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        put(*words)


def test_a_report_without_these_rows_is_refused(put: Callable[..., object]) -> None:
    with pytest.raises(SystemExit, match="the report has no row of scores; it has other"):
        put(tables=[[["", "BLEU"], ["other", "1"], ["levt", "not yet run"]]])
