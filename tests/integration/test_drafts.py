"""Drafts from files and typed ones give the same results, and wrong drafts are refused."""

import re
import shutil
from pathlib import Path

import pytest

from tests.commands import LEVT, generate, hypotheses, interactive, lines, refused, run, same_hypotheses, succeed, train

SRC_TO_TGT = ["-s", "src", "-t", "tgt"]
WITH_DRAFTS = [*SRC_TO_TGT, "--draft-lang", "mt"]


def toy_lines(toy: Path, side: str) -> list[str]:
    return (toy.parent / f"test.{side}").read_text(encoding="utf-8").splitlines()


def marked_draft(number: int, draft: str) -> str:
    """Adds one of the kinds of marks, unknown words, or nothing to a draft, by its number."""
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


def prepare_test_drafts(toy: Path, folder: Path, drafts: list[str], *flags: object) -> Path:
    """Prepares the toy's test set with these drafts and the toy's dictionary."""
    folder.mkdir()
    for side in ("src", "tgt"):
        shutil.copyfile(toy.parent / f"test.{side}", folder / f"test.{side}")
    (folder / "test.mt").write_text("".join(f"{draft}\n" for draft in drafts), encoding="utf-8")
    dictionary = ["--joined-dictionary", "--srcdict", toy / "dict.src.txt"]
    words = [*SRC_TO_TGT, "-d", "mt", "--test-prefix", folder / "test", *dictionary, "--dest", folder / "bin"]
    succeed("lev-plugins", "prepare", *words, *flags)
    return folder / "bin"


# ---- the same result ---------------------------------------------------------------------------------------------


def same_positional_scores(*logs: str) -> None:
    scores, expected = ({n: list(map(float, row.split())) for n, row in lines(log, "P").items()} for log in logs)
    assert scores.keys() == expected.keys() and scores
    for n, row in scores.items():
        assert row == pytest.approx(expected[n], abs=2e-4), n


def test_marks_and_unknown_words_of_prepared_drafts_are_respected_by_generate(toy: Path, tmp_path: Path) -> None:
    drafts = [marked_draft(number, draft) for number, draft in enumerate(toy_lines(toy, "mt"))]
    data = prepare_test_drafts(toy, tmp_path / "marked", drafts)
    from_file = succeed(*generate(data, LEVT, *WITH_DRAFTS, "--batch-size", 30)).out
    assert len(hypotheses(from_file)) == 100
    edited_texts = {n: words for n, (_, words) in hypotheses(from_file).items()}
    assert all(f"{toy_lines(toy, 'mt')[n]} Zürich" in edited_texts[n] for n in range(1, 100, 8))
    assert not any("Bern" in edited_texts[n] for n in range(3, 100, 8))
    assert all("Bern" in edited_texts[n].split() for n in range(7, 100, 8))
    # without the notes, unknown words are <unk> and marks have no effect
    (data / "test.mt-tgt.mt.notes.jsonl").unlink()
    plain = hypotheses(succeed(*generate(data, LEVT, *WITH_DRAFTS)).out)
    assert not any(re.search("Zürich|Bern", words) for _, words in plain.values())
    assert all(plain[n][1] == edited_texts[n] for n in range(0, 100, 8))


def test_interactive_gives_the_hypotheses_of_generate_for_the_same_drafts(toy: Path, tmp_path: Path) -> None:
    drafts = [
        ["{}", "Zürich {} Bern", "", "{} Zürich"][n % 4].format(text) for n, text in enumerate(toy_lines(toy, "mt"))
    ]
    data = prepare_test_drafts(toy, tmp_path / "unknown", drafts)
    cautious = ["--keep-bias", 2]
    from_file = succeed(*generate(data, LEVT, *WITH_DRAFTS, *cautious, "--batch-size", 30)).out
    typed = "".join(f"{source}\t{draft}\n" for source, draft in zip(toy_lines(toy, "src"), drafts, strict=True))
    batches = ["--buffer-size", 50, "--batch-size", 7]
    at_prompt = succeed(*interactive(data, LEVT, *SRC_TO_TGT, *cautious, *batches), stdin=typed).out
    same_hypotheses(from_file, at_prompt)
    same_positional_scores(from_file, at_prompt)
    texts_at_prompt = [text for _, text in hypotheses(at_prompt).values()]
    assert len(texts_at_prompt) == 100 and sum("Zürich" in text.split() for text in texts_at_prompt) > 10


# ---- refused drafts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("heute\ttoday\tcomes", "source<TAB>draft.* 2 TABs"),
        ("heute\ttoday ⟦!comes⟧", "⟦!comes⟧ is a mark.* lev-plugins edit"),
        ("heute\t" + "today " * 1100, "1102 tokens.* 1024"),
    ],
    ids=["two TABs", "a mark", "too long"],
)
def test_interactive_refuses_lines_with_two_tabs_marks_or_too_many_tokens(
    toy: Path, tmp_path: Path, line: str, pattern: str
) -> None:
    (tmp_path / "typed").write_text(f"{line}\n", encoding="utf-8")
    result = run(*interactive(toy, LEVT, "--input", tmp_path / "typed"))
    assert result.code != 0 and re.search(pattern, result.verdict) and not hypotheses(result.out)


def test_too_long_drafts_are_refused_or_skipped_and_never_truncated(toy: Path, tmp_path: Path) -> None:
    drafts = toy_lines(toy, "mt")
    drafts[5] = "today " * 1100
    data = prepare_test_drafts(toy, tmp_path / "long", drafts, "--valid-prefix", tmp_path / "long" / "test")
    message = "sentence 5, counted from 0, is too long: it has (4, 1102) tokens"
    assert message in refused(*generate(data, LEVT, *WITH_DRAFTS))
    skipped = succeed(*generate(data, LEVT, *WITH_DRAFTS, "--skip-invalid-size-inputs-valid-test"))
    assert set(range(100)) - hypotheses(skipped.out).keys() == {5}
    # like fairseq, training skips long sentences, but validation, which decodes them, does not
    few = ["--train-subset", "test", "--max-tokens", 4000, "--max-update", 1]
    training = run(*train(data, tmp_path / "out", *WITH_DRAFTS, *few))
    assert "1 samples have invalid sizes" in training.both
    assert message in training.verdict
