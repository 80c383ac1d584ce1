"""Editors with a glossary: the terms that a draft has stay, and those that it lacks are reported."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.cli.main import main
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions, EditRequest
from lev_plugins.text.glossary import Glossary, as_dict, find_terms
from lev_plugins.utils.errors import UserError
from tests.helpers import thorough, write_lines
from tests.systems import SYSTEMS, System

TERMS = {"w1": "v5", "w2 w3": "Zürich", "w2": "v6 v7", "w9": "iPhone 17 Pro", "Kopf": "C++", "w4": "v5"}
WORDS = [*(f"v{n}" for n in range(1, 10)), "Zürich", "iPhone", "17", "C++", "v6 v7", ".", "(so)", "unbekannt"]
source_words = st.lists(
    st.sampled_from([*(f"w{n}" for n in range(1, 10)), "W1", "kopf", "Kopf", ".", "w2 w3"]), min_size=1, max_size=6
)
draft_words = st.lists(st.sampled_from(WORDS), max_size=7)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    """A levt with random weights, which deletes, inserts and replaces much."""
    return replace(SYSTEMS["levt"](tmp_path_factory.mktemp("levt")), decoding={})


@pytest.fixture(scope="module")
def folder(system: System) -> Path:
    return system.export(system.checkpoint.parent / "folder")


@pytest.fixture(scope="module")
def editor(folder: Path) -> Editor:
    return Editor.load(folder, EditOptions(glossary=TERMS))


@pytest.fixture(scope="module")
def timid(folder: Path) -> Editor:
    """Changes nothing by itself."""
    return Editor.load(folder, EditOptions(glossary=TERMS, keep_bias=1000))


# ---- the property ----------------------------------------------------------------------------------------------------


@thorough
@given(source=source_words, draft=draft_words, blank=st.sampled_from([" ", "  ", "\t"]))
def test_the_terms_that_a_draft_has_stay(editor: Editor, source: list[str], draft: list[str], blank: str) -> None:
    (edited,) = editor.edit([" ".join(source)], [blank.join(draft)])
    lacking = find_terms(edited.terms, edited.original)[1]
    assert all(term in lacking for term in find_terms(edited.terms, edited.text)[1])
    used = {(term.source, term.target) for term in edited.terms if term not in lacking}
    reported = as_dict(edited).get("terms", [])
    assert len(reported) == len(edited.terms)
    assert used <= {(term["source"], term["target"]) for term in reported if term["used"]}


@thorough
@given(source=source_words, draft=draft_words.filter(bool), protected=st.integers(0, 6))
def test_nothing_is_changed_for_a_term(timid: Editor, source: list[str], draft: list[str], protected: int) -> None:
    marked = [f"⟦!{word}⟧" if i == protected else word for i, word in enumerate(draft)]
    (edited,) = timid.edit([" ".join(source)], [" ".join(marked)])
    assert edited.text == edited.original == " ".join(draft) and edited.edits == ()


def test_a_draft_with_all_terms_is_left_alone(timid: Editor) -> None:
    (edited,) = timid.edit(["w1 w2 w3"], ["v1 v5  Zürich v2"])
    assert edited.text == edited.original == "v1 v5  Zürich v2" and edited.edits == ()
    assert as_dict(edited)["terms"] == [
        {"source": "w1", "target": "v5", "used": True},
        {"source": "w2 w3", "target": "Zürich", "used": True},
    ]


def test_a_term_that_the_draft_lacks_is_reported_and_the_edit_goes_on(editor: Editor) -> None:
    requests = [EditRequest("w1 w8", "v1 v2 v3", glossary=glossary) for glossary in (None, {})]
    edited, plain = editor.edit(requests)
    assert edited.text == plain.text and edited.edits == plain.edits != ()
    assert as_dict(edited)["terms"] == [{"source": "w1", "target": "v5", "used": "v5" in edited.text.split()}]


# ---- what users ask --------------------------------------------------------------------------------------------------


def edited(editor: Editor, source: str, draft: str | None) -> str:
    return editor.edit([source], [draft])[0].text


def test_without_drafts_a_term_is_replaced(timid: Editor) -> None:
    assert edited(timid, "w1  w9, w2 w3", None) == "v5  iPhone 17 Pro, Zürich"
    assert edited(timid, "w1.txt and http://w1.com/w1", None) == "w1.txt and http://w1.com/w1"
    request = EditRequest("Web site and web site", glossary={"web site": "website"})
    assert timid.edit([request])[0].text == "Website and website"
    ((result),) = timid.edit(["a w1 b"])
    assert [(edit.start, edit.end, edit.confidence) for edit in result.edits] == [(2, 4, 1.0)]
    assert result.original == "a w1 b" and result.sentences == ((0, 6),)


@pytest.mark.parametrize("name", ["pbd", "gated_trans"])
def test_a_corrector_replaces_terms_as_well(name: str, tmp_path: Path) -> None:
    folder = SYSTEMS[name](tmp_path).export(tmp_path / "out")
    editor = Editor.load(folder, EditOptions(beam=2, glossary=Glossary({"abc": "Xyz-1"}), min_confidence=0.9))
    assert "Xyz-1" in edited(editor, "a abc b", None)


def test_soft_terms_may_be_changed(folder: Path) -> None:
    options = EditOptions(keep_bias=-900, glossary={"w1": "v5"})  # deletes all that it may
    soft, hard = (Editor.load(folder, replace(options, soft_glossary=soft)) for soft in (True, False))
    for editor in (soft, hard):
        editor.model.refiner.options = replace(editor.model.refiner.options, soft_protection=0.0)
    (lost,), (used,) = (editor.edit(["w1 w2"], ["v1 v5 v2"]) for editor in (soft, hard))
    assert "v5" not in lost.text and as_dict(lost)["terms"] == [{"source": "w1", "target": "v5", "used": False}]
    assert "v5" in used.text and as_dict(used)["terms"] == [{"source": "w1", "target": "v5", "used": True}]


def test_a_glossary_of_each_text_and_a_dial(timid: Editor) -> None:
    requests = [
        EditRequest("w1", glossary=glossary, min_confidence=1.0) for glossary in (Glossary({"w1": "a b"}), None)
    ]
    assert [result.text for result in timid.edit(requests)] == ["a b", "v5"]  # None: that of the options


def test_marks_of_the_draft_stay(timid: Editor) -> None:
    words = edited(timid, "w1", "⟦!v1⟧ v5 ⟦-v3⟧").split()
    assert "v1" in words and "v5" in words and "v3" not in words
    for draft, message in (("⟦!v1", "the mark at character 1 of the"), ("v1 " * 2000, "a draft has 2,000 tokens")):
        with pytest.raises(UserError, match=f"line 2: {message}"):
            timid.edit(["w1", "w1"], ["v1", draft])


def test_the_command(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    write_lines(tmp_path / "terms.tsv", ["w1\tZürich"])
    write_lines(tmp_path / "drafts", ["v1 Zürich", "v3"])
    source = write_lines(tmp_path / "sources", ["w1 w2", "w3"])
    flags = ["--drafts", tmp_path / "drafts", "--glossary", tmp_path / "terms.tsv", "--json"]
    with source.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["edit", *map(str, [folder, *flags])]) == 0
    first, second = (json.loads(line) for line in capsysbinary.readouterr().out.splitlines())
    assert "Zürich" in first["text"] and first["terms"] == [{"source": "w1", "target": "Zürich", "used": True}]
    assert "terms" not in second


def test_refusals(folder: Path, refusal: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.tsv"):
        Editor.load(folder, EditOptions(glossary="none.tsv"))
    assert "--soft-glossary requires --glossary" in refusal("edit", folder, "--soft-glossary")
