"""``lev-plugins prepare-labels``: binarised files, reports and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset

from lev_plugins.cli.main import main
from lev_plugins.labelling.dataset import BinarisedExamples
from lev_plugins.labelling.folder import LabellingInfo
from lev_plugins.labelling.text import Labels
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, write_lines

ROWS_OF_KIND = {
    "classification": ["a good film\tgood", "a bad film\tbad", "so good\tgood"],
    "regression": ["a b\t1.5", "c\t-2", "d e f\t0"],
    "multilabel": ["a b\tjoy,love", "c\t", "d e f\tjoy"],
    "tagging": ["the cat sleeps\tDET NOUN VERB", "it rains\tPRON VERB"],
}


def labels_command(folder: Path, kind: str, lines: list[str], *flags: object, name: str = "train.tsv") -> list[object]:
    train = write_lines(folder / name, lines)
    return ["prepare-labels", "--label-kind", kind, "--train", train, "--dest", folder / "data", *flags]


def make_labels(*arguments: Any, **options: str) -> int:
    return main([str(word) for word in labels_command(*arguments, **options)])


def arrays(folder: Path, part: str = "train") -> dict[str, list]:
    with np.load(folder / "data" / f"{part}.labels.npz", allow_pickle=False) as stored:
        return {name: stored[name].tolist() for name in stored.files}


def binarised_texts(folder: Path, part: str = "train") -> list[str]:
    dictionary = Dictionary.load(str(folder / "data" / "dict.txt"))
    rows = MMapIndexedDataset(str(folder / "data" / f"{part}.text"))
    return [" ".join(dictionary[i] for i in rows[k]) for k in range(len(rows))]


@pytest.mark.parametrize(
    ("kind", "values", "ends"),
    [
        ("classification", [1, 0, 1], [1, 2, 3]),
        ("regression", [1.5, -2.0, 0.0], [1, 2, 3]),
        ("multilabel", [0, 1, 0], [2, 2, 3]),
        ("tagging", [0, 1, 3, 2, 3], [3, 5]),
    ],
)
def test_every_kind_of_labels_is_stored(tmp_path: Path, kind: str, values: list, ends: list) -> None:
    assert make_labels(tmp_path, kind, ROWS_OF_KIND[kind]) == 0
    stored = arrays(tmp_path)
    assert (stored["values"], stored["ends"]) == (values, ends)
    assert binarised_texts(tmp_path)[0] == f"{ROWS_OF_KIND[kind][0].partition(chr(9))[0]} </s>"
    assert (tmp_path / "data" / "labels.txt").exists() == (kind != "regression")
    assert LabellingInfo.load(tmp_path / "data").kind == kind
    if kind == "multilabel":
        assert Labels.load(tmp_path / "data" / "labels.txt") == Labels(["joy", "love"], [2, 1])


def test_numbered_labels(tmp_path: Path, refusal: Refusal) -> None:
    names = write_lines(tmp_path / "labels.txt", ["sad", "happy", "calm"])
    flags = ["--labels", names, "--numbered-labels"]
    assert make_labels(tmp_path, "multilabel", ["a\t2,0", "b\t1"], *flags) == 0
    assert arrays(tmp_path)["values"] == [0, 2, 1]
    (tmp_path / "other").mkdir()
    message = refusal(*labels_command(tmp_path / "other", "multilabel", ["a\t2", "b\t3"], *flags))
    assert "line 2: label '3'" in message


def test_round_labels_makes_classes_of_numbers(tmp_path: Path) -> None:
    """The classes reach from the lowest to the highest number of all texts."""
    rows = ["a\t0.03", "b\t0.96", "c\t0.5", "d\t1"]
    valid = write_lines(tmp_path / "valid.tsv", ["e\t1.5"])
    assert make_labels(tmp_path, "classification", rows, "--round-labels", 0.25, "--valid", valid) == 0
    names, counts = ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50"], [1, 0, 1, 0, 2, 0, 0]
    assert Labels.load(tmp_path / "data" / "labels.txt") == Labels(names, counts)
    assert arrays(tmp_path)["values"] == [0, 4, 2, 4]
    assert LabellingInfo.load(tmp_path / "data").step == 0.25
    listed = ["--round-labels", 1, "--labels", write_lines(tmp_path / "labels.txt", ["0", "1", "2"])]
    assert make_labels(tmp_path, "classification", ["a\t0.9", "b\t-0.1"], *listed, "--dest", tmp_path / "listed") == 0
    assert Labels.load(tmp_path / "listed" / "labels.txt") == Labels(["0", "1", "2"], [1, 1, 0])


@pytest.mark.parametrize("size", [0, 3, 300])
def test_truncated_labels_are_refused(tmp_path: Path, size: int) -> None:
    assert make_labels(tmp_path, "classification", ROWS_OF_KIND["classification"]) == 0
    folder = tmp_path / "data"
    truncated = folder / "train.labels.npz"
    truncated.write_bytes(truncated.read_bytes()[:size])
    with pytest.raises(UserError, match="run lev-plugins prepare-labels again"):
        BinarisedExamples(folder, "train", Dictionary.load(str(folder / "dict.txt")))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [([], "a b </s> c </s>"), (["--template", "pair first: {0} second: {1}"], "pair first: a b second: c </s>")],
)
def test_text_pairs_are_joined(tmp_path: Path, flags: list[str], expected: str) -> None:
    assert make_labels(tmp_path, "classification", ["a b\tc\t0", "d\te\t1"], "--text-columns", 2, *flags) == 0
    assert binarised_texts(tmp_path)[0] == expected


def test_words_of_several_pieces_keep_one_tag(tmp_path: Path) -> None:
    assert make_labels(tmp_path, "tagging", ["ab c\tX Y", "b\tY"], "--bpe", "characters") == 0
    stored = arrays(tmp_path)
    assert binarised_texts(tmp_path)[0] == "a b ▁ c </s>"
    assert (stored["values"], stored["spans"]) == ([0, 1, 1], [2, 2, 1])


def test_conllu_ranges_and_empty_nodes_are_skipped(tmp_path: Path) -> None:
    lines = ["# text = don't go", *(conllu(n, w, t) for n, w, t in [("1-2", "don't", "_"), ("1", "do", "AUX")])]
    lines += [conllu("2", "n't", "PART"), conllu("2.1", "x", "X"), conllu("3", "go", "VERB"), ""]
    assert make_labels(tmp_path, "tagging", lines, name="train.conllu") == 0
    assert binarised_texts(tmp_path) == ["do n't go </s>"]
    assert arrays(tmp_path)["values"] == [0, 1, 2]


def conllu(number: str, word: str, tag: str) -> str:
    return "\t".join([number, word, "_", tag, *["_"] * 6])


def test_long_tagged_texts_are_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_labels(tmp_path, "tagging", ["a b c d e\tA B C D E"], "--longest", 3) == 0
    assert binarised_texts(tmp_path) == ["a b </s>", "c d </s>", "e </s>"]
    assert arrays(tmp_path)["ends"] == [2, 4, 5]
    assert "train: split from texts of more than 3 tokens: 2 examples" in capsys.readouterr().out


def test_long_texts_are_refused_or_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str], refusal: Refusal) -> None:
    rows = ["a b\tx", "a b c d\ty"]
    message = refusal(*labels_command(tmp_path, "classification", rows, "--longest", 4))
    assert f"{tmp_path}/train.tsv, line 2 has 5 tokens" in message and "--longest" in message
    assert not (tmp_path / "data").exists()
    assert make_labels(tmp_path, "classification", rows, "--longest", 4, "--longer", "cut") == 0
    assert binarised_texts(tmp_path)[1] == "a b c </s>"
    assert "train: cut off at 4 tokens (--longer cut): 1 text\n" in capsys.readouterr().out


ROUND = "--round-labels"
TAGGED = ["a b\tX Y"]
GOOD = ROWS_OF_KIND["classification"]


@pytest.mark.parametrize(
    ("kind", "rows", "flags", "rule"),
    [
        ("classification", ["a\tx", "b"], [], "line 2 has 1 column, but must have 2"),
        ("classification", ["a\tx", "b\t "], [], "line 2 has no label"),
        ("classification", ["a\tx", "b\tx"], [], "has only one label, 'x'"),
        ("regression", ["a\t1", "b\thigh"], [], "line 2: the label must be a number, but is 'high'"),
        ("multilabel", ["a\tx,,y"], [], "line 1 has an empty label in 'x,,y'"),
        ("tagging", [*TAGGED, "a b\tX"], [], "line 2 has 2 words, but 1 tag"),
        ("tagging", ["a\tX", "1\ta\t_\tX" + "\t_" * 6], [], "CoNLL-U"),
        ("tagging", ["# text = a"], [], "*.conllu"),
        ("tagging", ["\t"], [], "line 1 has no words to tag"),
        ("classification", [], [ROUND, 1], "has no labels"),
        ("regression", ["a\t1"], [ROUND, 1], "--round-labels requires --label-kind classification"),
        ("classification", ["a\t1"], [ROUND, 1e-320], "--round-labels must be "),
        ("classification", ["a\t0", "b\t1e99"], [ROUND, 0.1], "from 0.0 to 1000"),
        ("classification", ["a\t0", "b\t1000000"], [ROUND, 0.1], "10,000,001 classes"),
        ("classification", GOOD, ["--longest", 1], "--longest must be at least 2, but is 1"),
        ("classification", GOOD, ["--template", "{0} {1}"], "--template: template may have {0} to {0}, but has {1}"),
        ("classification", GOOD, ["--template", "{0:>9}"], "--template: template may have {0} to {0}, but has {0}"),
        ("classification", GOOD, ["--template", "{"], "--template: template is not valid"),
        ("classification", GOOD, ["--template", "{} {0}"], "--template: template must number all columns or none"),
        ("classification", GOOD, ["--numbered-labels"], "--numbered-labels requires --labels"),
        ("classification", GOOD, ["--label-separator", ";"], "--label-separator requires --label-kind multilabel"),
        ("classification", GOOD, ["--conllu-column", "xpos"], "--conllu-column requires --label-kind tagging"),
        ("classification", GOOD, ["--pretrained-tokenizer", "m/none"], "--pretrained-tokenizer m/none"),
        ("classification", GOOD, ["--labels", "none.txt"], "--labels: there is no file none.txt"),
    ],
)
def test_wrong_rows_and_flags_are_refused(
    tmp_path: Path, kind: str, rows: list[str], flags: list[object], rule: str, refusal: Refusal
) -> None:
    assert rule in refusal(*labels_command(tmp_path, kind, rows, *flags))
    assert not (tmp_path / "data").exists()


def test_unknown_labels_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    valid = write_lines(tmp_path / "valid.tsv", ["a\tgood", "b\tugly"])
    assert f"{valid}, line 2: 'ugly'" in refusal(*labels_command(tmp_path, "classification", GOOD, "--valid", valid))


@pytest.mark.parametrize(
    ("row", "rule"),
    [("1\ta\tA", "line 1 has 3 columns, but CoNLL-U has 10"), (conllu("1", "a", "_"), "'a' has no tag")],
)
def test_incomplete_conllu_rows_are_refused(tmp_path: Path, row: str, rule: str, refusal: Refusal) -> None:
    assert rule in refusal(*labels_command(tmp_path, "tagging", [row], name="train.conllu"))


def test_the_folder_has_the_learned_pieces(tmp_path: Path) -> None:
    rows = [f"the cat number {n} sleeps\t{n % 2}" for n in range(50)]
    assert make_labels(tmp_path, "classification", rows, "--learn-sentencepiece", 30) == 0
    info = LabellingInfo.load(tmp_path / "data")
    assert info.bpe["bpe"] == "sentencepiece"
    assert (tmp_path / "data" / info.bpe["sentencepiece_model"]).is_file()


def test_conllu_column_and_label_separator(tmp_path: Path) -> None:
    rows = ["\t".join([str(i), word, "_", "UPOS", tag, *"_____"]) for i, (word, tag) in enumerate(["aX", "bY"], 1)]
    assert make_labels(tmp_path, "tagging", [*rows, ""], "--conllu-column", "xpos", name="train.conllu") == 0
    assert Labels.load(tmp_path / "data" / "labels.txt").names == ["X", "Y"]
    flags = ["--label-separator", ";", "--dest", tmp_path / "sets"]
    assert make_labels(tmp_path, "multilabel", ["one\ta, b; c", "two\tc"], *flags) == 0
    assert sorted(Labels.load(tmp_path / "sets" / "labels.txt").names) == ["a, b", "c"]


def test_a_folder_with_the_name_of_a_bpe_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "characters").mkdir()
    monkeypatch.chdir(tmp_path)
    assert make_labels(tmp_path, "classification", ROWS_OF_KIND["classification"], "--bpe", "characters") == 0
    info = LabellingInfo.load(tmp_path / "data")
    assert info.bpe["bpe"] == "characters" and not info.files


def test_a_separator_with_the_name_of_a_file_stays_a_separator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "_", [])
    codes = write_lines(tmp_path / "codes", ["#version: 0.2", "a b"])
    flags = ["--bpe", "subword_nmt", "--bpe-codes", codes, "--bpe-separator", "_"]
    assert make_labels(tmp_path, "classification", ["abc\tx", "c\ty"], *flags) == 0
    info = LabellingInfo.load(tmp_path / "data")
    assert info.files == ["bpe_codes"] and info.tokeniser(tmp_path / "data").pieces("abc") == ["ab_", "c"]


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="prepare-labels"):
        LabellingInfo.load(tmp_path)
    for text in (
        "{",
        '{"kind": "classification", "columns": "1"}',
        '{"kind": "classification", "template": "{0:>9999999999}"}',
        '{"kind": "classification", "bpe": {"bpe": "gpt2", "gpt2_encoder_json": "http://example.org/x"}}',
        '{"kind": "classification", "bpe": {"bpe": "subword_nmt", "bpe_codes": "/etc/passwd"}}',
        '{"kind": "classification", "bpe": {"bpe": "subword_nmt", "bpe_codes": "../x"}, "files": ["bpe_codes"]}',
    ):
        (tmp_path / "info.json").write_text(text)
        with pytest.raises(ValueError, match=r"is damaged|must name a file of the folder|must have only letters"):
            LabellingInfo.load(tmp_path)
