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
from lev_plugins.text.edited import Span
from lev_plugins.text.glossary import Glossary, as_dict, find_terms
from lev_plugins.utils.errors import UserError
from tests.helpers import thorough, write_lines
from tests.systems import SYSTEMS, System

TERMS = {"w1": "v5", "w2 w3": "Zürich", "w2": "v6 v7", "w9": "iPhone 17 Pro", "Kopf": "C++", "w4": "v5"}
DRAFT_WORDS = [*(f"v{n}" for n in range(1, 10)), "Zürich", "iPhone", "17", "C++", "v6 v7", ".", "(so)", "unbekannt"]
source_words = st.lists(
    st.sampled_from([*(f"w{n}" for n in range(1, 10)), "W1", "kopf", "Kopf", ".", "w2 w3"]), min_size=1, max_size=6
)
draft_words = st.lists(st.sampled_from(DRAFT_WORDS), max_size=7)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Returns a levt with random weights, which makes many edits."""
    return replace(SYSTEMS["levt"](tmp_path_factory.mktemp("levt")), decoding={})


@pytest.fixture(scope="module")
def levt_folder(system: System) -> Path:
    return system.export(system.checkpoint.parent / "folder")


@pytest.fixture(scope="module")
def editor(levt_folder: Path) -> Editor:
    return Editor.load(levt_folder, EditOptions(glossary=TERMS))


@pytest.fixture(scope="module")
def reluctant(levt_folder: Path) -> Editor:
    """Returns an editor whose keep bias prevents all edits of its own."""
    return Editor.load(levt_folder, EditOptions(glossary=TERMS, keep_bias=1000))


# ---- the property ----------------------------------------------------------------------------------------------------


@thorough
@given(source=source_words, draft=draft_words, blank=st.sampled_from([" ", "  ", "\t"]))
def test_terms_in_a_draft_stay(editor: Editor, source: list[str], draft: list[str], blank: str) -> None:
    (edit_text,) = editor.edit([" ".join(source)], [blank.join(draft)])
    lacking = find_terms(edit_text.terms, edit_text.original)[1]
    assert all(term in lacking for term in find_terms(edit_text.terms, edit_text.text)[1])
    used = {(term.source, term.target) for term in edit_text.terms if term not in lacking}
    reported = as_dict(edit_text).get("terms", [])
    assert len(reported) == len(edit_text.terms)
    assert used <= {(term["source"], term["target"]) for term in reported if term["used"]}


@thorough
@given(source=source_words, draft=draft_words.filter(bool), protected=st.integers(0, 6))
def test_a_missing_term_changes_nothing(reluctant: Editor, source: list[str], draft: list[str], protected: int) -> None:
    marked = [f"⟦!{word}⟧" if i == protected else word for i, word in enumerate(draft)]
    (edit_text,) = reluctant.edit([" ".join(source)], [" ".join(marked)])
    assert edit_text.text == edit_text.original == " ".join(draft) and edit_text.edits == ()


def test_a_draft_with_all_terms_is_left_alone(reluctant: Editor) -> None:
    (edit_text,) = reluctant.edit(["w1 w2 w3"], ["v1 v5  Zürich v2"])
    assert edit_text.text == edit_text.original == "v1 v5  Zürich v2" and edit_text.edits == ()
    assert as_dict(edit_text)["terms"] == [
        {"source": "w1", "target": "v5", "used": True},
        {"source": "w2 w3", "target": "Zürich", "used": True},
    ]


def test_a_missing_term_is_reported_and_the_draft_is_edited(editor: Editor) -> None:
    requests = [EditRequest("w1 w8", "v1 v2 v3", glossary=glossary) for glossary in (None, {})]
    edit_text, plain = editor.edit(requests)
    assert edit_text.text == plain.text and edit_text.edits == plain.edits != ()
    assert as_dict(edit_text)["terms"] == [{"source": "w1", "target": "v5", "used": "v5" in edit_text.text.split()}]


# ---- use -------------------------------------------------------------------------------------------------------------


def edit_text(editor: Editor, source: str, draft: str | None) -> str:
    return editor.edit([source], [draft])[0].text


def test_terms_are_replaced_in_a_text_without_draft(reluctant: Editor) -> None:
    assert edit_text(reluctant, "w1  w9, w2 w3", None) == "v5  iPhone 17 Pro, Zürich"
    assert edit_text(reluctant, "w1.txt and http://w1.com/w1", None) == "w1.txt and http://w1.com/w1"
    request = EditRequest("Web site and web site", glossary={"web site": "website"})
    assert reluctant.edit([request])[0].text == "Website and website"
    ((result),) = reluctant.edit(["a w1 b"])
    assert [(edit.start, edit.end, edit.confidence) for edit in result.edits] == [(2, 4, 1.0)]
    assert result.original == "a w1 b" and result.sentences == ((0, 6),)


@pytest.mark.parametrize("name", ["pbd", "gated_trans"])
def test_a_corrector_replaces_terms_as_well(name: str, tmp_path: Path) -> None:
    levt_folder = SYSTEMS[name](tmp_path).export(tmp_path / "out")
    editor = Editor.load(levt_folder, EditOptions(beam=2, glossary=Glossary({"abc": "Xyz-1"}), min_confidence=0.9))
    assert "Xyz-1" in edit_text(editor, "a abc b", None)


def test_soft_terms_may_be_changed(levt_folder: Path) -> None:
    options = EditOptions(keep_bias=-900, glossary={"w1": "v5"})  # deletes all that it may
    soft, hard = (Editor.load(levt_folder, replace(options, soft_glossary=soft)) for soft in (True, False))
    for editor in (soft, hard):
        editor.model.refiner.options = replace(editor.model.refiner.options, soft_protection=0.0)
    (lost,), (used,) = (editor.edit(["w1 w2"], ["v1 v5 v2"]) for editor in (soft, hard))
    assert "v5" not in lost.text and as_dict(lost)["terms"] == [{"source": "w1", "target": "v5", "used": False}]
    assert "v5" in used.text and as_dict(used)["terms"] == [{"source": "w1", "target": "v5", "used": True}]


def test_a_request_overrides_the_glossary_of_the_options(reluctant: Editor) -> None:
    requests = [
        EditRequest("w1", glossary=glossary, min_confidence=1.0) for glossary in (Glossary({"w1": "a b"}), None)
    ]
    assert [result.text for result in reluctant.edit(requests)] == ["a b", "v5"]  # None: that of the options


def test_spans_of_a_request_are_those_of_its_text_before_terms_replace_words(
    levt_folder: Path, reluctant: Editor
) -> None:
    glossary, last = {"w1": "much longer"}, Span(6, 8)
    eager = Editor.load(levt_folder, EditOptions(keep_bias=-900))  # deletes all that it may
    (edited,) = eager.edit([EditRequest("w1 w2 w8", protected=[last], glossary=glossary)])
    assert edited.original[slice(*edited.protected[-1])] == "w8" in edited.text.split()
    (edited,) = reluctant.edit([EditRequest("w1 w1", protected=[Span(0, 2)], glossary=glossary)])
    assert edited.text == "w1 much longer"
    (edited,) = reluctant.edit([EditRequest("w1 w1. Is w8. w2.", places=[Span(10, 12)], glossary=glossary)])
    assert edited.sentences == ((7, 13),)


def test_an_iterator_of_words_holds_beside_a_glossary(levt_folder: Path, reluctant: Editor) -> None:
    eager = Editor.load(levt_folder, EditOptions(keep_bias=-900))  # deletes all that it may
    (edited,) = eager.edit([EditRequest("w1 w2 w8", words=iter(["w8"]), glossary={"w1": "v5"})])
    assert "w8" in edited.text.split()
    with pytest.raises(UserError, match=r"words .*'ab'"):
        reluctant.edit([EditRequest("w1", "v5", words="ab", glossary={"w1": "v5"})])


def test_marks_of_the_draft_hold_beside_a_glossary(reluctant: Editor) -> None:
    words = edit_text(reluctant, "w1", "⟦!v1⟧ v5 ⟦-v3⟧").split()
    assert "v1" in words and "v5" in words and "v3" not in words
    for draft, message in (("⟦!v1", "the mark at character 1 of the"), ("v1 " * 2000, "a draft has 2,000 tokens")):
        with pytest.raises(UserError, match=f"line 2: {message}"):
            reluctant.edit(["w1", "w1"], ["v1", draft])


def test_edit_reads_a_glossary_file(
    levt_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any
) -> None:
    write_lines(tmp_path / "terms.tsv", ["w1\tZürich"])
    write_lines(tmp_path / "drafts", ["v1 Zürich", "v3"])
    source = write_lines(tmp_path / "sources", ["w1 w2", "w3"])
    flags = ["--drafts", tmp_path / "drafts", "--glossary", tmp_path / "terms.tsv", "--json"]
    with source.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["edit", *map(str, [levt_folder, *flags])]) == 0
    line, last = (json.loads(line) for line in capsysbinary.readouterr().out.splitlines())
    assert "Zürich" in line["text"] and line["terms"] == [{"source": "w1", "target": "Zürich", "used": True}]
    assert "terms" not in last


def test_unusable_glossary_flags_are_refused(levt_folder: Path, refusal: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.tsv"):
        Editor.load(levt_folder, EditOptions(glossary="none.tsv"))
    assert "--soft-glossary requires --glossary" in refusal("edit", levt_folder, "--soft-glossary")
