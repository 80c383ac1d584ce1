"""A model folder of a stranger, or a damaged one, is refused in one sentence, and nothing outside it is read."""

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
from tests.helpers import Refusal
from tests.systems import GOLDEN, SYSTEMS

Change = Callable[[dict[str, Any]], None]
LABELS = [str(GOLDEN / "labels" / "checkpoint.pt"), "--data", str(GOLDEN / "labels" / "data")]
PBD = [str(GOLDEN / "pbd" / "checkpoint.pt"), "--data", str(GOLDEN / "noisy" / "data"), "--bpe", "chars"]


def exported(out: Path, *flags: str) -> Path:
    assert main(["export", flags[0], str(out), "--no-graphs", *flags[1:]]) == 0
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("pbd") / "out", *PBD)


def edited(config: Change) -> Callable[[Path], None]:
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

    return edited(change)


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


def without_one(tensors: dict[str, Any]) -> None:
    del tensors[sorted(tensors)[0]]


def wider(tensors: dict[str, Any]) -> None:
    name = next(name for name, weight in tensors.items() if weight.dim() == 2)
    tensors[name] = tensors[name].repeat(1, 2)


def link(name: str, target: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).rename(folder.parent / "outside.txt")
        (folder / name).symlink_to(target)

    return change


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "older": (entry("format", value=1), "has format version 1, but .* reads version 2"),
    "newer": (entry("format", value=3), "has format version 3, but .* reads version 2"),
    "no format": (edited(lambda c: c.pop("format")), "was not written by lev-plugins export"),
    "not JSON": (content("config.json", b"{"), r"config\.json is not valid JSON"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "is not a model folder, because it has no config"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), r"is incomplete, .* no model\.safetensors"),
    "no dictionary": (lambda folder: (folder / "dict.noisy.txt").unlink(), r"is incomplete, .* no dict\.noisy\.txt"),
    "other dictionary": (content("dict.noisy.txt", b"a 1\n"), r"dict\.noisy\.txt is not the file that was exported"),
    "unknown entry": (entry("more", value=1), "has an unknown entry 'more'"),
    "missing entry": (edited(lambda c: c.pop("task")), "has no entry 'task'"),
    "text style": (entry("text_style", "tall", value=True), "text_style has an unknown entry 'tall'"),
    "unknown flag": (entry("model_flags", "encoder_embed_path", value="/etc/passwd"), "unknown entry 'encoder_embed_"),
    "unknown task flag": (entry("task_flags", "data", value="/"), "task_flags has an unknown entry 'data'"),
    "another task": (entry("task", value="translation"), "task must be text_labelling for a labeller"),
    "another model": (entry("architecture", value="lstm"), "the architecture must be one of pbd, .*, but is 'lstm'"),
    "another kind": (entry("kind", value="server"), "kind must be editor, or labeller"),
    "tokeniser": (entry("tokeniser", value="gpt2"), "tokeniser must be null or one of sentencepiece"),
    "language": (entry("task_flags", "source_lang", value="../x"), r"files must have dict\.\.\./x\.txt"),
    "way out": (entry("files", "../x", value=""), r"a name in files must have only letters, .* but is '\.\./x'"),
    "dictionary not listed": (edited(lambda c: c["files"].pop("dict.noisy.txt")), r"files must have dict\.noisy\.txt"),
    "no language": (edited(lambda c: c["task_flags"].pop("target_lang")), r"files must have dict\.None\.txt"),
    "tokeniser not listed": (entry("tokeniser", value="sentencepiece"), r"files must have sentencepiece\.bpe\.model"),
    "link": (link("dict.noisy.txt", "../outside.txt"), "is a link that leads out of the folder: copy the folder with"),
    "link to itself": (link("model.safetensors", "model.safetensors"), r"is incomplete, .* no model\.safetensors"),
    "endless": (link("config.json", "/dev/zero"), "is not a model folder|leads out"),
    "many layers": (entry("model_flags", "layers", value=10**9), "--layers must be at most 1000, but is 1000000000"),
    "beam": (entry("decoding", "beam", value=10**6), r"config\.json, decoding: --beam must be between 1 and 1000"),
    "NaN": (weights(with_nan), "the model has NaN or infinite weights, first in"),
    "a weight less": (weights(without_one), r"cannot be loaded \(KeyError: .*\): export it again"),
    "other sizes": (weights(wider), "cannot be loaded .*: export it again"),
    "cut short": (lambda folder: os.truncate(folder / "model.safetensors", 1000), "is not the file that was exported"),
    "a link for the weights": (link("model.safetensors", "../outside.txt"), "is a link that leads out of the folder"),
}


DAMAGES_OF_LABELLERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "template": (entry("labelling", "template", value="{0.__class__}"), "template may have"),
    "kind": (entry("labelling", "kind", value="guessing"), "kind must be classification or"),
    "columns": (entry("labelling", "columns", value=0), "columns must be between 1 and 1000"),
    "longest": (entry("labelling", "longest", value=10**9), "longest must be between 1 and 1000000"),
    "separator": (entry("labelling", "separator", value=""), "separator must not be empty"),
    "labels not listed": (edited(lambda c: c["files"].pop("labels.txt")), r"files must have labels\.txt"),
    "unknown entry of labelling": (entry("labelling", "more", value="/etc/passwd"), "has an unknown entry 'more'"),
    "a task of editors": (entry("task", value="text_editing"), "task must be text_labelling for a labeller"),
    "NaN in a labeller": (weights(with_nan), "the model has NaN or infinite weights"),
}


@pytest.fixture(scope="module")
def labeller(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("labels") / "out", *LABELS)


@pytest.mark.parametrize("damage", [*DAMAGES, *DAMAGES_OF_LABELLERS])
def test_a_damaged_folder_is_refused_in_one_line(
    damage: str, folder: Path, labeller: Path, tmp_path: Path, refusal: Refusal
) -> None:
    copy = Path(shutil.copytree(folder if damage in DAMAGES else labeller, tmp_path / "copy"))
    change, message = (DAMAGES | DAMAGES_OF_LABELLERS)[damage]
    change(copy)
    assert re.search(message, refusal("export", copy, tmp_path / "out"))


def test_what_is_no_model_folder(
    folder: Path, golden_folder: Callable[[str], Path], tmp_path: Path, refusal: Refusal
) -> None:
    assert "is not a model folder, because it has no config.json" in refusal("edit", tmp_path)
    assert "none is no model folder" in refusal("info", "none")
    assert "none is no model folder" in refusal("edit", "none")
    assert "use lev-plugins edit" in refusal("label", golden_folder("pbd"))
    assert "use lev-plugins label" in refusal("edit", golden_folder("labels"))
    assert "a data folder is given as well" in refusal("export", folder, tmp_path / "out", "--data", tmp_path)


def test_a_folder_whose_name_fairseq_would_divide(folder: Path, tmp_path: Path, refusal: Refusal) -> None:
    copy = shutil.copytree(folder, tmp_path / "a:b")
    said = refusal("export", copy, tmp_path / "out")
    assert re.search(r"cannot read .*a:b, because its name has the character ':': rename it", said)


def test_a_backbone_has_only_the_files_that_are_listed(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = SYSTEMS["gated_byt5"](tmp_path).export(tmp_path / "out", "--no-graphs")
    (folder / "backbone" / "generation_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"must have exactly the files config\.json, dict\.txt, symbols\.txt"):
        load_model.read_model(folder, {})


def test_a_weight_that_is_not_learnt_must_be_finite_too(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    SYSTEMS["gated_bart"](tmp_path).export(tmp_path / "out", "--no-graphs")
    weights(lambda tensors: tensors["decoder.backbone.head.bias"].fill_(torch.nan))(tmp_path / "out")
    with pytest.raises(UserError, match=r"NaN or infinite weights, first in decoder\.backbone\.head\.bias"):
        load_model.read_model(tmp_path / "out", {})
