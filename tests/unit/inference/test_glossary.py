"""Editors with a glossary: all terms are in the output, and nothing else is changed for them."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.cli.main import main
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.options import EditOptions
from lev_plugins.text.glossary import Glossary, as_dict, find_terms
from tests import teachers
from tests.commands import ROOT
from tests.helpers import thorough

GOLDEN = ROOT / "tests" / "golden" / "0.1"
DATA = GOLDEN / "levt" / "data"
TERMS = {"w1": "v5", "w2 w3": "Zürich", "w2": "v6 v7", "w9": "iPhone 17 Pro", "Kopf": "C++", "w4": "v5"}
WORDS = [*(f"v{n}" for n in range(1, 10)), "Zürich", "iPhone", "17", "C++", "v6 v7", ".", "(so)", "unbekannt"]
source_words = st.lists(
    st.sampled_from([*(f"w{n}" for n in range(1, 10)), "W1", "kopf", "Kopf", ".", "w2 w3"]), min_size=1, max_size=6
)
draft_words = st.lists(st.sampled_from(WORDS), max_size=7)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A levt with random weights, which deletes, inserts and replaces much."""
    flags = ["-s", "src", "-t", "tgt", "--draft-lang", "mt", "--max-insertions", 4]
    return teachers.write_teacher(
        tmp_path_factory.mktemp("levt") / "checkpoint.pt", DATA, *teachers.LEVT, *flags, seed=3
    )


def load(kind: str, checkpoint: Path, **options: Any) -> Editor:
    if kind == "torch":
        return Editor.load(checkpoint, DATA, EditOptions(**options))
    folder = checkpoint.parent / "folder"
    if not folder.exists():
        assert main(["export", str(checkpoint), str(folder), "--data", str(DATA)]) == 0
    return Editor.load(folder, options=EditOptions(**options))


@pytest.fixture(scope="module", params=["torch", "graphs"])
def editor(request: pytest.FixtureRequest, checkpoint: Path) -> Editor:
    return load(request.param, checkpoint, glossary=Glossary(TERMS))


@pytest.fixture(scope="module", params=["torch", "graphs"])
def timid(request: pytest.FixtureRequest, checkpoint: Path) -> Editor:
    """Changes nothing by itself."""
    return load(request.param, checkpoint, glossary=Glossary(TERMS), keep_bias=1000)


# ---- the property ----------------------------------------------------------------------------------------------------


@thorough
@given(source=source_words, draft=draft_words, blank=st.sampled_from([" ", "  ", "\t"]))
def test_all_terms_are_in_the_output(editor: Editor, source: list[str], draft: list[str], blank: str) -> None:
    (edited,) = editor.edit([" ".join(source)], [blank.join(draft)])
    assert find_terms(edited.terms, edited.text)[1] == []
    assert all(term["used"] for term in as_dict(edited).get("terms", []))
    counts = Counter(term.target for term in edited.terms)
    assert all(edited.text.count(target) >= count for target, count in counts.items())


@thorough
@given(source=source_words, draft=draft_words.filter(bool), protected=st.integers(0, 6))
def test_no_other_word_is_moved_for_a_term(timid: Editor, source: list[str], draft: list[str], protected: int) -> None:
    marked = [f"⟦!{word}⟧" if i == protected else word for i, word in enumerate(draft)]
    (edited,) = timid.edit([" ".join(source)], [" ".join(marked)])
    assert edited.original == " ".join(draft)
    targets = set(TERMS.values())
    for edit in edited.edits:  # terms, each in place of nothing or of one to three words, and nothing else
        removed = edited.original[edit.start : edit.end]
        assert edit.replacement.strip() in targets and edit.confidence == 1.0
        assert len(removed.split()) <= 3 and (removed == removed.strip())
    if protected < len(draft):
        assert draft[protected] in edited.text
    assert find_terms(edited.terms, edited.text)[1] == []
    assert not find_terms(edited.terms, edited.original)[1] or edited.edits


def test_a_draft_with_all_terms_is_left_alone(timid: Editor) -> None:
    (edited,) = timid.edit(["w1 w2 w3"], ["v1 v5  Zürich v2"])
    assert edited.text == edited.original == "v1 v5  Zürich v2" and edited.edits == ()
    assert as_dict(edited)["terms"] == [
        {"source": "w1", "target": "v5", "used": True},
        {"source": "w2 w3", "target": "Zürich", "used": True},
    ]
