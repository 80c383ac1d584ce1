"""Input that is unusual but right is used whole, and quickly; flags without effect are refused."""

import os
import time
from argparse import Namespace
from pathlib import Path

import pytest
import sentencepiece

from lev_plugins import ranges
from lev_plugins.cli.serve import require_effect
from lev_plugins.data.drafts.marks import escape, parse_marks
from lev_plugins.data.tokenise import learn_sentencepiece
from lev_plugins.errors import UserError
from lev_plugins.files import all_or_nothing, all_or_nothing_folder
from lev_plugins.model_folder import Decoding


def test_pieces_are_also_learned_from_long_lines(tmp_path: Path) -> None:
    """By itself, sentencepiece leaves out lines of more than 4,192 bytes."""
    text, model = tmp_path / "text", tmp_path / "pieces.model"
    text.write_text("in short\n" * 9 + "zyx wvu " * 1000 + "\n", encoding="utf-8")
    learn_sentencepiece([text], model, 20, "bpe", 1.0)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    assert pieces.unk_id() not in pieces.encode("zyx wvu in short")


def test_backslashes_of_a_marked_draft_take_no_more_time_than_letters() -> None:
    slashes = "⟦!a⟧ " + "\\" * 100_000 + " cat"
    start = time.process_time()
    text, marks = parse_marks(slashes)
    assert text == "a " + "\\" * 100_000 + " cat" and len(marks) == 1
    assert parse_marks(escape(slashes)) == (slashes, [])
    assert time.process_time() - start < 5  # squared, it is over a minute


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with all_or_nothing_folder(tmp_path / "link") as folder:
        (folder / "file").write_text("a")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "file").read_text() == "a"
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_a_file_may_be_read_by_whom_the_user_lets_read_files_and_a_link_stays_one(tmp_path: Path) -> None:
    os.symlink(tmp_path / "real", tmp_path / "link")
    old_mask = os.umask(0o027)
    try:
        with all_or_nothing(tmp_path / "link") as file:
            file.write(b"new")
    finally:
        os.umask(old_mask)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    (tmp_path / "real").chmod(0o600)
    with all_or_nothing(tmp_path / "link") as file:
        file.write(b"newer")
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize(("threshold", "nwords"), [(-1, -1), (0, 0), (0, 4), (0, -7)])
def test_dictionaries_that_would_be_empty_or_whole(threshold: int, nwords: int) -> None:
    wrong = r"--nwords must be -1 \(no limit\) or more than 4" if threshold == 0 else "--threshold must be at least 0"
    with pytest.raises(UserError, match=wrong):
        ranges.dictionary_size(Namespace(threshold=threshold, nwords=nwords), "threshold", "nwords")


def test_a_server_refuses_flags_that_no_model_of_it_reads() -> None:
    beam = Decoding(beam=3)
    require_effect(beam, {"text_editing", "text_correction"})
    require_effect(beam, set())
    with pytest.raises(UserError, match="--beam has no effect on models of --task text_editing: leave it out"):
        require_effect(beam, {"text_editing"})
