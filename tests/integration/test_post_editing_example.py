"""examples/post_editing as its README calls it, on a text of a few hundred invented sentences."""

import json
import random
import re
from pathlib import Path

from examples.stages import Run
from tests.commands import ROOT, readme_command, readme_commands, succeed
from tests.examples import load_script

EXAMPLE = ROOT / "examples" / "post_editing"
WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "runs", "sleeps", "sits", "eats", "now"]
SMALL = ["VOCAB=60", "TOKENS=400", "LAYERS=1", "WIDTH=16", "FFN=32", "WARMUP=4", "UPDATES=10", "FINETUNE_UPDATES=10"]
SMALL += ["VALID_EVERY=5", "WEAK_EPOCHS=1", "BEAM=2", "MAX_ITER=2", "GAMMAS=0", "KEEP_BIASES=1", "GPUS=0", "THREADS=1"]
SYSTEMS = ["autoregressive", "scratch", "zero_shot", "finetuned", "translator", "translator_delete"]
SYSTEMS += ["translator_both", "finetuned_delete", "finetuned_both"]
SYSTEMS += ["scratch_unbiased", "zero_shot_unbiased", "finetuned_unbiased"]


def write_text(folder: Path, *suffixes: str) -> Path:
    draw = random.Random(1)
    folder.mkdir()
    for split, size in (("train", 300), ("valid", 8), ("test", 6)):
        text = [" ".join(draw.choices(WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        for suffix in suffixes:
            changed = text if suffix == "en" else [line.upper() for line in text]
            (folder / f"{split}.{suffix}").write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    return folder


def test_every_system_is_trained_and_scored(tmp_path: Path) -> None:
    """No drafts are given, so a weak system makes them; the LevTs learn what the autoregressive post-editor writes."""
    out = tmp_path / "run"
    command = readme_command("post_editing", 0, TEXT=write_text(tmp_path / "text", "en", "de"), OUT=out)
    printed = succeed(*command, *SMALL, "DISTIL=yes", timeout=600).out
    read = {"autoregressive": "triples", "scratch": "distil", "translator": "distil", "finetuned": "distil"}
    for name, data in read.items():
        assert f"'data': '{out}/{data}/data'" in (out / name / "log").read_text("utf-8")
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert "not yet run" not in (out / "report.md").read_text(encoding="utf-8")
    assert printed.endswith((out / "report.md").read_text(encoding="utf-8"))
    assert {f"test_{name}" for name in SYSTEMS} == {name for name, entry in found["systems"].items() if entry} - {
        "do_nothing"
    }
    assert all("iterations" in found["systems"][f"test_{name}"] for name in SYSTEMS if name != "autoregressive")
    drafts = (out / "drafts" / "test.draft").read_text(encoding="utf-8").splitlines()
    assert len(drafts) == 6 and not any("▁" in line for line in drafts)
    assert found["quality"].keys() == {"scratch", "zero_shot", "finetuned"}
    assert all(0 < each["bad"] <= 1 and -1 <= each["policy"]["matthews"] <= 1 for each in found["quality"].values())
    assert found["minutes"].keys() >= {"weak", "autoregressive", "scratch", "translator", "finetuned"}
    number = [words[-1] for words in readme_commands("post_editing")].index("figures")
    command = readme_command("post_editing", number, TEXT=tmp_path / "text", OUT=out)
    printed = succeed(*command, *SMALL, "DISTIL=yes", timeout=300).out
    assert re.findall(r"^(\S+): [\d.]+(?: [\d.]+)*$", printed, re.M) == ["alone", "delete", "delete+placeholder"] * 2
    assert all((out / f"{metric}.svg").read_text("utf-8").startswith("<?xml") for metric in ("bleu", "ter"))


def texts(*words: object) -> None:
    """The stages before the trainings of the systems."""
    module = load_script("post_editing/run")
    made = Run(EXAMPLE, [str(word) for word in [*words, *SMALL]])
    made.begin("TEXT OUT", "")
    module.texts(made, module.Setup(made))


def test_synthetic_triples_a_larger_text_and_word_for_word(tmp_path: Path) -> None:
    """Editors of one's own drafts, which also learn from other ones; a translator that learns from more text."""
    text, more = write_text(tmp_path / "text", "en", "de", "mt"), write_text(tmp_path / "more", "en", "de", "mt")
    out, words = tmp_path / "run", tmp_path / "words"
    texts(f"TEXT={text}", "DRAFT=mt", f"OUT={out}", f"SYNTHETIC={more}/train", f"PARALLEL={more}/train")
    assert (out / "triples" / "data" / "train1.en-de.en.bin").is_file() and (out / "pairs" / "done").is_file()
    texts(f"TEXT={text}", "WEAK=words", f"OUT={words}")
    assert (words / "triples" / "done").is_file()
    drafts = (words / "drafts" / "test.draft").read_text(encoding="utf-8").splitlines()
    assert drafts == (words / "drafts" / "test.de").read_text(encoding="utf-8").splitlines()  # capitals of each word
