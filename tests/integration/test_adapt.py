"""An editor that is trained further on pairs, by the real command lines."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lev_plugins.utils import model_folder
from tests.commands import ENVIRONMENT, succeed
from tests.helpers import write_lines
from tests.integration.test_spelling import VOCABULARY, prepare_clean_text, train_speller

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base_editor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An editor of a small language, exported with what is needed to train it further."""
    place = tmp_path_factory.mktemp("adapt")
    data = prepare_clean_text(place, {"train": 200, "valid": 100})
    train_speller(data, place / "model", "--lr", 0.005, "--max-update", 60, "--disable-validation")
    noisy, clean = place / "valid.noisy", place / "valid.clean"
    flags = ["--bpe", "words", "--iter-decode-max-iter", 1, "--calibrate", noisy, clean, "--clean", clean]
    flags += ["--promise-broken", 80, "--sample", place / "train.clean", "--no-graphs"]
    flags += ["--half", "--license", "cc-by-4.0"]
    succeed("lev-plugins", "export", place / "model" / "checkpoint_last.pt", place / "editor", *flags)
    return place / "editor"


@pytest.fixture(scope="module")
def journal(base_editor: Path) -> Path:
    """Writes pairs with a word that the dictionary lacks and a typo that its noise does not make."""
    draw = random.Random(2)
    rows = [" ".join(draw.choices(VOCABULARY, k=draw.randint(2, 6))) for _ in range(120)]
    lines = [f"{row} tennzor foorm.\t{row} tensor form." for row in rows]
    return write_lines(base_editor.parent / "journal.tsv", lines)


def test_a_trainable_folder_has_its_noise_and_texts(base_editor: Path) -> None:
    config = model_folder.read(base_editor)
    assert (
        config.promises == {"read": 80} and config.noise["kind"] == "swap,delete" and config.noise["word_rate"] == 0.4
    )
    assert (base_editor / "sample.txt").read_text() == (base_editor.parent / "train.clean").read_text()
    assert (base_editor / "promised.txt").read_text() == (base_editor.parent / "valid.clean").read_text()


def test_an_adapted_editor_learns_the_pairs_and_keeps_its_promise(base_editor: Path, journal: Path) -> None:
    out = base_editor.parent / "adapted"
    result = succeed("lev-plugins", "adapt", base_editor, journal, out, "--updates", 60)
    assert "new words: 1;" in result.err and "is complete" in result.out
    rows = {line.split()[0]: line.split()[1:] for line in result.out.splitlines()}
    assert float(rows["after"][0]) > float(rows["before"][0]) + 10
    config, adapted_config = model_folder.read(base_editor), model_folder.read(out)
    assert (adapted_config.promises, adapted_config.noise) == (config.promises, config.noise)
    assert (out / "sample.txt").read_text() == (base_editor / "sample.txt").read_text()
    graphs = {path.name for path in (out / "graphs").glob("*.onnx")}  # although the folder has none
    assert graphs == {f"{name}.int8.onnx" for name in ("encoder", "decide", "fill")}
    assert "\nlicense: cc-by-4.0\n" in (out / "README.md").read_text()
    text = "the tennzor of the vlaue.\n"
    assert succeed("lev-plugins", "edit", out, stdin=text.encode()).out == "the tensor of the value.\n"
    before_it = base_editor.parent / "before"
    succeed("lev-plugins", "export", base_editor, before_it)
    assert "tensor" not in succeed("lev-plugins", "edit", before_it, stdin=text.encode()).out
    harm = {}
    for editor in (before_it, out):  # of the text that it was made from
        edited = succeed("lev-plugins", "edit", editor, stdin=(base_editor / "promised.txt").read_bytes()).out
        Path(base_editor.parent / "edited").write_text(edited)
        score = succeed(
            "lev-plugins", "score", "harm", base_editor.parent / "edited", base_editor / "promised.txt", "--json"
        )
        harm[editor] = json.loads(score.out)["system"]["score"]
    assert harm[out] <= 80
    assert not [path for path in base_editor.parent.iterdir() if path.name.startswith(".adapted")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_adapt_leaves_no_files(base_editor: Path, journal: Path, number: int) -> None:
    out = base_editor.parent / "stopped"
    command = [sys.executable, "-m", "lev_plugins", "adapt", base_editor, journal, out, "--updates", "100000"]
    with subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stderr is not None and "training on" in process.stderr.readline()
        time.sleep(5)
        process.send_signal(number)
        assert process.wait(60) in (128 + number, -number)
    assert not out.exists() and not [path for path in base_editor.parent.iterdir() if path.name.startswith(".stopped")]
