"""``lev-plugins prepare`` in this process: what it makes, what it says, what it refuses."""

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from fairseq.data import Dictionary, data_utils

from lev_plugins.cli import prepare
from lev_plugins.cli.main import main
from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.text.lines import read_lines
from lev_plugins.training.tokenise import learn_sentencepiece
from lev_plugins.utils import files
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, toy_task

WORDS = ["ein", "kleiner", "hund", "läuft", "über", "die", "grüne", "wiese", "und", "schaut", "漢字", "نص"]
SIDES = ("en", "mt", "de")


def write_text(folder: Path, part: str, lines: int, seed: int = 1, sides: tuple[str, ...] = SIDES) -> None:
    draw = random.Random(f"{seed} {part}")
    folder.mkdir(exist_ok=True)
    text = [draw.choices(WORDS, k=draw.randint(2, 6)) for _ in range(lines)]
    versions = {"en": text, "mt": [words[1:] for words in text], "de": [words[::-1] for words in text]}
    for side in sides:
        (folder / f"{part}.{side}").write_text("".join(f"{' '.join(words)}\n" for words in versions[side]), "utf-8")


@pytest.fixture()
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    for part, lines in (("train", 40), ("more", 25), ("valid", 4), ("test", 3)):
        write_text(folder, part, lines)
    return folder


def command(text: Path, *flags: object, train: bool = True, drafts: bool = True) -> list[object]:
    words: list[object] = ["prepare", "-s", "en", "-t", "de", "--dest", text.parent / "data"]
    words += ["-d", "mt"] if drafts else []
    words += ["--train-prefix", text / "train"] if train else []
    return [*words, *flags]


def run(*given: Any, **options: bool) -> int:
    return main([str(word) for word in command(*given, **options)])


def made(text: Path) -> list[str]:
    folder = text.parent / "data"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def lines_of(text: Path, part: str, side: str) -> list[str]:
    """What the binarised file says, in tokens."""
    folder = text.parent / "data"
    dictionary = Dictionary.load(str(folder / f"dict.{'en' if side == 'en' else 'de'}.txt"))
    pair = "mt-de" if side == "mt" else "en-de"
    found = data_utils.load_indexed_dataset(f"{folder}/{part}.{pair}.{side}", dictionary)
    return [dictionary.string(found[i]) for i in range(len(found))]


def table(out: str) -> dict[tuple[str, str], list[str]]:
    """Lines, tokens, unknown, empty and longest of each part and side, as reported."""
    rows = [line.split(maxsplit=6) for line in out.split("\n\n")[0].splitlines()[2:]]
    return {(row[0], row[1]): row[2:] for row in rows}


# ---- what is made ----------------------------------------------------------------------------------------------------


def test_triples_are_two_pairs_in_one_folder(text: Path) -> None:
    splits = ["--valid-prefix", text / "valid", text / "more", "--test-prefix", text / "test"]
    assert run(text, *splits, "--extra-train-prefix", text / "more") == 0
    parts = {"train": "train", "train1": "more", "valid": "valid", "valid1": "more", "test": "test"}
    pairs = ("en-de.en", "en-de.de", "mt-de.mt")
    files = [f"{part}.{pair}.{end}" for part in parts for pair in pairs for end in ("bin", "idx")]
    assert made(text) == sorted([*files, "dict.en.txt", "dict.de.txt"])
    for part, name in parts.items():
        for side in SIDES:
            assert lines_of(text, part, side) == list(read_lines(text / f"{name}.{side}"))
    assert sorted(path.name for path in text.parent.iterdir()) == ["data", "text"]


def test_words_of_drafts_alone_are_known(text: Path) -> None:
    path = text / "train.mt"
    path.write_text(path.read_text("utf-8").replace("hund", "hnud"), "utf-8")
    assert run(text) == 0
    dictionaries = {side: Dictionary.load(str(text.parent / "data" / f"dict.{side}.txt")) for side in ("en", "de")}
    assert "hnud" in dictionaries["de"] and "hnud" not in dictionaries["en"]
    assert lines_of(text, "train", "mt") == list(read_lines(path))


def test_with_dictionaries_no_training_text_is_needed(text: Path, capsys: pytest.CaptureFixture) -> None:
    (text.parent / "given.txt").write_text("hund 7\n")
    given = ["--srcdict", text.parent / "given.txt", "--tgtdict", text.parent / "given.txt"]
    assert run(text, "--test-prefix", text / "test", *given, train=False) == 0
    lines = [line.split() for line in read_lines(text / "test.mt")]
    tokens, unknown = sum(len(words) + 1 for words in lines), sum(len(words) - words.count("hund") for words in lines)
    assert table(capsys.readouterr().out)["test", "mt"][:3] == ["3", str(tokens), f"{unknown / tokens:.2%}"]


@pytest.mark.parametrize("flag", ["--srcdict", "--tgtdict"])
def test_a_joined_dictionary_may_be_given_as_either(text: Path, flag: str) -> None:
    (text.parent / "given.txt").write_text("hund 7\n")
    assert run(text, "--joined-dictionary", flag, text.parent / "given.txt") == 0
    for side in ("en", "de"):
        assert (text.parent / "data" / f"dict.{side}.txt").read_text() == "hund 7\n"


def test_an_empty_draft_is_no_mistake_and_other_empty_lines_are_told(text: Path, capsys: pytest.CaptureFixture) -> None:
    for side, number in (("mt", 3), ("de", 5), ("de", 9)):
        lines = list(read_lines(text / f"train.{side}"))
        lines[number - 1] = " \u2003"
        (text / f"train.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert run(text) == 0
    said = capsys.readouterr()
    assert [table(said.out)["train", side][3] for side in SIDES] == ["0", "1", "2"]
    assert lines_of(text, "train", "mt")[2] == lines_of(text, "train", "de")[4] == ""


def test_a_split_without_drafts_is_asked_for(text: Path, capsys: pytest.CaptureFixture, refusal: Refusal) -> None:
    (text / "valid.mt").unlink()
    said = refusal(*command(text, "--valid-prefix", text / "valid"))
    assert f"there is no draft file {text}/valid.mt: it must have one line per source" in said
    assert run(text, "--valid-prefix", text / "valid", "--allow-missing-drafts") == 0
    assert lines_of(text, "valid", "mt") == [""] * 4
    assert table(capsys.readouterr().out)["valid", "mt"] == ["4", "4", "0.00%", "4", "1 (line 1)"]


def test_lines_end_at_a_line_feed_only(text: Path) -> None:
    """A lone carriage return would be the end of a line to fairseq, and from there on all drafts would be wrong."""
    for side in SIDES:
        lines = ["hund\rund die", "wiese\u2028hund", "hund\x85", " ein  hund ", "die"]
        (text / f"train.{side}").write_bytes("\r\n".join(lines).encode())
    assert run(text) == 0
    for side in SIDES:
        assert lines_of(text, "train", side) == ["hund und die", "wiese hund", "hund", "ein hund", "die"]


# ---- pieces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "size"), [("unigram", 38), ("bpe", 60)])
def test_learned_pieces_are_the_text_again(text: Path, kind: str, size: int, capsys: pytest.CaptureFixture) -> None:
    learned = ["--learn-sentencepiece", size, "--sentencepiece-type", kind, "--joined-dictionary"]
    assert run(text, "--test-prefix", text / "test", *learned) == 0
    assert " 0.00% " in capsys.readouterr().out
    data = text.parent / "data"
    assert "sentencepiece.model" in made(text) and "sentencepiece.vocab" not in made(text)
    for part in ("train", "test"):
        for side in SIDES:
            said = [line.replace(" ", "").replace("▁", " ").strip() for line in lines_of(text, part, side)]
            assert said == list(read_lines(text / f"{part}.{side}"))
    first = {name: (data / name).read_bytes() for name in made(text)}
    model = data.rename(text.parent / "first") / "sentencepiece.model"
    given = ["--sentencepiece-model", model, "--joined-dictionary", "--workers", 3]
    assert run(text, "--test-prefix", text / "test", *given) == 0
    assert {name: (data / name).read_bytes() for name in made(text)} == first


def test_pieces_are_learned_from_every_training_text(text: Path) -> None:
    (text / "more.mt").write_text("☃ " + (text / "more.mt").read_text("utf-8"), "utf-8")
    assert run(text, "--extra-train-prefix", text / "more", "--learn-sentencepiece", 40) == 0
    assert "☃" in lines_of(text, "train1", "mt")[0]


def test_m2_files_beside_clean_text(text: Path, capsys: pytest.CaptureFixture) -> None:
    edits = "A 1 2|||V|||geht|||REQUIRED|||-NONE-|||0\nA 2 2|||UNK|||-NONE-|||REQUIRED|||-NONE-|||0\n"
    (text / "pairs.m2").write_text(f"S er gehen\n{edits}A 0 2|||V|||er ging|||REQUIRED|||-NONE-|||1\n\nS\n", "utf-8")
    pairs = ["--m2", text / "pairs.m2", "--valid-prefix", text / "pairs.m2", "--clean-train", "--joined-dictionary"]
    assert run(text, *pairs, "--clean-dictionary") == 0
    assert [lines_of(text, "train1", side) for side in SIDES] == [["er <unk>"], ["er <unk>"], ["er geht"]]
    assert lines_of(text, "valid", "de") == ["er geht"]
    assert lines_of(text, "train", "en") == lines_of(text, "train", "de")
    assert "gehen" in (text.parent / "data" / "train1.mt-de.mt.notes.jsonl").read_text("utf-8")


def test_coverage_leaves_rare_characters_out(text: Path) -> None:
    (text / "train.en").write_text((text / "train.en").read_text("utf-8").replace("漢", "語", 1), "utf-8")
    assert run(text, "--learn-sentencepiece", 36, "--sentencepiece-coverage", 0.98) == 0
    model = sentencepiece.SentencePieceProcessor(model_file=str(text.parent / "data" / "sentencepiece.model"))
    assert "語" not in {model.id_to_piece(i) for i in range(len(model))}


def test_pieces_are_also_learned_from_long_lines(tmp_path: Path) -> None:
    """By itself, sentencepiece leaves out lines of more than 4,192 bytes."""
    text, model = tmp_path / "text", tmp_path / "pieces.model"
    text.write_text("in short\n" * 9 + "zyx wvu " * 1000 + "\n", encoding="utf-8")
    learn_sentencepiece([text], model, 20, "bpe", 1.0)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    assert pieces.unk_id() not in pieces.encode("zyx wvu in short")


def test_any_bpe_of_fairseq(text: Path) -> None:
    assert run(text, "--bpe", "characters", "--workers", 2, "--test-prefix", text / "test") == 0
    expected = [" ".join(line.replace(" ", "▁")) for line in read_lines(text / "train.de")]
    assert lines_of(text, "train", "de") == expected


# ---- what is said ----------------------------------------------------------------------------------------------------


def test_clean_training_text_keeps_the_spelling_of_words_that_a_dictionary_lacks(text: Path) -> None:
    (text / "words").write_text("▁eins 1\n▁zwei 1\n")
    (text / "train.de").write_text("eins Zürich zwei\neins zwei\n")
    flags = ["--clean-train", "--bpe", "words", "--joined-dictionary", "--clean-dictionary"]
    assert run(text, *flags, "--srcdict", text / "words") == 0
    noise = {"noise_kind": "insert", "noise_word_rate": 1.0, "noise_share": 0.5, "noise_bpe": "words"}
    dictionary = EditingDictionary.load(str(text.parent / "data" / "dict.de.txt"))
    task = toy_task(dictionary, data=str(text.parent / "data"), draft_lang="mt", **noise, noise_tokenizer=None)
    task.cfg.source_lang, task.cfg.target_lang, task.cfg.train_subset, task.cfg.dataset_impl = "en", "de", "train", None
    task.load_dataset("train")
    dataset = task.datasets["train"]
    seen = set()
    for epoch in range(1, 9):
        dataset.set_epoch(epoch)
        seen.add(" ".join(dataset[0]["draft"].unknown))
        assert dataset[0]["target"].eq(task.tgt_dict.unk()).sum() == 1
    assert "▁Zürich" in seen and len(seen) > 2  # without noise, and with other noise in every epoch


def test_the_suffixes_are_printed_as_fairseq_takes_them(text: Path, capsys: pytest.CaptureFixture) -> None:
    for drafts, more in ((True, " --draft-lang mt\n"), (False, "\n")):
        folder = text.parent / f"data of {drafts}"
        assert run(text, "--dest", folder, drafts=drafts) == 0
        said = capsys.readouterr().out
        assert said.endswith(f"\nFor fairseq-train: '{folder}' --source-lang en --target-lang de{more}")
    assert "Dictionaries: en 16 words, de 16" in said


# ---- what is refused -------------------------------------------------------------------------------------------------


def cut_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


SPOILED: dict[str, tuple[str, bytes, str]] = {
    "no line": ("de", b"", "{text}/train.de is empty"),
    "latin-1": ("mt", "ein\nläuft\n".encode("latin-1"), "{text}/train.mt, line 2 is not UTF-8 (invalid continuation"),
    "byte order mark": ("mt", b"\xef\xbb\xbfein hund\n", "{text}/train.mt begins with a byte order mark, which would"),
    "tab in a source": ("en", b"ein\nein\thund\n", "{text}/train.en, line 2 contains a TAB, which separates source"),
    "boundary": ("en", b"ein\nein </s> hund\n" + b"hund\n" * 38, "{text}/train.en, line 2 contains </s>, which"),
    "fewer lines": ("mt", b"ein\nein hund\n", "{text}/train.en has 40 lines and {text}/train.mt has 2 lines and"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_texts_are_refused_and_nothing_is_left(text: Path, name: str, refusal: Refusal) -> None:
    side, content, message = SPOILED[name]
    (text / f"train.{side}").write_bytes(content)
    assert message.format(text=text) in refusal(*command(text))
    assert [path.name for path in text.parent.iterdir()] == ["text"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-d", "en"], "source, draft and target need different suffixes, but they are en, en, de"),
        (["--extra-train-prefix", "x", "--allow-missing-drafts"], "there is no file x.en: its name is made of prefix"),
        (["--learn-sentencepiece", 0], "--learn-sentencepiece must be at least 1, but is 0"),
        (["--learn-sentencepiece", 9999], "--learn-sentencepiece 9999: Vocabulary size too high (9999)."),
        (["--learn-sentencepiece", 9, "--bpe", "bytes"], "leave out --bpe and --sentencepiece-model"),
        (["--learn-sentencepiece", 9, "--sentencepiece-model", "m"], "--learn-sentencepiece makes pieces of its own"),
        (["--learn-sentencepiece", 9, "--sentencepiece-coverage", 0.5], "character_coverage() >= 0.98"),
        (["--sentencepiece-type", "bpe"], "--sentencepiece-type requires --learn-sentencepiece"),
        (["--bpe", "bytes", "--bpe-codes", "c"], "requires --bpe subword_nmt, but --bpe is bytes"),
        (["--bpe", "subword_nmt"], "--bpe subword_nmt needs --bpe-codes"),
        (["--sentencepiece-model", "no such"], "--bpe sentencepiece"),
        (["--srcdict", "a", "--tgtdict", "b", "--joined-dictionary"], "--joined-dictionary uses one dictionary: give"),
        (["--clean-dictionary"], "--clean-dictionary requires --joined-dictionary"),
        (["--srcdict", "no such"], "the dictionary no such does not exist"),
    ],
)  # fmt: skip
def test_flags_that_cannot_work(text: Path, flags: list, message: str, refusal: Refusal) -> None:
    assert message in refusal(*command(text, *flags))
    assert [path.name for path in text.parent.iterdir()] == ["text"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "no text is given: add --train-prefix"),
        (["--extra-train-prefix", "a"], "no text is given"),
        (["--test-prefix", "a", "--extra-train-prefix", "b"], "--extra-train-prefix requires --train-prefix"),
        (["--test-prefix", "a"], "there is no --train-prefix to learn a dictionary from"),
        (["--test-prefix", "a", "--srcdict", "b"], "to learn a dictionary from: give one with --tgtdict"),
        (["--test-prefix", "a", "--allow-missing-drafts"], "--allow-missing-drafts requires --draft-lang"),
    ],
)  # fmt: skip
def test_without_training_text(text: Path, flags: list, message: str, refusal: Refusal) -> None:
    assert message in refusal(*command(text, *flags, train=False, drafts=False))


def test_a_folder_that_is_not_empty_stays_as_it_is(text: Path, refusal: Refusal) -> None:
    data = text.parent / "data"
    data.mkdir()
    assert run(text) == 0
    before = made(text)
    assert f"--dest {data} is not empty (it contains " in refusal(*command(text))
    assert made(text) == before
    data.rename(text.parent / "aside")
    data.write_text("a file")
    assert f"--dest {data} exists but is not a folder" in refusal(*command(text))
    assert f"{data}" in refusal(*command(text, "--dest", data / "below"))


def test_a_stop_in_the_middle_leaves_nothing(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: object) -> None:
        assert [path.name for path in text.parent.iterdir() if path.name.startswith(".data.")]
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "binarise", stopped)
    assert run(text) == 130
    assert [path.name for path in text.parent.iterdir()] == ["text"]


def test_a_line_that_fairseq_loses_is_missed(text: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal) -> None:
    whole = prepare.binarise
    monkeypatch.setattr(prepare, "binarise", lambda tokens, *rest: (cut_last_line(tokens), whole(tokens, *rest))[1])
    assert "fairseq binarised 39 of 40 lines of train.en-de.en" in refusal(*command(text))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "mkdtemp", refuse)
    making = files.all_or_nothing_folder(tmp_path / "new")
    with pytest.raises(UserError, match=f"{tmp_path}/new cannot be created: Permission denied"), making:
        pass
