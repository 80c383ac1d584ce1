"""Every bench but the first runs and says what it promises, with stand-ins for its peers. Never its speeds."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from bench import (
    editing,
    eight_bits,
    label_sets,
    labelling,
    noise,
    outside,
    passes,
    same_edits,
    serve,
    translation,
    weights,
    writing,
)
from bench.eight_bits import QUICK, Plain, Stack
from bench.systems import Size, ours
from lev_plugins import checkpoints
from lev_plugins.errors import UserError
from lev_plugins.runtime.refinement import GraphPolicies
from tests.unit.test_editor import GOLDEN, NOISES, NOISY, SOURCES
from tests.unit.test_editor import LEVT as DATA

SPREAD = {"median", "lower_quartile", "upper_quartile", "measurements"}


@pytest.fixture
def measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, list[str]]]:
    """What a bench found, and the rows of the table that it showed."""

    def of(bench: Any, *flags: str) -> tuple[Any, list[str]]:
        bench.main([*flags, "--out", str(tmp_path / "found.json")])
        rows = [line for line in capsys.readouterr().err.splitlines() if line.startswith("|")]
        return json.loads((tmp_path / "found.json").read_text("utf-8")), rows

    return of


class StandIn:
    """In place of CTranslate2: what it was asked to convert, and how it was asked to translate."""

    def __init__(self) -> None:
        self.converted: list[tuple[str, str | None]] = []  # folder and quantisation
        self.searches: list[dict[str, Any]] = []

    def converter(self, checkpoint: str, data: str) -> Any:
        assert checkpoints.load(checkpoint)["args"].arch == "transformer"
        assert (Path(data) / "dict.source.txt").is_file() and (Path(data) / "dict.target.txt").is_file()
        return SimpleNamespace(convert=lambda out, quantization: self.converted.append((Path(out).name, quantization)))

    def translator(self, folder: str, **options: Any) -> Any:
        assert options == {"intra_threads": 1, "inter_threads": 1, "compute_type": Path(folder).name}
        return SimpleNamespace(translate_batch=self.translate)

    def translate(self, lines: list[list[str]], max_decoding_length: int, **options: Any) -> list[Any]:
        assert options["min_decoding_length"] == max_decoding_length == max(map(len, lines))
        self.searches.append(options)
        return [SimpleNamespace(hypotheses=[line]) for line in lines]


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    made: Any = ModuleType("ctranslate2")
    made.converters = SimpleNamespace(FairseqConverter=stand_in.converter)
    made.Translator = stand_in.translator
    monkeypatch.setitem(sys.modules, "ctranslate2", made)
    monkeypatch.setattr("bench.peer.find_spec", lambda name: name == "ctranslate2")
    return stand_in


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Does not exist yet: the first benchmark trains for it."""
    return str(tmp_path_factory.mktemp("bench_editing") / "weights.pt")


@pytest.mark.slow
def test_every_text_and_precision_is_measured(peer: StandIn, weights_file: str, measured: Any) -> None:
    found, shown = measured(editing, "--quick", "--weights", weights_file, "--wrong", "0,20")
    assert peer.converted == [("int8", "int8")] and {search["beam_size"] for search in peer.searches} == {1}
    lines = found["editing"]
    kinds = [(line["batch"], line["wrong"], line["precision"]) for line in lines]
    assert kinds == [(batch, wrong, how) for batch in (1, 100) for wrong in (0.0, 0.2) for how in editing.OURS]
    assert found["format"] == 1 and {"machine", "versions", "clock", "model"} <= found.keys()
    assert all(line["ratio"]["median"] > 0 and line["iterations_mean"] >= 1 for line in lines)
    assert all(0 <= line["sentences_right"] <= 1 for line in lines)
    assert len(shown) == 2 + len(lines) and len({line.count("|") for line in shown}) == 1


@pytest.mark.slow
def test_early_exits_make_the_same_edits(peer: StandIn, weights_file: str, measured: Any) -> None:
    late, early = (
        measured(editing, "--quick", *flags, "--weights", weights_file, "--wrong", "20")[0]
        for flags in ([], ["--early-exits"])
    )
    assert [each["model"]["early_exit"] for each in (late, early)] == ["2,2,2", "1,1,2"]
    edits = [[(line["iterations_mean"], line["sentences_right"]) for line in each["editing"]] for each in (late, early)]
    assert edits[0] == edits[1] and all(iterations > 1 for iterations, _ in edits[0])  # 1: nothing was edited


def test_what_is_exported_is_our_encoder() -> None:
    torch.manual_seed(1)
    stack = Stack(QUICK).eval()
    x = torch.randn(2, 7, QUICK.dim)
    with torch.no_grad():
        assert torch.allclose(stack(x), Plain(stack)(x), atol=1e-5)


def test_label_sets_of_every_size_and_every_way_to_batch(monkeypatch: pytest.MonkeyPatch, measured: Any) -> None:
    monkeypatch.setattr(label_sets, "QUICK", replace(label_sets.QUICK, memory=True))
    monkeypatch.setattr(label_sets, "peak_memory", lambda device, build, prepare: prepare(build())() or 5_000_000)
    found, shown = measured(label_sets, "--quick")
    assert {line["labels"] for line in found["lines"]} == {1, 3, 10, 30}
    assert {"| labelling, milliseconds | 1 | 3 | 10 | 30 |", "| training, milliseconds | 1 | 3 | 10 | 30 |"} <= {*shown}
    assert sum(row.count(", 5 MB") for row in shown) == len(found["lines"])
    found, _ = measured(labelling, "--quick")
    assert [line["rows"] for line in found["lines"]] == ["as they come", "by length", "packed, 64"] * 6
    padded, _, packed = (line["real_tokens"] for line in found["lines"][:3])
    assert 0 < padded < packed <= 1


def test_a_label_that_a_t5_writes(measured: Any) -> None:
    pytest.importorskip("transformers")
    found, shown = measured(writing, "--size", "quick")
    assert [(line["source"], line["pieces"]) for line in found["lines"]] == [(8, 1), (8, 2)] and len(shown) == 4
    assert found["parameters"]["ours"] < found["parameters"]["t5"]


@pytest.mark.slow
def test_what_is_outside_of_products(measured: Any) -> None:
    found, _ = measured(outside, "--quick")
    for each in (found["outside"]["fairseq"], found["outside"]["ours"]):
        assert each["outside"] == pytest.approx(each["seconds"] - each["inside"]) and each["inside"] > 0


def test_every_length_in_8_bits(monkeypatch: pytest.MonkeyPatch, measured: Any) -> None:
    names = [f"{library}, {precision}" for library in ("torch", "ONNX Runtime") for precision in ("fp32", "int8")]
    monkeypatch.setattr(eight_bits, "find_spec", lambda _: object())

    def by_onnx(stack: Stack, *_: Any) -> dict[str, eight_bits.Runner]:
        return dict.fromkeys(names[2:], lambda x: stack(torch.from_numpy(x)).detach().numpy())

    monkeypatch.setattr(eight_bits, "by_onnx", by_onnx)
    found, _ = measured(eight_bits, "--quick", "--rounds", "2")
    lines = found["eight_bits"]
    assert [(line["tokens"], line["system"]) for line in lines] == [(n, name) for n in (10, 30, 120) for name in names]
    for line in lines:
        assert line["seconds"]["median"] > 0 and (0 < line["error"] < 0.05) == (line["system"] == "torch, int8")


def test_every_kind_of_noise(monkeypatch: pytest.MonkeyPatch, measured: Any) -> None:
    monkeypatch.setitem(sys.modules, "nlpaug", None)
    found, _ = measured(noise, "--quick")
    assert [line["kind"] for line in found["ours"]] == noise.KINDS_MEASURED and found["nlpaug"] == []
    assert all(set(line["words_per_second"]) == SPREAD for line in found["ours"])
    assert found["text"]["lines"] == 50 and {"machine", "versions", "clock", "goal"} <= set(found)


@pytest.mark.slow
def test_a_server_is_measured(tmp_path: Path, measured: Any) -> None:
    texts = tmp_path / "texts"
    texts.write_text("".join(f"{text}\n\n" for text in NOISES), "utf-8")
    flags = ["--data", str(NOISY), "--bpe", "chars", "--beam", "2", "--texts", str(texts), "--quick"]
    found, shown = measured(serve, str(GOLDEN / "pbd" / "checkpoint.pt"), *flags)
    assert {"machine", "versions", "clock", "goal"} <= set(found) and found["texts"]["sentences"] == 16
    assert 0 < found["latency_seconds"]["p50"] <= found["latency_seconds"]["p99"]
    for name in ("sentences_per_second", "processor_seconds"):
        assert set(found[f"one_client_{name}"]) == set(found[f"64_clients_{name}"]) == SPREAD
    assert set(found["ratio"]) == set(found["start_seconds"]) == SPREAD
    assert any("| ratio (goal: 3) |" in line for line in shown)
    loading = serve.load_seconds(str(GOLDEN / "levt" / "checkpoint.pt"), str(DATA), SOURCES[0], 1)
    assert loading is not None and loading["median"] > 0
    assert serve.load_seconds("none", "", "text", 1) is None


def test_every_translator_is_measured(peer: StandIn, measured: Any) -> None:
    found, shown = measured(translation, "--quick")
    assert peer.converted == [("float32", None), ("int8", "int8"), ("int8", "int8")]
    assert {search["beam_size"] for search in peer.searches} == {1, 4}
    lines = found["translation"]
    names = [f"{name}, {how}" for name in ("levt", "levt_fast") for how in editing.OURS]
    names += [f"CTranslate2, {how}" for how in ("float32, beam 1", "int8, beam 1", "int8, beam 4")]
    names += ["CTranslate2 as levt_fast, int8, beam 1"]
    assert [(line["batch"], line["system"]) for line in lines] == [(n, name) for n in (1, 100) for name in names]
    for line in lines:
        assert line["sentences_per_second"] > 0 and line["bleu"] is None
        assert (line["iterations_mean"] is None) == line["system"].startswith("CTranslate2")
        assert line["ratio"]["median"] == 1 or line["system"] != translation.THEIRS
    iterations = {(line["batch"], line["system"]): line["iterations_mean"] for line in lines}
    for key, count in iterations.items():
        assert "graphs" not in key[1] or count == iterations[key[0], key[1].replace("graphs, ", "")]
    assert len(shown) == 2 + len(lines)


def test_passes_of_graphs_that_are_told_what_to_say(
    peer: StandIn, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes.Light, "policies", GraphPolicies)  # put back afterwards
    found, shown = measured(passes, "--quick")
    lines = [line for line in found["passes"] if line["system"] != passes.THEIRS]
    assert len(found["passes"]) == 12 and len(shown) == 14 and peer.converted == [("int8", "int8")]
    assert [line["iterations_mean"] for line in lines[:4]] == [3.5, 3.5, 2.0, 2.0]
    assert all(line["iterations_mean"] <= 2 and line["ratio"]["median"] > 0 for line in lines[4:])


def test_a_model_grows_to_any_depth_and_says_the_same() -> None:
    """The added blocks add nothing."""
    torch.manual_seed(1)
    size = Size(dim=16, ffn_dim=32, heads=2, layers=2, words=60)
    small = weights.train_narrow(size, updates=2, batch=4, rate=1e-3)
    grown = weights.grow(small, 2, (5, 3), size.words)
    row = weights.sentences(1, size.words, seed=3)[0][None]
    logits = []
    for each in (small, grown):
        model = ours(each).model.eval()
        states = model.decoder.states("deletion", row, model.encode(row))
        logits.append(model.decoder.deletion_logits(states))
    assert (len(model.encoder.layers), len(model.decoder.stack("shared"))) == (5, 3)
    assert torch.allclose(*logits, atol=1e-5)


@pytest.mark.parametrize(
    ("bench", "flags", "message"),
    [
        (editing, ["--quick"], "ctranslate2 is not installed: pip install ctranslate2"),
        (translation, ["--quick"], "ctranslate2 is not installed: pip install ctranslate2"),
        (eight_bits, ["--quick"], "not installed: onnx, onnxruntime: pip install onnx onnxruntime"),
        (serve, ["none", "--texts", "texts", "--quick"], r"does not start: try .* -m lev_plugins serve none --cpu"),
        (serve, ["none", "--texts", "empty"], "empty is empty: name a file with sentences, one per line"),
    ],
)
def test_what_a_bench_refuses(
    bench: ModuleType, flags: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("texts", "a\n"), ("empty", "\n")):
        Path(name).write_text(text)
    for module in ("bench.peer", "bench.eight_bits"):
        monkeypatch.setattr(f"{module}.find_spec", lambda _: None)
    with pytest.raises(UserError, match=message):
        bench.main(flags)


@pytest.mark.slow
def test_graphs_are_compared_with_torch(capsys: pytest.CaptureFixture[str]) -> None:
    same_edits.main(["--kinds", "pbd", "regression", "--lines", "9"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [(row["kind"], row["lines"], row["equal"]) for row in rows] == [("pbd", 9, 9), ("regression", 9, 9)]
