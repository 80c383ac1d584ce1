"""Damaged or malicious model folders are refused in one line, and no file outside them is read."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from lev_plugins.cli.main import main
from lev_plugins.export import load_model
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, mentions
from tests.systems import GOLDEN, SYSTEMS

Change = Callable[[dict[str, Any]], None]
LABELLER_EXPORT = [str(GOLDEN / "labels" / "checkpoint.pt"), "--data", str(GOLDEN / "labels" / "data")]
CORRECTOR_EXPORT = [str(GOLDEN / "pbd" / "checkpoint.pt"), "--data", str(GOLDEN / "noisy" / "data"), "--bpe", "chars"]


def export_to(out: Path, *flags: str) -> Path:
    assert main(["export", flags[0], str(out), "--no-graphs", *flags[1:]]) == 0
    return out


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_to(tmp_path_factory.mktemp("pbd") / "out", *CORRECTOR_EXPORT)


def modify(config: Change) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        entries = json.loads(path.read_text("utf-8"))
        config(entries)
        path.write_text(json.dumps(entries), "utf-8")

    return change


def entry(*path: str, value: Any) -> Callable[[Path], None]:
    def change(entries: dict[str, Any]) -> None:
        for name in path[:-1]:
            entries = entries[name]
        entries[path[-1]] = value

    return modify(change)


def content(name: str, text: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(text) and None


def weights(change: Change) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        tensors = {name: weight.clone() for name, weight in load_file(folder / "model.safetensors").items()}
        change(tensors)
        save_file(tensors, folder / "model.safetensors")
        entry("files", "model.safetensors", value=model_folder.digest(folder / "model.safetensors"))(folder)

    return rewrite


def with_nan(tensors: dict[str, Any]) -> None:
    next(weight for weight in tensors.values() if weight.dim() == 2)[0, 0] = torch.nan


def without_first_weight(tensors: dict[str, Any]) -> None:
    del tensors[sorted(tensors)[0]]


def wider(tensors: dict[str, Any]) -> None:
    name = next(name for name, weight in tensors.items() if weight.dim() == 2)
    tensors[name] = tensors[name].repeat(1, 2)


def link(name: str, target: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).rename(folder.parent / "outside.txt")
        (folder / name).symlink_to(target)

    return change


EDITOR_DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "older": (entry("format", value=1), "version 1.* version 2"),
    "newer": (entry("format", value=3), "version 3.* version 2"),
    "no format": (modify(lambda c: c.pop("format")), "not written by lev-plugins export"),
    "not JSON": (content("config.json", b"{"), r"config\.json .*JSON"),
    "no config": (lambda folder: (folder / "config.json").unlink(), r"copy .*config\.json"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), r"no model\.safetensors"),
    "no dictionary": (lambda folder: (folder / "dict.noisy.txt").unlink(), r"no dict\.noisy\.txt"),
    "other dictionary": (content("dict.noisy.txt", b"a 1\n"), r"dict\.noisy\.txt .*exported"),
    "unknown entry": (entry("more", value=1), "'more'"),
    "missing entry": (modify(lambda c: c.pop("task")), "'task'"),
    "text style": (entry("text_style", "tall", value=True), "text_style .*'tall'"),
    "unknown flag": (entry("model_flags", "encoder_embed_path", value="/etc/passwd"), "'encoder_embed_"),
    "unknown task flag": (entry("task_flags", "data", value="/"), "task_flags .*'data'"),
    "another task": (entry("task", value="translation"), "task .*text_labelling"),
    "another model": (entry("architecture", value="lstm"), "architecture .*pbd, .*'lstm'"),
    "another kind": (entry("kind", value="server"), "kind .*editor, or labeller"),
    "tokeniser": (entry("tokeniser", value="gpt2"), "tokeniser .*sentencepiece"),
    "language": (entry("task_flags", "source_lang", value="../x"), r"files must have dict\.\.\./x\.txt"),
    "control characters": (
        entry("task_flags", "source_lang", value="a\u202e\x1b[31mb\nc"),
        r"dict\.a\\u202e\\u001b\[31mb\\u000ac\.txt",
    ),
    "way out": (entry("files", "../x", value=""), r"files .*'\.\./x'"),
    "dictionary not listed": (modify(lambda c: c["files"].pop("dict.noisy.txt")), r"files .*dict\.noisy\.txt"),
    "no language": (modify(lambda c: c["task_flags"].pop("target_lang")), r"files must have dict\.None\.txt"),
    "tokeniser not listed": (entry("tokeniser", value="sentencepiece"), r"files .*sentencepiece\.bpe\.model"),
    "link": (link("dict.noisy.txt", "../outside.txt"), r"dict\.noisy\.txt is a link"),
    "link to itself": (link("model.safetensors", "model.safetensors"), r"no model\.safetensors"),
    "endless": (link("config.json", "/dev/zero"), "is not a model folder|leads out"),
    "many layers": (entry("model_flags", "layers", value=10**9), "--layers .*1000.* 1000000000"),
    "beam": (entry("decoding", "beam", value=10**6), r"config\.json, decoding: --beam .*1000"),
    "dial": (entry("dials", value={"read": "0.3"}), "dials must be .*float"),
    "dial beyond 1": (modify(lambda c: c.update(dials={"read": 1.5}, promises={"read": 2})), r"dials: read .* 1\.5"),
    "other dial": (modify(lambda c: c.update(dials={"hook": 0.5}, promises={"hook": 2})), "dials .*read and write"),
    "dial without promise": (entry("dials", value={"read": 0.3}), "dials and promises .*same names"),
    "promise": (modify(lambda c: c.update(dials={"read": 0.5}, promises={"read": 0})), "promises: read .*above 0"),
    "NaN": (weights(with_nan), "NaN .*weights, first in"),
    "a weight less": (weights(without_first_weight), r"KeyError: .*export it again"),
    "other sizes": (weights(wider), "cannot be loaded .*export it again"),
    "cut short": (lambda folder: os.truncate(folder / "model.safetensors", 1000), r"model\.safetensors .*exported"),
    "a link for the weights": (link("model.safetensors", "../outside.txt"), r"model\.safetensors is a link"),
}


LABELLER_DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "template": (entry("labelling", "template", value="{0.__class__}"), "template"),
    "kind": (entry("labelling", "kind", value="guessing"), "kind .*classification"),
    "columns": (entry("labelling", "columns", value=0), "columns .*1000"),
    "longest": (entry("labelling", "longest", value=10**9), "longest .*1000000"),
    "separator": (entry("labelling", "separator", value=""), "separator .*empty"),
    "labels not listed": (modify(lambda c: c["files"].pop("labels.txt")), r"files .*labels\.txt"),
    "unknown entry of labelling": (entry("labelling", "more", value="/etc/passwd"), "'more'"),
    "a task of editors": (entry("task", value="text_editing"), "task .*text_labelling"),
    "NaN in a labeller": (weights(with_nan), "NaN .*weights"),
}


@pytest.fixture(scope="module")
def labeller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_to(tmp_path_factory.mktemp("labels") / "out", *LABELLER_EXPORT)


@pytest.mark.parametrize("damage", [*EDITOR_DAMAGES, *LABELLER_DAMAGES])
def test_a_damaged_folder_is_refused_in_one_line(
    damage: str, intact: Path, labeller: Path, tmp_path: Path, refusal: Refusal
) -> None:
    copy = Path(shutil.copytree(intact if damage in EDITOR_DAMAGES else labeller, tmp_path / "copy"))
    change, message = (EDITOR_DAMAGES | LABELLER_DAMAGES)[damage]
    change(copy)
    assert re.search(message, refusal("export", copy, tmp_path / "out"))


def test_paths_without_a_suitable_model_are_refused(
    intact: Path, golden_folder: Callable[[str], Path], tmp_path: Path, refusal: Refusal
) -> None:
    assert mentions(refusal("edit", tmp_path), f"{tmp_path} config.json")
    for command in ("info", "edit", "serve", "check --model"):
        assert mentions(refusal(*command.split(), "none"), f"none model folder {model_folder.BESIDE}")
    assert "use lev-plugins edit" in refusal("label", golden_folder("pbd"))
    assert "use lev-plugins label" in refusal("edit", golden_folder("labels"))
    assert mentions(refusal("export", intact, tmp_path / "out", "--data", tmp_path), "data folder")


def test_a_misspelt_name_is_answered_by_those_of_the_models_that_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    (tmp_path / "lev_plugins_fi").mkdir()
    (tmp_path / "lev_plugins_fi" / "__init__.py").touch()
    (tmp_path / "models" / "uk").mkdir(parents=True)
    (tmp_path / "models" / "uk" / "config.json").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(model_folder, "BESIDE", tmp_path / "models")
    assert mentions(refusal("edit", "fr"), f"fr {tmp_path / 'models'} fi uk")


def test_info_prints_no_control_characters(intact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Path(shutil.copytree(intact, tmp_path / "copy"))
    entry("made_with", value="a\x1b[31m\u202e\nb")(copy)
    entry("scores", value={"\x1b[1m": 1.0})(copy)
    capsys.readouterr()
    assert main(["info", str(copy)]) == 0
    printed = capsys.readouterr().out
    assert r"a\u001b[31m\u202e\u000ab" in printed and "\x1b" not in printed


def test_a_folder_with_a_colon_in_its_name_is_refused(intact: Path, tmp_path: Path, refusal: Refusal) -> None:
    copy = shutil.copytree(intact, tmp_path / "a:b")
    message = refusal("export", copy, tmp_path / "out")
    assert mentions(message, f"{tmp_path}/a:b ':'")


def test_an_unlisted_file_of_a_backbone_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = SYSTEMS["gated_byt5"](tmp_path).export(tmp_path / "out", "--no-graphs")
    (folder / "backbone" / "generation_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"files config\.json, dict\.txt, symbols\.txt"):
        load_model.read_model(folder, {})


def test_nan_in_a_fixed_weight_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    SYSTEMS["gated_bart"](tmp_path).export(tmp_path / "out", "--no-graphs")
    weights(lambda tensors: tensors["decoder.backbone.head.bias"].fill_(torch.nan))(tmp_path / "out")
    with pytest.raises(UserError, match=r"NaN .*decoder\.backbone\.head\.bias"):
        load_model.read_model(tmp_path / "out", {})
