"""The tables of examples/NAME/RESULTS.md."""

import json
import re

import pytest

from tests.commands import ROOT, succeed

EXAMPLES = ROOT / "examples"
WITH_TABLES = sorted(path.parent.name for path in EXAMPLES.glob("*/results.json"))


def test_tables_are_those_of_the_json() -> None:
    succeed("python", EXAMPLES / "tables.py", "--check")


@pytest.mark.parametrize("example", WITH_TABLES)
def test_every_row_has_a_run(example: str) -> None:
    results = json.loads((EXAMPLES / example / "results.json").read_text("utf-8"))
    page, tables = (EXAMPLES / example / "RESULTS.md").read_text("utf-8"), results["tables"]
    assert re.findall(r"<!-- table: (.*) -->", page) == list(tables)
    assert {row[0] for table in tables.values() for row in table["rows"]} == results["runs"].keys()
    for run in results["runs"].values():
        assert len({"command", "paper"} & run.keys()) == 1
