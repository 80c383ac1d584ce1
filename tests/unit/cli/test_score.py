"""``lev-plugins score``: printed scores and refusals."""

import json
import random
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from lev_plugins.cli.main import COMMANDS, main
from lev_plugins.scoring import bleu as score_bleu
from lev_plugins.scoring.metrics import METRICS
from tests.helpers import Refusal, mentions

Run = Callable[..., str]

SCORED_TEXTS = {
    "system": "a cat sat on the mat .\nthe dog .\n\n",
    "other": "a cat sat at mat .\nthe dog\nx\n",
    "draft": "a cat sat at mat .\nthe dogs .\n\n",
    "reference": "the cat sat on the mat .\nthe dog .\n\n",
    "second": "a cat sat on a mat .\na dog .\n\n",
    "gold.m2": "S a cat sat at mat .\nA 3 5|||X|||on the mat|||REQUIRED|||-NONE-|||0\n\nS the dogs .\n"
    "A 1 2|||X|||dog|||REQUIRED|||-NONE-|||0\n\nS \n",
    "blank": "\n\n\n",
    "blank.m2": "S \n\nS \n\nS \n",
}


@pytest.fixture()
def text_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SCORED_TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture()
def score(text_folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> str:
        code = main(["score", *map(str, arguments)])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return run


# what each metric needs beside the texts, and the scores of system and draft against `reference`
EXPECTED_OF_METRIC: dict[str, tuple[list[str], str, str]] = {
    "m2": (["gold.m2"], "F0.5 = 1.0000 (precision 1.0000, recall 1.0000, correct 2, proposed 2, gold 2)", "0.0000"),
    "gleu": (["reference", "--source", "draft"], "GLEU = 0.7401", "0.0000"),
    "wrr": (["reference"], "WRR = 0.9000 (recognised 9, reference words 10)", "0.6000"),
    "exact": (["reference"], "exact match = 0.6667 (matches 2, sentences 3)", "0.3333"),
    "ter": (["reference"], "TER = 10.00 (edits 1, reference words 10)", "40.00"),
    "rouge": (["reference"], "ROUGE-L = 0.9444 (ROUGE-1 0.9444, ROUGE-2 0.9333)", "0.8485"),
    "harm": (
        ["reference"],
        "broken of 1,000 right words = 100.0 (% of lines changed 33.3)",
        "400.0",
    ),
    "bleu": (["reference"], "BLEU = 83.76 (words 10, reference words 10)", "17.86"),
    "chrf": (["reference", "--word-order", "2"], "chrF2++ = 86.95", "43.34"),
}


def test_every_metric_is_tested() -> None:
    elsewhere = {"terms"}  # has no references
    assert EXPECTED_OF_METRIC.keys() == METRICS.keys() - elsewhere
    assert COMMANDS["score"].partition(": ")[2].split(", ") == [*METRICS]  # what `lev-plugins --help` prints


@pytest.mark.parametrize("metric", EXPECTED_OF_METRIC)
def test_system_and_unedited_draft_are_scored(score: Run, metric: str) -> None:
    flags, expected, draft = EXPECTED_OF_METRIC[metric]
    lines = score(metric, "system", *flags, "--draft", "draft").splitlines()
    assert lines[0] == f"system      {expected}"
    assert lines[1].startswith("do nothing  ") and f" = {draft}" in lines[1]
    assert all(line.startswith("settings    ") for line in lines[2:])


@pytest.mark.parametrize("metric", EXPECTED_OF_METRIC)
def test_json_has_the_printed_scores(score: Run, metric: str) -> None:
    flags, expected, draft = EXPECTED_OF_METRIC[metric]
    more = ["--draft", "draft", "--json", "--per-sentence", "--bootstrap", 20]
    result = json.loads(score(metric, "system", *flags, *more))
    assert result["metric"] == metric and result["sentences"] == 3
    digits = len(draft.split(".")[1])
    assert expected.startswith(f"{result['name']} = {result['system']['score']:.{digits}f}")
    assert f"{result['do_nothing']['score']:.{digits}f}" == draft
    assert len(result["system"]["sentence_scores"]) == 3
    low, high = result["system"]["interval"]
    assert low <= high and result["bootstrap"] == {"resamples": 20, "seed": 1}
    assert result["higher_is_better"] == (metric not in ("ter", "harm"))


# scores of empty lines against three references, of which the last is empty, and against empty references
SCORES_OF_EMPTY_LINES = {
    "m2": (0, 1),
    "gleu": (0, 0),
    "chrf": (0, 0),
    "wrr": (0, 1),
    "exact": (1 / 3, 1),
    "ter": (100, 0),
    "rouge": (1 / 3, 1),
    "bleu": (0, 0),
    "harm": (1000, 0),
}


@pytest.mark.parametrize("metric", EXPECTED_OF_METRIC)
def test_empty_lines_are_scored(score: Run, metric: str) -> None:
    blank = {"draft": "blank", "reference": "blank", "gold.m2": "blank.m2"}
    for names, expected in zip(({"draft": "blank"}, blank), SCORES_OF_EMPTY_LINES[metric], strict=True):
        files = [names.get(flag, flag) for flag in EXPECTED_OF_METRIC[metric][0]]
        result = json.loads(score(metric, "blank", *files, "--json", "--bootstrap", 5))
        assert result["system"]["score"] == pytest.approx(expected), files


def test_per_sentence_and_significance(score: Run) -> None:
    flags = ["--against", "other", "--draft", "draft", "--per-sentence", "--bootstrap", 50]
    lines = score("ter", "system", "reference", *flags).splitlines()
    assert lines[:4] == [
        "sentence\tsystem\tdo nothing\tagainst",
        "1\t14.29\t42.86\t42.86",
        "2\t0.00\t33.33\t33.33",
        "3\t0.00\t0.00\t100.00",
    ]
    assert lines[4].startswith("system      TER = 10.00 (edits 1, reference words 10), 95 % between 0.00 and ")
    assert lines[6].startswith("against     TER = 50.00 (edits 5, reference words 10), 95 % between ")
    assert lines[7].startswith("better by   40.00, 95 % between ")  # lower is better
    assert lines[8].startswith("chance?     paired bootstrap p = ")


def test_a_worse_system_is_called_worse(score: Run) -> None:
    better, worse = (
        score("ter", *pair, "--bootstrap", 50).splitlines()
        for pair in (("system", "reference", "--against", "other"), ("other", "reference", "--against", "system"))
    )
    numbers = [re.findall(r"[\d.-]+(?= |,|$)", line) for lines in (better, worse) for line in lines if " by " in line]
    assert numbers[0] == numbers[1] and float(numbers[0][0]) == 40
    assert any(line.startswith("worse by    40.00") for line in worse)


def test_a_system_against_itself_has_p_1(score: Run) -> None:
    result = json.loads(score("exact", "reference", "reference", "--against", "reference", "--json"))
    assert result["comparison"]["difference"] == 0 and result["comparison"]["bootstrap_p"] == 1
    assert result["bootstrap"] == {"resamples": 1000, "seed": 1}
    assert "-0.0" not in score("ter", "system", "reference", "--against", "system", "--json")


def test_the_seed_selects_the_resamples(score: Run, text_folder: Path) -> None:
    draw = random.Random(1)
    for name in ("system", "reference"):
        (text_folder / name).write_text("".join(f"{' '.join(draw.choices('abc', k=5))}\n" for _ in range(40)), "utf-8")
    flags = ["wrr", "system", "reference", "--bootstrap", 30]
    assert score(*flags, "--seed", 7) == score(*flags, "--seed", 7) != score(*flags, "--seed", 8)


def test_several_references(score: Run) -> None:
    for metric, name, value in (("exact", "matches", 2), ("wrr", "recognised", 9), ("ter", "edits", 1)):
        assert json.loads(score(metric, "system", "reference", "second", "--json"))["system"][name] == value
    result = json.loads(score("bleu", "system", "reference", "second", "--json"))
    assert "nrefs:2" in result["settings"] and result["system"]["score"] > 83.8
    result = json.loads(score("gleu", "system", "reference", "second", "--source", "draft", "--json"))
    assert 0 < result["system"]["score"] < 1


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (["m2", "other", "gold.m2", "--beta", 1], "name", "F1"),
        (["m2", "other", "gold.m2", "--max-unchanged-words", 0], "settings", "max_unchanged_words=0"),
        (["rouge", "system", "reference", "--kind", "rouge2"], "name", "ROUGE-2"),
        (["ter", "system", "reference", "--normalized"], "settings", "norm:yes"),
    ],
)
def test_flags_of_a_metric(score: Run, flags: list[Any], name: str, value: str) -> None:
    assert value in json.loads(score(*flags, "--json"))[name]


@pytest.mark.parametrize("texts", [["▁the ▁c at", "▁a"], ["th@@ e cat", "b@@ a"], ["the cat", "an email@@ b"]])
def test_generated_text_in_pieces_is_named(
    text_folder: Path, texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (f"S-{number}\tx\nH-{number}\t-0.1\tz\nD-{number}\t-0.1\t{text}\n" for number, text in enumerate(texts))
    (text_folder / "log").write_text("".join(lines), encoding="utf-8")
    (text_folder / "two").write_text("the cat\na\n", encoding="utf-8")
    assert main(["score", "bleu", "log", "two", "--generated"]) == 0
    assert mentions(capsys.readouterr().err, "log --remove-bpe") == (texts[0] != "the cat")


def test_generated_reads_logs_of_fairseq_generate(score: Run, refusal: Refusal, text_folder: Path) -> None:
    rest = "S-{0}\tx\nT-{0}\ty\nH-{0}\t-0.1\tz\nD-{0}\t-0.1\t{1}\nD-{0}\t-0.5\tsecond best\nP-{0}\t-0.1\n"
    texts = SCORED_TEXTS["system"].split("\n")
    log = "".join(rest.format(number, texts[number]) for number in (2, 0, 1))
    (text_folder / "log").write_text(f"INFO | fairseq\n{log}Generate test with beam=1\n", encoding="utf-8")
    assert score("ter", "log", "reference", "--generated") == score("ter", "system", "reference")
    printed = score("ter", "log", "reference", "--generated", "--against", "log", "--draft", "draft")
    assert "do nothing  TER = 40.00" in printed and "better by   0.00" in printed
    message = refusal("score", "ter", "draft", "reference", "--generated")
    assert "--generated: draft has no D- lines" in message
    bar = "\r  5%|5         | 1/20 [00:01<00:19,  1.0it/s]"
    (text_folder / "log").write_text(log.replace("D-1\t-0.1", f"{bar}D-1\t-0.1"), encoding="utf-8")
    assert score("ter", "log", "reference", "--generated") == score("ter", "system", "reference")
    two_runs = {"again": log + log, "other": log + rest.format(1, "other"), "reversed": rest.format(1, "other") + log}
    for name, text in two_runs.items():
        (text_folder / name).write_text(text, encoding="utf-8")
    assert score("ter", "again", "reference", "--generated") == score("ter", "system", "reference")
    for name in ("other", "reversed"):
        message = refusal("score", "ter", name, "reference", "--generated")
        assert f"--generated: {name} has two different outputs D-1" in message
    (text_folder / "log").write_text(log.replace("D-1", "X-1"), encoding="utf-8")
    message = refusal("score", "ter", "log", "reference", "--generated")
    assert "log is incomplete: it has 2 sentences, but no D-1" in message


def test_line_ends(score: Run, text_folder: Path) -> None:
    """CRLF ends a line; other separators are part of it."""
    reference = "one\u2028line\nand\x0cone"
    (text_folder / "reference").write_text(reference, encoding="utf-8")
    (text_folder / "system").write_bytes(reference.replace("\n", "\r\n").encode() + b"\r\n")
    assert "matches 2, sentences 2" in score("exact", "system", "reference")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["exact", "short", "reference"], "short has 1 lines and reference has 3 lines"),
        (["m2", "short", "gold.m2"], "short has 1 lines and gold.m2 has 3 sentences"),
        (["exact", "system", "reference", "--against", "short"], "system has 3 lines and short has 1 lines"),
        (["exact", "nowhere", "reference"], "nowhere: No such file or directory"),
        (["exact", "empty", "reference"], "empty is empty"),
        (["exact", "latin", "reference"], "latin, line 2 is not UTF-8 (unexpected end of data)"),
        (["m2", "system", "reference"], "reference, line 1: a line must begin with S or A or be empty"),
        (["exact", "system", "reference", "--bootstrap", 1], "--bootstrap must be at least 2, but is 1"),
        (["chrf", "system", "reference", "--char-order", 0], "--char-order must be at least 1, but is 0"),
        (["chrf", "system", "reference", "--word-order", -1], "--word-order must be at least 0, but is -1"),
        (["exact", "short", "short", "--against", "short"], "a bootstrap needs at least 2 sentences, but there is 1"),
        (["m2", "system", "gold.m2", "--errant"], "--errant needs the package errant"),
    ],
)
def test_wrong_input_of_score_is_refused(
    refusal: Refusal, text_folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any], message: str
) -> None:
    monkeypatch.setitem(sys.modules, "errant", None)
    (text_folder / "short").write_text("one line\n", encoding="utf-8")
    (text_folder / "empty").write_text("", encoding="utf-8")
    (text_folder / "latin").write_bytes("a\nä\nb\n".encode("latin-1"))
    assert message in refusal("score", *arguments)


@pytest.mark.skipif(find_spec("MeCab") is not None, reason="MeCab is installed here")
def test_a_missing_tokeniser_names_its_package(capsys: pytest.CaptureFixture[str], text_folder: Path) -> None:
    assert main(["score", "bleu", "system", "reference", "--tokenize", "ja-mecab"]) == 2
    message = capsys.readouterr().err  # of several lines
    assert "the BLEU tokeniser ja-mecab cannot be loaded: " in message and "pip install" in message


def test_a_tokeniser_without_network_is_refused(
    refusal: Refusal, text_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(**options: Any) -> None:
        raise URLError("no network")

    offline.TOKENIZERS = score_bleu.BLEU.TOKENIZERS  # type: ignore[attr-defined]
    monkeypatch.setattr(score_bleu, "BLEU", offline)
    message = refusal("score", "bleu", "system", "reference", "--tokenize", "flores200")
    assert "the BLEU tokeniser flores200 cannot be loaded" in message
