"""``lev-plugins prepare``: binarised files, reports and refusals."""

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from fairseq.data import Dictionary, data_utils

from lev_plugins.cli import prepare
from lev_plugins.cli.main import main
from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.text.lexicon import LEXICON, Lexicon
from lev_plugins.text.lines import read_lines
from lev_plugins.training.tokenise import learn_sentencepiece
from lev_plugins.utils import files
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, toy_task

GERMAN_WORDS = ["ein", "kleiner", "hund", "läuft", "über", "die", "grüne", "wiese", "und", "schaut", "漢字", "نص"]
SIDES = ("en", "mt", "de")


def write_corpus(folder: Path, part: str, lines: int, seed: int = 1, sides: tuple[str, ...] = SIDES) -> None:
    draw = random.Random(f"{seed} {part}")
    folder.mkdir(exist_ok=True)
    corpus = [draw.choices(GERMAN_WORDS, k=draw.randint(2, 6)) for _ in range(lines)]
    versions = {"en": corpus, "mt": [words[1:] for words in corpus], "de": [words[::-1] for words in corpus]}
    for side in sides:
        (folder / f"{part}.{side}").write_text("".join(f"{' '.join(words)}\n" for words in versions[side]), "utf-8")


@pytest.fixture()
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    for part, lines in (("train", 40), ("more", 25), ("valid", 4), ("test", 3)):
        write_corpus(folder, part, lines)
    return folder


def prepare_command(corpus: Path, *flags: object, train: bool = True, drafts: bool = True) -> list[object]:
    words: list[object] = ["prepare", "-s", "en", "-t", "de", "--dest", corpus.parent / "data"]
    words += ["-d", "mt"] if drafts else []
    words += ["--train-prefix", corpus / "train"] if train else []
    return [*words, *flags]


def prepare_corpus(*arguments: Any, **options: bool) -> int:
    return main([str(word) for word in prepare_command(*arguments, **options)])


def files_written(corpus: Path) -> list[str]:
    folder = corpus.parent / "data"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def lines_of(corpus: Path, part: str, side: str) -> list[str]:
    """Returns the lines of a binarised file as tokens."""
    folder = corpus.parent / "data"
    dictionary = Dictionary.load(str(folder / f"dict.{'en' if side == 'en' else 'de'}.txt"))
    pair = "mt-de" if side == "mt" else "en-de"
    rows = data_utils.load_indexed_dataset(f"{folder}/{part}.{pair}.{side}", dictionary)
    return [dictionary.string(rows[i]) for i in range(len(rows))]


def table(out: str) -> dict[tuple[str, str], list[str]]:
    """Returns the reported lines, tokens, unknown, empty and longest of each part and side."""
    rows = [line.split(maxsplit=6) for line in out.split("\n\n")[0].splitlines()[2:]]
    return {(row[0], row[1]): row[2:] for row in rows}


# ---- files ----------------------------------------------------------------------------------------------------


def test_triples_are_written_as_two_pairs(corpus: Path) -> None:
    splits = ["--valid-prefix", corpus / "valid", corpus / "more", "--test-prefix", corpus / "test"]
    assert prepare_corpus(corpus, *splits, "--extra-train-prefix", corpus / "more") == 0
    parts = {"train": "train", "train1": "more", "valid": "valid", "valid1": "more", "test": "test"}
    pairs = ("en-de.en", "en-de.de", "mt-de.mt")
    files = [f"{part}.{pair}.{end}" for part in parts for pair in pairs for end in ("bin", "idx")]
    assert files_written(corpus) == sorted([*files, "dict.en.txt", "dict.de.txt"])
    for part, name in parts.items():
        for side in SIDES:
            assert lines_of(corpus, part, side) == list(read_lines(corpus / f"{name}.{side}"))
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["data", "text"]


def test_the_target_dictionary_has_words_of_drafts(corpus: Path) -> None:
    path = corpus / "train.mt"
    path.write_text(path.read_text("utf-8").replace("hund", "hnud"), "utf-8")
    assert prepare_corpus(corpus) == 0
    dictionaries = {side: Dictionary.load(str(corpus.parent / "data" / f"dict.{side}.txt")) for side in ("en", "de")}
    assert "hnud" in dictionaries["de"] and "hnud" not in dictionaries["en"]
    assert lines_of(corpus, "train", "mt") == list(read_lines(path))


def test_dictionaries_replace_training_text(corpus: Path, capsys: pytest.CaptureFixture) -> None:
    (corpus.parent / "given.txt").write_text("hund 7\n")
    dictionaries = ["--srcdict", corpus.parent / "given.txt", "--tgtdict", corpus.parent / "given.txt"]
    assert prepare_corpus(corpus, "--test-prefix", corpus / "test", *dictionaries, train=False) == 0
    lines = [line.split() for line in read_lines(corpus / "test.mt")]
    tokens, unknown = sum(len(words) + 1 for words in lines), sum(len(words) - words.count("hund") for words in lines)
    assert table(capsys.readouterr().out)["test", "mt"][:3] == ["3", str(tokens), f"{unknown / tokens:.2%}"]


@pytest.mark.parametrize("flag", ["--srcdict", "--tgtdict"])
def test_srcdict_or_tgtdict_is_the_joined_dictionary(corpus: Path, flag: str) -> None:
    (corpus.parent / "given.txt").write_text("hund 7\n")
    assert prepare_corpus(corpus, "--joined-dictionary", flag, corpus.parent / "given.txt") == 0
    for side in ("en", "de"):
        assert (corpus.parent / "data" / f"dict.{side}.txt").read_text() == "hund 7\n"


def test_a_lexicon_is_a_part_of_the_data(corpus: Path) -> None:
    (corpus.parent / "lexicon.txt").write_text("Hnud,Hund\nBerlin\n\nAachen\n", "utf-8")
    assert prepare_corpus(corpus, "--lexicon", corpus.parent / "lexicon.txt") == 0
    assert Lexicon.read(corpus.parent / "data" / LEXICON).text == "aachen\nberlin\nhnud,hund\n"


def test_empty_lines_are_counted(corpus: Path, capsys: pytest.CaptureFixture) -> None:
    for side, number in (("mt", 3), ("de", 5), ("de", 9)):
        lines = list(read_lines(corpus / f"train.{side}"))
        lines[number - 1] = " \u2003"
        (corpus / f"train.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert prepare_corpus(corpus) == 0
    printed = capsys.readouterr()
    assert [table(printed.out)["train", side][3] for side in SIDES] == ["0", "1", "2"]
    assert lines_of(corpus, "train", "mt")[2] == lines_of(corpus, "train", "de")[4] == ""


def test_missing_drafts_are_refused(corpus: Path, capsys: pytest.CaptureFixture, refusal: Refusal) -> None:
    (corpus / "valid.mt").unlink()
    message = refusal(*prepare_command(corpus, "--valid-prefix", corpus / "valid"))
    assert f"{corpus}/valid.mt" in message
    assert prepare_corpus(corpus, "--valid-prefix", corpus / "valid", "--allow-missing-drafts") == 0
    assert lines_of(corpus, "valid", "mt") == [""] * 4
    assert table(capsys.readouterr().out)["valid", "mt"] == ["4", "4", "0.00%", "4", "1 (line 1)"]


def test_lines_end_only_at_line_feeds(corpus: Path) -> None:
    """fairseq would end a line at a lone carriage return and misalign all later drafts."""
    for side in SIDES:
        lines = ["hund\rund die", "wiese\u2028hund", "hund\x85", " ein  hund ", "die"]
        (corpus / f"train.{side}").write_bytes("\r\n".join(lines).encode())
    assert prepare_corpus(corpus) == 0
    for side in SIDES:
        assert lines_of(corpus, "train", side) == ["hund und die", "wiese hund", "hund", "ein hund", "die"]


# ---- pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [("unigram", 38), ("bpe", 60)])
def test_learned_pieces_decode_to_the_text(corpus: Path, kind: str, size: int, capsys: pytest.CaptureFixture) -> None:
    learned = ["--learn-sentencepiece", size, "--sentencepiece-type", kind, "--joined-dictionary"]
    assert prepare_corpus(corpus, "--test-prefix", corpus / "test", *learned) == 0
    assert " 0.00% " in capsys.readouterr().out
    data = corpus.parent / "data"
    assert "sentencepiece.model" in files_written(corpus) and "sentencepiece.vocab" not in files_written(corpus)
    for part in ("train", "test"):
        for side in SIDES:
            decoded = [line.replace(" ", "").replace("▁", " ").strip() for line in lines_of(corpus, part, side)]
            assert decoded == list(read_lines(corpus / f"{part}.{side}"))
    contents = {name: (data / name).read_bytes() for name in files_written(corpus)}
    model = data.rename(corpus.parent / "first") / "sentencepiece.model"
    flags = ["--sentencepiece-model", model, "--joined-dictionary", "--workers", 3]
    assert prepare_corpus(corpus, "--test-prefix", corpus / "test", *flags) == 0
    assert {name: (data / name).read_bytes() for name in files_written(corpus)} == contents


def test_pieces_are_learned_from_all_training_texts(corpus: Path) -> None:
    (corpus / "more.mt").write_text("☃ " + (corpus / "more.mt").read_text("utf-8"), "utf-8")
    assert prepare_corpus(corpus, "--extra-train-prefix", corpus / "more", "--learn-sentencepiece", 40) == 0
    assert "☃" in lines_of(corpus, "train1", "mt")[0]


def test_m2_files_are_training_and_validation_parts(corpus: Path, capsys: pytest.CaptureFixture) -> None:
    edits = "A 1 2|||V|||geht|||REQUIRED|||-NONE-|||0\nA 2 2|||UNK|||-NONE-|||REQUIRED|||-NONE-|||0\n"
    (corpus / "pairs.m2").write_text(f"S er gehen\n{edits}A 0 2|||V|||er ging|||REQUIRED|||-NONE-|||1\n\nS\n", "utf-8")
    pairs = ["--m2", corpus / "pairs.m2", "--valid-prefix", corpus / "pairs.m2", "--clean-train", "--joined-dictionary"]
    assert prepare_corpus(corpus, *pairs, "--clean-dictionary") == 0
    assert [lines_of(corpus, "train1", side) for side in SIDES] == [["er <unk>"], ["er <unk>"], ["er geht"]]
    assert lines_of(corpus, "valid", "de") == ["er geht"]
    assert lines_of(corpus, "train", "en") == lines_of(corpus, "train", "de")
    assert "gehen" in (corpus.parent / "data" / "train1.mt-de.mt.notes.jsonl").read_text("utf-8")


def test_sentencepiece_coverage_drops_rare_characters(corpus: Path) -> None:
    (corpus / "train.en").write_text((corpus / "train.en").read_text("utf-8").replace("漢", "語", 1), "utf-8")
    assert prepare_corpus(corpus, "--learn-sentencepiece", 36, "--sentencepiece-coverage", 0.98) == 0
    model = sentencepiece.SentencePieceProcessor(model_file=str(corpus.parent / "data" / "sentencepiece.model"))
    assert "語" not in {model.id_to_piece(i) for i in range(len(model))}


def test_pieces_are_learned_from_long_lines(tmp_path: Path) -> None:
    """sentencepiece drops lines of more than 4,192 bytes unless it is told not to."""
    corpus, model = tmp_path / "text", tmp_path / "pieces.model"
    corpus.write_text("in short\n" * 9 + "zyx wvu " * 1000 + "\n", encoding="utf-8")
    learn_sentencepiece([corpus], model, 20, "bpe", 1.0)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    assert pieces.unk_id() not in pieces.encode("zyx wvu in short")


def test_any_bpe_of_fairseq(corpus: Path) -> None:
    assert prepare_corpus(corpus, "--bpe", "characters", "--workers", 2, "--test-prefix", corpus / "test") == 0
    expected = [" ".join(line.replace(" ", "▁")) for line in read_lines(corpus / "train.de")]
    assert lines_of(corpus, "train", "de") == expected


# ---- reports ----------------------------------------------------------------------------------------------------


def test_clean_train_keeps_the_spelling_of_unknown_words(corpus: Path) -> None:
    (corpus / "words").write_text("▁eins 1\n▁zwei 1\n")
    (corpus / "train.de").write_text("eins Zürich zwei\neins zwei\n")
    flags = ["--clean-train", "--bpe", "words", "--joined-dictionary", "--clean-dictionary"]
    assert prepare_corpus(corpus, *flags, "--srcdict", corpus / "words") == 0
    noise = {"noise_kind": "insert", "noise_word_rate": 1.0, "noise_share": 0.5, "noise_bpe": "words"}
    dictionary = EditingDictionary.load(str(corpus.parent / "data" / "dict.de.txt"))
    task = toy_task(dictionary, data=str(corpus.parent / "data"), draft_lang="mt", **noise, noise_tokenizer=None)
    task.cfg.source_lang, task.cfg.target_lang, task.cfg.train_subset, task.cfg.dataset_impl = "en", "de", "train", None
    task.load_dataset("train")
    dataset = task.datasets["train"]
    seen = set()
    for epoch in range(1, 9):
        dataset.set_epoch(epoch)
        seen.add(" ".join(dataset[0]["draft"].unknown))
        assert dataset[0]["target"].eq(task.tgt_dict.unk()).sum() == 1
    assert "▁Zürich" in seen and len(seen) > 2  # without noise, and with other noise in every epoch


def test_flags_for_fairseq_train_are_printed(corpus: Path, capsys: pytest.CaptureFixture) -> None:
    for drafts, more in ((True, " --draft-lang mt\n"), (False, "\n")):
        folder = corpus.parent / f"data of {drafts}"
        assert prepare_corpus(corpus, "--dest", folder, drafts=drafts) == 0
        printed = capsys.readouterr().out
        assert printed.endswith(f"\nFor fairseq-train: '{folder}' --source-lang en --target-lang de{more}")
    assert "Dictionaries: en 16 words, de 16" in printed


# ---- refusals -------------------------------------------------------------------------------------------------


def cut_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


MALFORMED_TEXTS: dict[str, tuple[str, bytes, str]] = {
    "no line": ("de", b"", "{text}/train.de is empty"),
    "latin-1": ("mt", "ein\nläuft\n".encode("latin-1"), "{text}/train.mt, line 2 is not UTF-8"),
    "byte order mark": ("mt", b"\xef\xbb\xbfein hund\n", "{text}/train.mt begins with a byte order mark"),
    "tab in a source": ("en", b"ein\nein\thund\n", "{text}/train.en, line 2 contains a TAB"),
    "boundary": ("en", b"ein\nein </s> hund\n" + b"hund\n" * 38, "{text}/train.en, line 2 contains </s>"),
    "fewer lines": ("mt", b"ein\nein hund\n", "{text}/train.en has 40 lines and {text}/train.mt has 2 lines"),
}


@pytest.mark.parametrize("name", MALFORMED_TEXTS)
def test_malformed_texts_are_refused_without_output(corpus: Path, name: str, refusal: Refusal) -> None:
    side, content, message = MALFORMED_TEXTS[name]
    (corpus / f"train.{side}").write_bytes(content)
    assert message.format(text=corpus) in refusal(*prepare_command(corpus))
    assert [path.name for path in corpus.parent.iterdir()] == ["text"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-d", "en"], "different suffixes, but they are en, en, de"),
        (["--extra-train-prefix", "x", "--allow-missing-drafts"], "there is no file x.en"),
        (["--learn-sentencepiece", 0], "--learn-sentencepiece must be at least 1, but is 0"),
        (["--learn-sentencepiece", 9999], "--learn-sentencepiece 9999: Vocabulary size too high (9999)."),
        (["--learn-sentencepiece", 9, "--bpe", "bytes"], "leave out --bpe and --sentencepiece-model"),
        (["--learn-sentencepiece", 9, "--sentencepiece-model", "m"], "--learn-sentencepiece makes"),
        (["--learn-sentencepiece", 9, "--sentencepiece-coverage", 0.5], "character_coverage() >= 0.98"),
        (["--sentencepiece-type", "bpe"], "--sentencepiece-type requires --learn-sentencepiece"),
        (["--bpe", "bytes", "--bpe-codes", "c"], "requires --bpe subword_nmt, but --bpe is bytes"),
        (["--bpe", "subword_nmt"], "--bpe subword_nmt needs --bpe-codes"),
        (["--sentencepiece-model", "no such"], "--bpe sentencepiece"),
        (["--srcdict", "a", "--tgtdict", "b", "--joined-dictionary"], "--joined-dictionary uses one dictionary"),
        (["--clean-dictionary"], "--clean-dictionary requires --joined-dictionary"),
        (["--srcdict", "no such"], "the dictionary no such does not exist"),
    ],
)  # fmt: skip
def test_wrong_flags_of_prepare_are_refused(corpus: Path, flags: list, message: str, refusal: Refusal) -> None:
    assert message in refusal(*prepare_command(corpus, *flags))
    assert [path.name for path in corpus.parent.iterdir()] == ["text"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "no text is given: add --train-prefix"),
        (["--extra-train-prefix", "a"], "no text is given"),
        (["--test-prefix", "a", "--extra-train-prefix", "b"], "--extra-train-prefix requires --train-prefix"),
        (["--test-prefix", "a"], "there is no --train-prefix to learn a dictionary from"),
        (["--test-prefix", "a", "--srcdict", "b"], "--tgtdict"),
        (["--test-prefix", "a", "--allow-missing-drafts"], "--allow-missing-drafts requires --draft-lang"),
    ],
)  # fmt: skip
def test_flags_without_training_text_are_refused(corpus: Path, flags: list, message: str, refusal: Refusal) -> None:
    assert message in refusal(*prepare_command(corpus, *flags, train=False, drafts=False))


def test_a_folder_with_files_is_refused(corpus: Path, refusal: Refusal) -> None:
    data = corpus.parent / "data"
    data.mkdir()
    assert prepare_corpus(corpus) == 0
    names = files_written(corpus)
    assert f"--dest {data} is not empty (it contains " in refusal(*prepare_command(corpus))
    assert files_written(corpus) == names
    data.rename(corpus.parent / "aside")
    data.write_text("a file")
    assert f"--dest {data} exists but is not a folder" in refusal(*prepare_command(corpus))
    assert f"{data}" in refusal(*prepare_command(corpus, "--dest", data / "below"))


def test_an_interrupt_leaves_no_files(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object) -> None:
        assert [path.name for path in corpus.parent.iterdir() if path.name.startswith(".data.")]
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "binarise", stopped)
    assert prepare_corpus(corpus) == 130
    assert [path.name for path in corpus.parent.iterdir()] == ["text"]


def test_lost_lines_of_fairseq_are_an_error(corpus: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal) -> None:
    whole = prepare.binarise
    monkeypatch.setattr(prepare, "binarise", lambda tokens, *rest: (cut_last_line(tokens), whole(tokens, *rest))[1])
    assert "fairseq binarised 39 of 40 lines of train.en-de.en" in refusal(*prepare_command(corpus))


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    making = files.all_or_nothing_folder(tmp_path / "new")
    with pytest.raises(UserError, match=f"{tmp_path}/new cannot be created: Permission denied"), making:
        pass
