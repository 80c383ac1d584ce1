"""Figures of the examples: what is asked of the model, what is kept, averaged and drawn, and bad input."""

import html
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from examples import figures
from examples.denoising import gates
from examples.denoising.gates import GatedSentence, as_line, gates_of_lines
from lev_plugins.errors import UserError
from lev_plugins.inference.decoder import CheckpointDecoder
from tests.examples import run_script
from tests.helpers import EOS, toy_dictionary, toy_model, toy_transformer, write_lines
from tests.logs import logged
from tests.unit.models.test_gated import toy_gated

SENTENCES = [
    GatedSentence(
        ["▁$a", "$b", "</s>"],
        ["<x>&", "</s>"],
        {"mask": [0.0, 1.0, 0.5], "copy": [0.2, 0.3], "skip": [0.8, 0.7]},
        0.5,
    ),
    GatedSentence(["a"] * 40, ["b", "</s>"], {"mask": [0.25] * 40, "copy": [0.5, 0.5], "skip": [0.5, 0.5]}, 0.0),
]


def asked(model: Any) -> CheckpointDecoder:
    """A model in memory, with its task and search, as CheckpointDecoder reads one from a file."""
    words = toy_dictionary()
    teacher = CheckpointDecoder.__new__(CheckpointDecoder)
    teacher.models, teacher.device = [model], torch.device("cpu")
    teacher.task = TranslationTask(TranslationConfig(source_lang="a", target_lang="b"), words, words)
    search = SimpleNamespace(beam=2, max_len_b=6)
    teacher.generator = teacher.task.build_generator(teacher.models, search)
    teacher.max_positions = (10, 10)
    return teacher


def test_the_gates_are_those_of_a_forward_pass_over_what_was_written() -> None:
    model = toy_gated("mask,copy,skip")
    teacher = asked(model)
    words = teacher.task.source_dictionary
    a, b, c = words.symbols[-3:]
    lines = [f"{a} {b} {c} {a}", c, " ".join([a] * 11), f"{b} {a}"]
    found = gates_of_lines(teacher, lines, str, 100)
    assert [None if sentence is None else sentence.source for sentence in found] == [
        [a, b, c, a, "</s>"],
        [c, "</s>"],
        None,
        [b, a, "</s>"],
    ]
    for sentence in (sentence for sentence in found if sentence is not None):
        assert set(sentence.gates) == {"mask", "copy", "skip"}
        source = torch.tensor([[words.index(word) for word in sentence.source]])
        written = [words.index(word) for word in sentence.output]
        read = torch.tensor([[EOS, *written[:-1]]])
        expected = model(source, torch.tensor([source.size(1)]), read)[1]["gates"]
        for name, values in sentence.gates.items():
            assert values == pytest.approx(getattr(expected, name)[0].tolist(), abs=1e-4)


def test_a_model_without_gates_has_none_to_show() -> None:
    with pytest.raises(UserError, match="the model of --path has no gates: it was trained with --gates ''"):
        gates_of_lines(asked(toy_gated("")), ["a"], str, 100)
    decoder = asked(toy_transformer())
    for other in (*decoder.models, toy_model()):
        decoder.models = [other]
        with pytest.raises(UserError, match="--path is not a gated model: train one with --arch gated_trans"):
            gates_of_lines(decoder, ["a"], str, 100)


def test_means_are_over_tokens_by_noise_and_length() -> None:
    low, high = gates.grouped_by("noise", SENTENCES, 2)
    assert (low.title, high.title) == ("0 %", "50 %")
    assert (low.sentences, high.sentences) == ([SENTENCES[1]], [SENTENCES[0]])
    assert high.mean("mask") == pytest.approx(0.5) and low.mean("copy") == pytest.approx(0.5)
    assert [group.title for group in gates.grouped_by("length", SENTENCES, 3)] == ["3", "40"]
    counts = [GatedSentence(["a"] * number, [], {}, number / 1000) for number in (3, 3, 4, 4, 5, 6)]
    assert [group.title for group in gates.grouped_by("length", counts, 5)] == ["3", "4", "5", "6"]
    assert [group.title for group in gates.grouped_by("noise", counts, 2)] == ["0.3-0.4 %", "0.5-0.6 %"]
    assert gates.correlation("noise", SENTENCES, "copy") == pytest.approx(-1)
    assert gates.correlation("noise", SENTENCES[:1], "copy") is None


# ---- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "denoising.jsonl", map(as_line, SENTENCES))


@pytest.mark.parametrize("by", ["sentence", "noise", "length", "task"])
def test_figures_have_their_numbers_in_them(kept: Path, tmp_path: Path, by: str) -> None:
    pytest.importorskip("matplotlib")
    png, svg = tmp_path / "figure.png", tmp_path / "figure.svg"
    first = ["--first", "2"] if by == "sentence" else []
    words = ["--saved", kept, f"other={kept}", "--by", by, *first, "--output"]
    assert run_script(gates, *words, png, svg) == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    drawn = svg.read_text(encoding="utf-8")
    texts = [html.unescape(text) for text in re.findall(r">([^<>]+)</t", drawn)]
    wanted = {
        "sentence": ["▁$a", "$b", "<x>&", "mask", "copy", "0.20", "0.80", "output"],
        "noise": ["0 %", "50 %", "copy (r = -1.00)", "words that are noise (number of sentences)"],
        "length": ["3", "40", "skip (r = -1.00)", "mean gate probability"],
        "task": ["denoising", "other", "0.27", "skip"],
    }
    assert [text for text in wanted[by] if text not in texts] == []
    colours = re.findall(r"#(..)(..)(..)\b", drawn)
    assert colours and all(red == green == blue for red, green, blue in colours)
    again = tmp_path / "again.svg"
    assert run_script(gates, *words, again) == 0
    assert again.read_bytes() == svg.read_bytes()


# ---- logs ------------------------------------------------------------------------------------------------------------

STATES = ["▁z", "", "<plh> <plh>", "▁a ▁z", "▁a", "▁a <plh> <plh> <plh>", "▁a ▁b ▁c ▁d"]
GROWN = logged(0, "x", "▁a ▁b ▁c ▁d", ("-0.5", "a b c d", *STATES))
GROWN += "INFO | Translated 1 sentences (5 tokens) in 0.5s (2.50 sentences/s, 10.00 tokens/s)\n"
GROWN += "Generate test with beam=1: BLEU4 = 82.74, 100.0/100.0/100.0/100.0\n"


def test_iterations_are_drawn_from_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, figure = tmp_path / "log", tmp_path / "figure.svg"
    log.write_text(GROWN + logged(1, "x", "y", ("-0.1", "y", *["y"] * 4)), "utf-8")
    assert run_script(figures, "iterations", log, "--output", figure) == 0
    assert capsys.readouterr().out == f"{figure}: 2 sentences, 0.50 iterations on average\n"
    drawn = figure.read_text(encoding="utf-8")
    for text in ("one token per iteration", "logarithm of the length", "tokens of the output"):
        assert text in drawn
    assert run_script(figures, "iterations", log, "--output", figure, "--bins", "1") == 0
    assert figure.read_text(encoding="utf-8") != drawn


def test_scores_are_drawn_by_iteration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, log in (("grown", GROWN), ("other", GROWN.replace("▁b", "▁y"))):
        (tmp_path / name).write_text(log, "utf-8")
    (tmp_path / "reference").write_text("a b c d\n", encoding="utf-8")
    logs = ["oracle", f"right={tmp_path / 'grown'}", tmp_path / "other", "--output", tmp_path / "figure.svg"]
    words = [*logs, "--post-process", "sentencepiece", "--reference", tmp_path / "reference"]
    assert run_script(figures, *words, "--metric", "ter") == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["right: 100.00 75.00 0.00", "other: 100.00 75.00 25.00"]
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert all(f">{text}<" in drawn for text in ("right", "other", "iterations", "TER"))
    assert run_script(figures, *logs) == 0  # the pieces of the log's own references
    assert capsys.readouterr().out.splitlines()[0].endswith(" 100.00")


def test_scores_are_drawn_against_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, figure = tmp_path / "log", tmp_path / "figure.svg"
    log.write_text(GROWN, "utf-8")
    assert run_script(figures, "exits", f"1-1-2={log}", log, "--output", figure) == 0
    assert capsys.readouterr().out == f"1-1-2: 82.74 BLEU, 400.0 ms\nlog: 82.74 BLEU, 400.0 ms\n{figure}: 2 logs\n"
    assert ">1-1-2<" in figure.read_text(encoding="utf-8")
