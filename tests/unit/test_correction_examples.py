"""The helpers of examples/ocr_correction and examples/grammar."""

import json
from argparse import Namespace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.shared import hold_out
from lev_plugins.errors import UserError
from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.text.edited import Edit, Edited
from tests.examples import EXAMPLES, load_script
from tests.helpers import thorough

# ---- ocr_correction ------------------------------------------------------------------------------------------------


def write_fold(folder: Path) -> None:
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.src").write_text("k i f s a\nt u o\nk i f s a\n", encoding="utf-8")
        (folder / f"{split}.tgt").write_text("k i s s a\nt u o\nk i s s a\n", encoding="utf-8")


def test_texts_of_a_fold(tmp_path: Path) -> None:
    texts = load_script("ocr_correction/texts")
    write_fold(tmp_path / "fold0")
    texts.run(Namespace(fold=tmp_path / "fold0", out=tmp_path / "out", words=0, by_type=True))
    read = {path.name: path.read_text("utf-8").splitlines() for path in (tmp_path / "out").iterdir()}
    assert read["train.src"] == read["train.draft"] == ["k i f s a", "t u o"]
    assert read["train.words.tgt"] == ["kissa", "tuo"]
    assert len(read["valid.tgt"]) == len(read["test.tgt"]) == 3  # never thinned out
    (tmp_path / "fold0" / "dev.tgt").write_text("a\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"dev\.src has 3 lines and .*dev\.tgt has 1"):
        texts.read_pairs(tmp_path / "fold0" / "dev")


def decoded(words: list[str]) -> str:
    lines = (f"S-{i}\tx\nT-{i}\ty\nH-{i}\t-0.1\t{word}\n" for i, word in reversed(list(enumerate(words))))
    return "".join(lines) + "Generate valid with beam=5: BLEU4 = 1.00\n"


def write_system(out: Path, fold: str, words: dict[str, list[str]]) -> None:
    tested = out / fold / "pbd2-test"
    tested.mkdir(parents=True)
    for name, found in words.items():
        (tested / name).write_text(decoded(found), encoding="utf-8")
    (tested / "done").touch()
    (out / fold / "pbd2").mkdir()
    stamps = "2026-01-01 10:00:00 | INFO | a | num. shared model params: 1,500,000 (num. trained: 1,500,000)\n"
    (out / fold / "pbd2" / "log").write_text(
        stamps + "2026-01-01 10:03:00 | INFO | fairseq_cli.train | done training\n", encoding="utf-8"
    )


def test_dev_chooses_and_the_table_has_mean_and_spread(tmp_path: Path) -> None:
    report, texts = load_script("ocr_correction/report"), load_script("ocr_correction/texts")
    right, wrong = "k i s s a", "k i f s a"
    for fold, bad in (("fold0", wrong), ("fold1", right)):
        write_fold(tmp_path / fold)
        texts.run(Namespace(fold=tmp_path / fold, out=tmp_path / "out" / fold / "texts", words=0, by_type=False))
        files = {"valid.best": [right, "t u o", right], "test.best": [bad, "t u o", right]}
        files |= {"valid.average": [wrong, "t u o", right], "test.average": [right, "t u o", right]}
        (tmp_path / "out" / fold / "texts" / "done").touch()
        write_system(tmp_path / "out", fold, files)
    (tmp_path / "out" / "fold2" / "texts").mkdir(parents=True)  # it failed
    symspell = tmp_path / "out" / "fold0" / "symspell"
    symspell.mkdir()
    (symspell / "valid.out").write_text("kissa\ntuo\nkifsa\n", encoding="utf-8")
    (symspell / "test.out").write_text("kissa\ntuo\nkissa\n", encoding="utf-8")
    (symspell / "done").touch()
    report.run(Namespace(out=tmp_path / "out"))
    page = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| do nothing | 33.3 ± 0.0 | 33.3 ± 0.0 | 2 | | " in page.replace("|  |", "| |")
    assert "| SymSpell, the words of the training text | 66.7 | 100.0 | 1 | " in page  # fold 1 is not run
    assert "| PBD, 2 layers | 100.0 ± 0.0 | 83.3 ± 23.6 | 2 | 1.50 M | 3.0 |" in page
    assert "| Transformer, 4 layers | not yet run |" in page
    found = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert found["systems"]["pbd2"]["fold0"]["took"] == "best"  # though the average is better on the test
    (tmp_path / "out" / "fold0" / "pbd2-test" / "test.best").write_text(decoded([right]), encoding="utf-8")
    with pytest.raises(UserError, match="2 of 3 sentences were not decoded"):
        report.run(Namespace(out=tmp_path / "out"))


# ---- grammar -------------------------------------------------------------------------------------------------------

M2 = "S he go home .\nA 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0\nA 2 2|||X|||right|||REQUIRED|||-NONE-|||0\n\n"


def test_texts_of_the_corrector(tmp_path: Path) -> None:
    texts = load_script("grammar/texts")
    (tmp_path / "clean").write_text("It isn't here.\n" * 199 + "Now it is.\n", encoding="utf-8")
    texts.split(Namespace(clean=tmp_path / "clean", out=tmp_path, sentences=10))
    assert (tmp_path / "train.noisy").read_text("utf-8") == "It isn't here.\n" * 10
    assert (tmp_path / "valid.clean").read_text("utf-8") == "It isn't here.\nNow it is.\n"
    (tmp_path / "a.m2").write_text(M2 * 3, encoding="utf-8")
    texts.pairs(Namespace(files=[tmp_path / "a.m2"], out=tmp_path / "pairs"))
    assert (tmp_path / "pairs" / "train.noisy").read_text("utf-8") == "he go home.\n" * 2
    assert (tmp_path / "pairs" / "valid.clean").read_text("utf-8") == "he goes right home.\n"
    texts.source(Namespace(gold=tmp_path / "a.m2", out=tmp_path / "gold"))
    assert (tmp_path / "gold" / "test.clean").read_text("utf-8") == "he goes right home.\n" * 3
    assert (tmp_path / "gold" / "test.tokens").read_text("utf-8") == "he go home .\n" * 3
    (tmp_path / "clean").write_text("It is n't here .\n" * 200, encoding="utf-8")
    with pytest.raises(UserError, match="is tokenised, with blanks before punctuation"):
        texts.split(Namespace(clean=tmp_path / "clean", out=tmp_path, sentences=10))


TOKENS = st.sampled_from(
    ["do", "n't", "Boys", "'s", "'", '"', "(", ")", "-", "/", ",", ".", "...", "$", "5.0", "it's.", "``"]
)


@thorough
@given(st.lists(TOKENS))
def test_text_that_is_not_edited_has_its_tokens_again(tokens: list[str]) -> None:
    script = load_script("grammar/tokens")
    line = " ".join(tokens)
    assert script.back(line, script.plain(line)) == line


@pytest.mark.parametrize(
    ("line", "edited", "expected"),
    [
        ("i dont know , Bob .", "I don't know, Bob.", "I do n't know , Bob ."),
        ("in the factory. You", "in a factory. You", "in a factory. You"),  # as the source has it
        ("it is ( was ) so", "It is so, too.", "It is so , too ."),
        ("go", "", ""),
    ],
)
def test_edited_text_is_tokenised_where_it_was_edited(line: str, edited: str, expected: str) -> None:
    assert load_script("grammar/tokens").back(line, edited) == expected


def test_sentences_that_need_no_correction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unaltered = load_script("grammar/unaltered")
    right, wrong = "It is n't here , Bob .", "it are here ."
    for name, lines in (("src", [right, wrong, right]), ("ref0", [right] * 3), ("ref1", [right, wrong, right])):
        (tmp_path / f"G.dev.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    seen: list[str] = []

    class Editor:
        def edit(self, texts: list[str]) -> list[Edited]:
            seen.extend(texts)
            return [Edited(texts[0]), Edited(texts[1], (Edit(0, 2, "He"),))]

    monkeypatch.setattr(unaltered.lev_plugins, "load", lambda path, options: Editor())
    printed: list[str] = []
    monkeypatch.setattr("builtins.print", lambda line, **flags: printed.append(line))
    options = {"min_confidence": 0.5, "commands": ["sed s/Bob/Ben/"]}
    unaltered.run(Namespace(folders=[Path("editor")], texts=[tmp_path / "G.dev"], **options))
    assert seen == ["It isn't here, Bob."] * 2 and printed[-2:] == ["| editor | 50.0 |", "| sed s/Bob/Ben/ | 100.0 |"]
    with pytest.raises(UserError, match=r"there is no file .*S\.dev\.ref0"):
        unaltered.run(Namespace(folders=[], texts=[tmp_path / "S.dev"], **options))
    with pytest.raises(UserError, match="'head -1' read 2 lines and wrote 1, with exit status 0"):
        unaltered.run(Namespace(folders=[], texts=[tmp_path / "G.dev"], **options | {"commands": ["head -1"]}))


@pytest.mark.parametrize("rows", [0, 1, 2, 99, 250, 300_000])
def test_every_row_trains_or_validates(rows: int) -> None:
    train, valid = hold_out(list(range(rows)), 100, 1000)
    assert sorted([*train, *valid]) == list(range(rows))
    assert min(rows, 1) <= len(valid) <= 1000


def test_the_table_of_confusions_is_one() -> None:
    table = str(EXAMPLES / "grammar" / "confusions.tsv")
    corrupt = build_corruption(NoiseOptions("confusions:3,random", word_rate=1.0, confusions=table))
    text = "the value of the function is returned in this way"
    assert {corrupt(text, index) for index in range(5)}.isdisjoint({text})
