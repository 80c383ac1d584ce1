"""``lev-plugins adapt``: refused arguments, training data and new words."""

import io
import json
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from lev_plugins.cli import adapt
from lev_plugins.cli.main import main
from lev_plugins.export.exporting import Extras, noise_of_folder
from lev_plugins.levt.config import LevTConfig
from lev_plugins.levt.task import TextEditingConfig
from lev_plugins.training import checkpoints
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, mentions, write_lines

TRAINABLE_FOLDERS = Path(__file__).resolve().parents[2] / "golden" / "folders" / "0.2"
SPELLER = TRAINABLE_FOLDERS / "levt-spelling" / "model"
CORRECT_LINES = [f"the value {number} of the function." for number in range(80)]
TYPO_LINES = [line.replace("value", "vlaue") for line in CORRECT_LINES]


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces signal handlers, which would stay in this process and keep workers of later tests from ending."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)


@pytest.fixture
def pairs(tmp_path: Path) -> list[Path]:
    return [write_lines(tmp_path / "noisy", TYPO_LINES), write_lines(tmp_path / "clean", CORRECT_LINES)]


def copied(folder: Path, change: Callable[[dict], object] = lambda entries: None) -> Path:
    """Copies the folder of the speller and changes its configuration."""
    shutil.copytree(SPELLER, folder)
    entries = json.loads((folder / "config.json").read_text("utf-8"))
    change(entries)
    (folder / "config.json").write_text(json.dumps(entries), "utf-8")
    return folder


def test_unusable_arguments_of_adapt_are_refused(tmp_path: Path, pairs: list[Path], refusal: Refusal) -> None:
    out = tmp_path / "out"
    few = [write_lines(tmp_path / f"few.{i}", lines[:20] * 9) for i, lines in enumerate((TYPO_LINES, CORRECT_LINES))]
    short = write_lines(tmp_path / "short", CORRECT_LINES[:70])
    odd = copied(tmp_path / "odd", lambda entries: entries.update(noise={"kind": "keyboard", "layout": "/etc/passwd"}))
    wrong = copied(tmp_path / "wrong", lambda entries: entries.update(noise={"kind": "swap", "speed": 1}))
    for arguments, words in (
        ((SPELLER, *few, out), f"{few[0]} 20 50"),
        ((SPELLER, pairs[0], short, out), f"{pairs[0]} 80 70"),
        ((SPELLER, pairs[1], out), f"{pairs[1]} line 1 NOISY<TAB>CLEAN"),
        ((SPELLER, *pairs, short, out), "3 files"),
        ((SPELLER, *pairs, out, "--updates", 0), "--updates 0"),
        ((SPELLER, *pairs, out, "--promise-broken", 0), "--promise-broken 0"),
        ((TRAINABLE_FOLDERS / "pbd" / "model", *pairs, out), "levt --spelling"),
        ((tmp_path / "none", *pairs, out), "none model folder"),
        ((SPELLER, *pairs, tmp_path), f"{tmp_path} empty"),
        ((odd, *pairs, out, "--updates", 1), "/etc/passwd layout"),
        ((wrong, *pairs, out), "config.json noise 'speed'"),
    ):
        assert mentions(refusal("adapt", *arguments), words), arguments
    light = copied(tmp_path / "light")
    (light / model_folder.WEIGHTS).unlink()
    assert mentions(refusal("adapt", light, *pairs, out), f"{light} model.safetensors --trainable")
    copied(tmp_path / "light-trainable")
    assert mentions(refusal("adapt", light, *pairs, out), f"{tmp_path / 'light-trainable'}")
    assert not out.exists() and not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]


def test_a_file_of_pairs_equals_two_parallel_files(tmp_path: Path, pairs: list[Path]) -> None:
    rows = [f"{noisy}\t{clean}" for noisy, clean in zip(TYPO_LINES, CORRECT_LINES, strict=True)]
    journal = write_lines(tmp_path / "journal.tsv", [*rows, rows[0], "\t", " \tx"])
    assert adapt.read_pairs([journal]) == adapt.read_pairs(pairs) == [*zip(TYPO_LINES, CORRECT_LINES, strict=True)]


def test_a_held_out_pair_depends_on_its_correction_alone() -> None:
    pairs = [*zip(TYPO_LINES, CORRECT_LINES, strict=True)]
    held_out = [pair for pair in pairs if adapt.is_held_out(pair)]
    assert 8 <= len(held_out) <= 24
    assert held_out[:5] == [pair for pair in pairs if adapt.is_held_out(pair)][:5]
    assert adapt.is_held_out((pairs[0][1], pairs[0][1])) == adapt.is_held_out(pairs[0])  # by the correction alone


def test_new_words_leave_the_weights_unchanged(tmp_path: Path) -> None:
    config = model_folder.read(SPELLER)
    assert adapt.grow(SPELLER, config, ["the tensor of the tensor", "Zürich."], tmp_path) == 2
    words = load_dictionary(tmp_path / "dict.txt")
    counts = {symbol: words.count[i] for i, symbol in enumerate(words.symbols)}
    assert words.symbols[4:] == ["▁the", "▁value", "▁of", "▁function", ".", "▁tensor", "▁Zürich"]
    assert [counts[word] for word in ("▁the", "▁of", ".", "▁tensor", "▁Zürich")] == [9 + 2, 7 + 1, 5 + 1, 2, 1]
    weights, stored = checkpoints.load(tmp_path / "start.pt")["model"], load_file(SPELLER / model_folder.WEIGHTS)
    vectors = weights["decoder.embedding.tokens.own.weight"]
    original = next(weight for name, weight in stored.items() if name.endswith("tokens.own.weight"))
    assert (
        torch.equal(vectors[:9], original[:9]) and torch.equal(vectors[11:], original[9:]) and not vectors[9:11].any()
    )
    assert len(weights["words.scorer.bias"]) == 11


def test_an_adapted_folder_that_breaks_its_promise_is_not_written(
    tmp_path: Path, pairs: list[Path], refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training is left out; the test reads the files of training and held-out text before the export."""

    def with_text(entries: dict) -> None:
        for name, lines in ((model_folder.SAMPLE, ["the function"] * 9), (model_folder.PROMISED, ["of value"] * 200)):
            path = write_lines(tmp_path / "folder" / name, lines)
            entries["files"][name] = model_folder.digest(path)
        entries["dials"], entries["promises"] = {"read": 0.5}, {"read": 4.0}

    seen: dict[str, list[str]] = {}

    def refuse(checkpoint: Path, out: Path, moved: dict, extras: Extras, **options: bool) -> None:
        for path in [Path(moved["data"]).parent / f"train.{side}" for side in ("noisy", "clean")]:
            seen[path.name] = path.read_text("utf-8").splitlines()
        for name, path in zip(("promised", "own"), extras.tuning.clean, strict=True):
            seen[name] = path.read_text("utf-8").splitlines()
        raise UserError(f"--promise-broken {extras.tuning.promises} cannot be kept")

    monkeypatch.setattr(adapt, "train_further", lambda *args: None)
    monkeypatch.setattr(adapt, "export", refuse)
    folder, out = copied(tmp_path / "folder", with_text), tmp_path / "out"
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert main(["adapt", *map(str, [folder, *pairs, out])]) == 2
    assert "--promise-broken {'read': 4.0} " in sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert not out.exists() and not [path for path in tmp_path.iterdir() if path.name.startswith(".out")]
    held_out = [clean for clean in CORRECT_LINES if adapt.is_held_out((clean, clean))]
    assert seen["own"] == ["of value"] * 200 and seen["promised"] == seen["own"] + held_out
    train = [pair for pair in zip(TYPO_LINES, CORRECT_LINES, strict=True) if not adapt.is_held_out(pair)]
    copies, rows = adapt.BALANCED_PAIRS // len(train), [*zip(seen["train.noisy"], seen["train.clean"], strict=True)]
    pairs_end, size = 2 * len(train) * copies, len(train) * copies + 9
    assert rows[:pairs_end] == train * copies * 2 and len(rows) == pairs_end + 2 * size
    for kind in (rows[pairs_end : pairs_end + size], rows[pairs_end + size :]):  # of the folder, and of the pairs
        assert [clean for _, clean in kind] == [clean for _, clean in train] * copies + ["the function"] * 9
        assert 0.2 < sum(a != b for a, b in kind[:-9]) / (size - 9) < 0.9
    assert {noisy for noisy, _ in kind[-9:]} == {"the function"}  # the pairs have no confusion in these words


def test_noise_is_learned_from_the_pairs() -> None:
    corrupt = adapt.learned_noise([("the vlaue", "the value"), ("vlaues", "values"), ("x", "y")])
    assert corrupt is not None
    assert {corrupt("no value is a value", number) for number in range(20)} == {"no vlaue is a vlaue"}
    assert adapt.learned_noise([("a", "a"), ("b", "c")]) is None


def test_flags_with_default_values_are_left_out() -> None:
    flags = {"dropout": 0.3, "max_insertions": 7, "spelling": True, "backbone": None, "deletion_layers": 0}
    assert sorted(adapt.command_flags(LevTConfig, flags)) == ["--dropout=0.3", "--max-insertions=7", "--spelling"]
    task = {"source_lang": "de", "left_pad_source": False, "max_ratio": 2.0}
    assert [*adapt.command_flags(TextEditingConfig, task)] == ["--left-pad-source"]


def test_noise_is_read_from_the_folder(tmp_path: Path) -> None:
    assert noise_of_folder(model_folder.read(SPELLER), SPELLER) == {}

    def with_layout(entries: dict) -> None:
        (tmp_path / "folder" / "layout.txt").write_text("0 the THE\n", "utf-8")
        entries["files"]["layout.txt"] = model_folder.digest(tmp_path / "folder" / "layout.txt")
        entries["noise"] = {"kind": "keyboard", "word_rate": 1.0, "layout": "layout.txt"}

    folder = copied(tmp_path / "folder", with_layout)
    noise = noise_of_folder(model_folder.read(folder), folder)
    assert noise == {"kind": "keyboard", "word_rate": 1.0, "layout": str(folder / "layout.txt")}
    assert adapt.build_corruption(adapt.NoiseOptions(**noise))("the", 0) in {"hhe", "tte", "tee", "thh"}  # type: ignore[arg-type]
