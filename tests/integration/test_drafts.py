"""Drafts from files and at the prompt: the same result, and an error that says why a draft cannot be edited."""

import re
import shutil
from pathlib import Path

import pytest

from tests.commands import LEVT, generate, hypotheses, interactive, lines, refused, run, same_hypotheses, succeed, train

LANGUAGES = ["-s", "src", "-t", "tgt"]
DRAFTED = [*LANGUAGES, "--draft-lang", "mt"]


def texts(toy: Path, side: str) -> list[str]:
    return (toy.parent / f"test.{side}").read_text(encoding="utf-8").splitlines()


def marked(number: int, draft: str) -> str:
    """Every kind of mark and unknown words, in turn; some drafts stay as they are."""
    return [
        draft,
        f"⟦!{draft} Zürich⟧",
        f"⟦~Zürich⟧ {draft}",
        f"{draft} ⟦-today Bern comes⟧",
        f"⟦+⟧ {draft}",
        f"Zürich {draft} Bern",
        "",
        f"\\⟦Bern\\⟧ ⟦!Bern⟧ {draft} ⟦+⟧",
    ][number % 8]


def prepared(toy: Path, folder: Path, drafts: list[str], *flags: object) -> Path:
    """The toy's test set with these drafts, in the words of its dictionaries."""
    folder.mkdir()
    for side in ("src", "tgt"):
        shutil.copyfile(toy.parent / f"test.{side}", folder / f"test.{side}")
    (folder / "test.mt").write_text("".join(f"{draft}\n" for draft in drafts), encoding="utf-8")
    dictionary = ["--joined-dictionary", "--srcdict", toy / "dict.src.txt"]
    words = [*LANGUAGES, "-d", "mt", "--test-prefix", folder / "test", *dictionary, "--dest", folder / "bin"]
    succeed("lev-plugins", "prepare", *words, *flags)
    return folder / "bin"


# ---- the same result ---------------------------------------------------------------------------------------------


def same_positional_scores(one: str, other: str) -> None:
    first, second = lines(one, "P"), lines(other, "P")
    assert first.keys() == second.keys() and first
    for n, row in first.items():
        assert list(map(float, row.split())) == pytest.approx(list(map(float, second[n].split())), abs=2e-4), n


def test_marks_and_unknown_words_in_a_file_of_drafts(toy: Path, tmp_path: Path) -> None:
    drafts = [marked(number, draft) for number, draft in enumerate(texts(toy, "mt"))]
    data = prepared(toy, tmp_path / "marked", drafts)
    from_file = succeed(*generate(data, LEVT, *DRAFTED, "--batch-size", 30)).out
    assert len(hypotheses(from_file)) == 100
    found = {n: words for n, (_, words) in hypotheses(from_file).items()}
    assert all(f"{texts(toy, 'mt')[n]} Zürich" in found[n] for n in range(1, 100, 8))
    assert not any("Bern" in found[n] for n in range(3, 100, 8))
    assert all("Bern" in found[n].split() for n in range(7, 100, 8))
    # a folder in which there is no such file is decoded as it always was
    (data / "test.mt-tgt.mt.notes.jsonl").unlink()
    plain = hypotheses(succeed(*generate(data, LEVT, *DRAFTED)).out)
    assert not any(re.search("Zürich|Bern", words) for _, words in plain.values())
    assert all(plain[n][1] == found[n] for n in range(0, 100, 8))


def test_a_file_of_drafts_is_edited_as_at_the_prompt(toy: Path, tmp_path: Path) -> None:
    drafts = [["{}", "Zürich {} Bern", "", "{} Zürich"][n % 4].format(text) for n, text in enumerate(texts(toy, "mt"))]
    data = prepared(toy, tmp_path / "unknown", drafts)
    cautious = ["--keep-bias", 2]
    from_file = succeed(*generate(data, LEVT, *DRAFTED, *cautious, "--batch-size", 30)).out
    typed = "".join(f"{source}\t{draft}\n" for source, draft in zip(texts(toy, "src"), drafts, strict=True))
    batches = ["--buffer-size", 50, "--batch-size", 7]
    at_prompt = succeed(*interactive(data, LEVT, *LANGUAGES, *cautious, *batches), stdin=typed).out
    same_hypotheses(from_file, at_prompt)
    same_positional_scores(from_file, at_prompt)
    texts_at_prompt = [text for _, text in hypotheses(at_prompt).values()]
    assert len(texts_at_prompt) == 100 and sum("Zürich" in text.split() for text in texts_at_prompt) > 10


# ---- what cannot be edited -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("heute\ttoday\tcomes", "an input line must be `source` or `source<TAB>draft`, but this one has 2 TABs"),
        ("heute\ttoday ⟦!comes⟧", "⟦!comes⟧ is a mark, but typed drafts must not have marks: use lev-plugins edit"),
        (
            "heute\t" + "today " * 1100,
            "a draft has 1102 tokens, including boundaries, but the model has positions for 1024",
        ),
    ],
    ids=["a TAB too many", "a mark", "too long"],
)
def test_lines_that_cannot_be_edited_at_the_prompt(toy: Path, tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "typed").write_text(f"{line}\n", encoding="utf-8")
    result = run(*interactive(toy, LEVT, "--input", tmp_path / "typed"))
    assert result.code != 0 and says in result.verdict and not hypotheses(result.out)


def test_a_draft_too_long_is_never_cut(toy: Path, tmp_path: Path) -> None:
    drafts = texts(toy, "mt")
    drafts[5] = "today " * 1100
    data = prepared(toy, tmp_path / "long", drafts, "--valid-prefix", tmp_path / "long" / "test")
    says = "sentence 5, counted from 0, is too long: it has (4, 1102) tokens (source, target or draft)"
    assert says in refused(*generate(data, LEVT, *DRAFTED))
    skipped = succeed(*generate(data, LEVT, *DRAFTED, "--skip-invalid-size-inputs-valid-test"))
    assert set(range(100)) - hypotheses(skipped.out).keys() == {5}
    # in training data a long sentence is left out, as in all of fairseq; validation data are decoded
    few = ["--train-subset", "test", "--max-tokens", 4000, "--max-update", 1]
    training = run(*train(data, tmp_path / "out", *DRAFTED, *few))
    assert "1 samples have invalid sizes and will be skipped" in training.both
    assert says in training.verdict
