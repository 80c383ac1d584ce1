"""Edits from the output of a model contain no special symbol."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lev_plugins.editor.folder import Vocabulary
from lev_plugins.editor.levt_segments import LevTSegments
from lev_plugins.editor.segments import SegmentDecoder
from lev_plugins.editor.seq2seq_segments import Seq2SeqSegments
from lev_plugins.text.edited import apply
from lev_plugins.text.ids import BOS, EOS, PAD, UNK, Rows
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.segments import Segment, WordEdits
from lev_plugins.utils.errors import UserError

SPECIAL_IDS = [BOS, PAD, EOS, UNK]


@pytest.fixture()
def words(tmp_path: Path) -> Vocabulary:
    path = tmp_path / "dict.txt"
    path.write_text("the 9\ncat 5\nsat 3\n", encoding="utf-8")
    return Vocabulary(path)


@pytest.mark.parametrize("line", [b"the", b"the x", b"caf\xe9 3", b"odd \xc2\xb2"])
def test_a_malformed_dictionary_line_is_refused(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_bytes(b"the 9\n" + line + b"\n")
    with pytest.raises(UserError, match=r"dict\.txt, line 2 "):
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


@pytest.mark.parametrize("number", SPECIAL_IDS)
def test_a_corrector_writes_no_special_symbol(number: int, words: Vocabulary) -> None:
    class Writes(Seq2SeqSegments):
        __init__ = SegmentDecoder.__init__

        def write(self, sources: Rows) -> Rows:
            return [[*source[:-1], number, EOS] for source in sources]

        def score(self, sources: Any, outputs: Any) -> list[float]:
            return [0.0 for _ in outputs]

    assert edit_segment(Writes((words, words), (100, 100), 100), "cat sat") == "cat sat"
