"""Edits from the output of a model contain no special symbol."""

from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lev_plugins.editor.calibration import Evidence
from lev_plugins.editor.folder import Vocabulary
from lev_plugins.editor.levt_segments import LevTSegments
from lev_plugins.editor.segments import SegmentDecoder
from lev_plugins.editor.seq2seq_segments import Seq2SeqSegments
from lev_plugins.text.edited import apply
from lev_plugins.text.ids import BOS, EOS, PAD, UNK, Rows
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.mark_bits import KEEP, SPAN
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.segments import Segment, WordEdits
from lev_plugins.utils.errors import UserError

SPECIAL_IDS = [BOS, PAD, EOS, UNK]


@pytest.fixture()
def words(tmp_path: Path) -> Vocabulary:
    path = tmp_path / "dict.txt"
    path.write_text("the 9\ncat 5\nsat 3\n", encoding="utf-8")
    return Vocabulary(path)


@pytest.mark.parametrize("line", [b"the", b"the x", b"caf\xe9 3", b"odd \xc2\xb2", b"the 9 3\n9"])
def test_a_malformed_dictionary_line_is_refused(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "dict{}.txt"
    path.write_bytes(b"the 9\n" + line + b"\n")
    with pytest.raises(UserError, match=r"dict{}\.txt, line 2 "):
        Vocabulary(path)


def edit_segment(model: LevTSegments | Seq2SeqSegments, text: str) -> str:
    (edits,) = model.decode([Segment(text, offsets_of())])
    assert not any(
        mark in alternative.replacement for edit in edits for alternative in edit.alternatives for mark in "<>"
    )
    return apply(text, edits)


class Replaces(LevTSegments):
    """A levt that puts ``number`` in place of the first word, and the fourth word of the dictionary in that of others.

    Other words were likely, too.
    """

    __init__ = SegmentDecoder.__init__
    number: int

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Any]:
        (draft,) = drafts
        count = len(draft) - 2
        row = [self.number, *[4] * (count - 1)]
        offers = [[(row[0], -0.1), *((i, -0.2) for i in range(7))], *[[]] * count]
        zeros, origins = [0.0] * (count + 1), [1] * (count + 2)
        edits = WordEdits([-1] * count + [count + 1], origins[1:], zeros, zeros, origins, [0.0] * (count + 2), offers)
        return [SimpleNamespace(edits=lambda: ([*row, EOS], edits))]


@pytest.mark.parametrize("number", SPECIAL_IDS)
def test_a_levt_writes_no_special_symbol(number: int, words: Vocabulary) -> None:
    model = Replaces((words, words), (100, 100), 100)
    model.number = 4
    assert edit_segment(model, "cat") == "the"
    model.number = number
    assert edit_segment(model, "cat") == "cat"
    assert edit_segment(model, "cat sat") == "cat sat"  # the one place has both


class Proposes(LevTSegments):
    """A levt that keeps the words of a draft which are not in ``proposals``, and replaces the others."""

    __init__ = SegmentDecoder.__init__
    proposals: dict[str, str]

    def refine_segments(self, segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        return [self.refined(segment.pieces) for segment in segments]

    def refined(self, pieces: list[str]) -> tuple[list[int], WordEdits]:
        words = [self.proposals.get(piece, piece) for piece in pieces]
        deleted_at = [0, *(int(piece in self.proposals) for piece in pieces), 0]
        origin = [-1 if at else place for place, at in enumerate(deleted_at)][1:]
        inserted_at, log_probs = deleted_at[1:], [-0.5 * at for at in deleted_at[1:]]
        log_odds = [2.0 if at else -3.0 for at in deleted_at]
        edits = WordEdits(origin, inserted_at, log_probs, log_probs, deleted_at, log_odds, [[] for _ in origin])
        return [*(self.words.index(word) for word in words), EOS], edits


@pytest.mark.parametrize(
    ("text", "proposals", "result"),
    [
        ("Teh cat", {}, "The cat"),  # the model left it
        ("cat TEH", {"TEH": "sat"}, "cat THE"),  # the model replaced it by another word
        ("teh cat", {"cat": "sat"}, "the sat"),
        ("cta sat", {"cta": "sat"}, "sat sat"),  # one of several corrections
        ("cta sat", {}, "cat sat"),
        ("cat tHe", {}, "cat tHe"),
    ],
)
def test_a_levt_corrects_listed_misspellings(
    text: str, proposals: dict[str, str], result: str, words: Vocabulary
) -> None:
    model = Proposes((words, words), (100, 100), 100)
    model.proposals, model.lexicon = proposals, Lexicon.of_lines(["teh,the", "cta,cat,sat"])
    assert edit_segment(model, text) == result
    model.lexicon = None
    assert edit_segment(model, text) == apply_proposals(text, proposals)


def test_a_listed_correction_leaves_a_protected_word_and_the_edit_beside_it(words: Vocabulary) -> None:
    model = Proposes((words, words), (100, 100), 100)
    model.proposals, model.lexicon = {"cat": "sat"}, Lexicon.of_lines(["teh,the"])
    segment = Segment("cat teh", offsets_of(), requests=[0, 0, KEEP + SPAN])
    assert [apply(segment.text, edits) for edits in model.decode([segment])] == ["sat teh"]


def apply_proposals(text: str, proposals: dict[str, str]) -> str:
    return " ".join(proposals.get(word, word) for word in text.split())


def test_the_confidence_of_a_listed_correction_has_the_log_odds_of_the_model(words: Vocabulary) -> None:
    model = Proposes((words, words), (100, 100), 100)
    model.proposals, model.lexicon = {}, Lexicon.of_lines(["teh,the", "cta,cat,sat"])
    (edits,) = model.decode([Segment("teh cta", offsets_of())])
    features = [Evidence(*edit.evidence) for edit in edits]
    assert [(row.odds, row.choice, row.listed) for row in features] == [(-3.0, 0.0, 1.0), (-3.0, -log(2), 1.0)]
    model.keep_bias = 2.0  # which the refinement has subtracted for words that it deleted
    model.proposals = {"cta": "the"}
    (edits,) = model.decode([Segment("teh cta", offsets_of())])
    assert [Evidence(*edit.evidence).odds for edit in edits] == [-5.0, 2.0]


def test_a_draft_keeps_its_listed_misspellings(words: Vocabulary) -> None:
    model = Proposes((words, words), (100, 100), 100)
    model.proposals, model.lexicon = {}, Lexicon.of_lines(["teh,the"])
    assert model.decode([Segment("teh cat", offsets_of(), source=["the", "cat"])]) == [[]]


@pytest.mark.parametrize("number", SPECIAL_IDS)
def test_a_corrector_writes_no_special_symbol(number: int, words: Vocabulary) -> None:
    class Writes(Seq2SeqSegments):
        __init__ = SegmentDecoder.__init__

        def write(self, sources: Rows) -> Rows:
            return [[*source[:-1], number, EOS] for source in sources]

        def score(self, sources: Any, outputs: Any) -> list[float]:
            return [0.0 for _ in outputs]

    assert edit_segment(Writes((words, words), (100, 100), 100), "cat sat") == "cat sat"
