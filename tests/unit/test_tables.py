"""Tables of examples/NAME/RESULTS.md."""

import json
import re

import pytest

from tests.commands import ROOT, succeed

EXAMPLE_FOLDERS = ROOT / "examples"
WITH_TABLES = sorted(path.parent.name for path in EXAMPLE_FOLDERS.glob("*/results.json"))


def test_result_tables_match_the_json() -> None:
    succeed("python", EXAMPLE_FOLDERS / "tables.py", "--check")


@pytest.mark.parametrize("example", WITH_TABLES)
def test_every_row_of_a_table_has_a_run(example: str) -> None:
    results = json.loads((EXAMPLE_FOLDERS / example / "results.json").read_text("utf-8"))
    page, tables = (EXAMPLE_FOLDERS / example / "RESULTS.md").read_text("utf-8"), results["tables"]
    assert re.findall(r"<!-- table: (.*) -->", page) == list(tables)
    assert {row[0] for table in tables.values() for row in table["rows"]} == results["runs"].keys()
    for run in results["runs"].values():
        assert len({"command", "paper"} & run.keys()) == 1
