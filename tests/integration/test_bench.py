"""``bench/run.py --quick`` runs, its JSON has the promised shape, both decoders say the same. Never its times."""

import json
from pathlib import Path

import pytest

from tests.commands import ROOT, Result, run, succeed

pytestmark = pytest.mark.slow

SPREAD = {"median", "lower_quartile", "upper_quartile", "measurements"}
PAIRED = {"fairseq_seconds", "ours_seconds", "ratio"}


def bench(*arguments: object, script: str = "run.py") -> Result:
    return run("python", ROOT / "bench" / script, *arguments, timeout=1200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def quick(folder: Path) -> dict:
    ran = bench("--quick", "--out", folder / "found.json", "--weights", folder / "weights.pt")
    assert ran.code == 0, ran.err
    assert "| decoding, batch 100" in ran.err
    return json.loads((folder / "found.json").read_text("utf-8"))


def test_both_decoders_say_the_same_and_every_measurement_comes_with_its_spread(quick: dict) -> None:
    assert quick["format"] == 1 and quick["machine"]["threads_used"] == 1 and quick["machine"]["products"]
    assert {"python", "torch", "fairseq", "numpy", "lev_plugins"} == set(quick["versions"])
    assert quick["model"]["words"] == 80 and quick["model"]["parameters"] > 0
    assert [line["batch"] for line in quick["decoding"]] == [1, 100]
    for line in quick["decoding"]:
        assert line["identical"] is True and line["words"] > 0
        assert sum(line["iterations"]["histogram"].values()) == line["sentences"]
    for line in [*quick["decoding"], quick["training"], quick["labels"]]:
        for name in PAIRED:
            assert set(line[name]) == SPREAD
            assert 0 < line[name]["lower_quartile"] <= line[name]["median"] <= line[name]["upper_quartile"]
    assert [(line["batch"], line["beam"]) for line in quick["autoregressive"]] == [(1, 1), (1, 4), (100, 1), (100, 4)]
    assert all(set(line["seconds"]) == SPREAD for line in quick["autoregressive"])


def test_takes_checkpoints_of_ones_own(quick: dict, folder: Path) -> None:
    """The kept weights are a checkpoint as fairseq writes them: with data, it can be measured like any other."""
    words = quick["plan"]["small"]["words"] - 4
    data, text = folder / "bin", folder / "text"
    text.write_text("".join(f"w{i} w{i + 1} w{i + 2} w{i + 3}\n" for i in range(10)), "utf-8")
    (folder / "dict.txt").write_text("".join(f"w{i} 1\n" for i in range(words)), "utf-8")
    for side in ("source", "target"):
        (folder / f"text.{side}").write_text(text.read_text("utf-8"), "utf-8")
    succeed(
        *("fairseq-preprocess", "-s", "source", "-t", "target", "--destdir", data),
        *("--srcdict", folder / "dict.txt", "--tgtdict", folder / "dict.txt"),
        *("--trainpref", text, "--testpref", text, "--workers", "1"),
    )
    ran = bench("--quick", "--checkpoint", folder / "weights.pt", "--data", data)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["model"]["encoder_embed_dim"] == quick["plan"]["small"]["dim"]
    assert all(line["identical"] for line in found["decoding"])


def test_a_step_of_pbd_is_measured_beside_the_transformers(folder: Path) -> None:
    ran = bench("--size", "quick", "--pbd-layers", 1, "--out", folder / "steps.json", script="pbd_step.py")
    assert ran.code == 0, ran.err
    found = json.loads((folder / "steps.json").read_text("utf-8"))
    assert (found["format"], found["beam"], found["goal"]) == (1, 5, 1.15)
    assert found["parameters"]["ours"] < found["parameters"]["fairseq"] and found["pbd_layers"] == 1
    assert [line["source_length"] for line in found["steps"]] == [8, 16]
    for line in found["steps"]:
        assert all(set(line[name]) == SPREAD for name in PAIRED)
    assert ran.err.count("| <= 1.15 |") == 2


def test_growth_is_measured_and_drawn(folder: Path) -> None:
    out, figure = folder / "growth.json", folder / "growth.svg"
    ran = bench("--quick", "--out", out, "--figure", figure, "--weights", folder / "weights.pt", script="growth.py")
    assert ran.code == 0, ran.err
    found = json.loads(out.read_text("utf-8"))
    assert [each["words"] for each in found["length"]] == [8, 9]
    assert [each["sentences"] for each in found["batch"]] == [1, 2]
    assert [each["entries"] for each in found["dictionary"]] == [60, 80]
    assert all(each["ours_ms"] > 0 and set(each["ratio"]) == SPREAD for each in found["length"] + found["batch"])
    assert "| dictionary entries: 80 |" in ran.err and "| training, dictionary entries: 60 |" in ran.err
    drawn = figure.read_text("utf-8")
    assert "words in a sentence" in drawn and "peak memory of training" in drawn
    again = folder / "again.svg"
    assert bench("--read", out, "--figure", again, script="growth.py").code == 0 and again.read_text("utf-8") == drawn
