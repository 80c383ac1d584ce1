"""fairseq evaluates some flags of its models as Python: those of a stranger's model are never run."""

import json
import re
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fairseq
import numpy as np
import pytest
from omegaconf import OmegaConf

import lev_plugins
from lev_plugins import checkpoints
from lev_plugins.cli.main import main
from lev_plugins.errors import UserError
from tests.integration.commands import run
from tests.systems import GOLDEN

EVALUATES = re.compile(r"(?<![.\w])(?:utils\.|options\.)?eval(?:_str_list|_str_dict|_bool)?\(\s*([\w.]+)")
LINES = {"x", "uf", "strip"}  # in functions for the parser's flags, and a line of a file
NOISY = GOLDEN / "noisy" / "data"
FCONV = {
    **{f"{side}_embed_dim": 8 for side in ("encoder", "decoder")},
    **{f"{side}_embed_path": None for side in ("encoder", "decoder")},
    **{"arch": "fconv", "share_input_output_embed": False, "decoder_out_embed_dim": 8, "decoder_attention": "True"},
    **{"dropout": 0.1, "max_source_positions": 20, "max_target_positions": 20, "decoder_layers": "[(8, 3)]"},
}


def program(canary: Path) -> str:
    return f"__import__('pathlib').Path({str(canary)!r}).touch() or [10]"


def gated(flags: dict[str, Any], text: str) -> dict[str, Any]:
    return {**flags, "adaptive_softmax_cutoff": text}


def convolutions(_: dict[str, Any], text: str) -> dict[str, Any]:
    return {**FCONV, "encoder_layers": text}


def test_a_checkpoint_of_another_task(tmp_path: Path) -> None:
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    flags = {"lang_pairs": "noisy-clean", "source_lang": "noisy", "target_lang": "clean", "left_pad_target": "False"}
    flags |= {"data": str(NOISY), "left_pad_source": program(tmp_path / "canary")}
    flags |= {"encoder_langtok": None, "decoder_langtok": False}
    state["cfg"]["task"] = Namespace(task="multilingual_translation", **flags)
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(UserError, match="the flag left_pad_source of the model is a program"):
        lev_plugins.load(tmp_path / "checkpoint.pt")
    assert not (tmp_path / "canary").exists()


@pytest.fixture(params=[gated, convolutions])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What its model runs makes the file ``canary``."""
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    state["cfg"]["model"] = Namespace(**request.param(vars(state["cfg"]["model"]), program(tmp_path / "canary")))
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize(
    "model",
    [
        {"_name": "wav2vec2", "z": "[(8, 3)]", "conv_feature_layers": '${oc.select:model.z,"[exit()]"}'},
        Namespace(_name="gated_trans", adaptive_softmax_cutoff=["${oc.env:HOME}"]),
    ],
)
def test_a_reference_is_not_followed(model: Any, tmp_path: Path) -> None:
    """It may be data where it is checked, and a program, or a secret of the user, where it is used."""
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    state["cfg"]["model"] = model
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(UserError, match=r"is a reference, '.\{oc"):
        lev_plugins.load(tmp_path / "checkpoint.pt", NOISY)


def test_a_checkpoint(checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"is a program, .* which is not run"):
        lev_plugins.load(checkpoint, NOISY)
    assert not (checkpoint.parent / "canary").exists()


@pytest.mark.parametrize("task", ["text_correction", "translation"])
def test_a_checkpoint_for_fairseq_generate(checkpoint: Path, task: str) -> None:
    generate = ["fairseq-generate", NOISY, "--user-dir", Path(lev_plugins.__file__).parent, "--path", checkpoint]
    found = run(*generate, "--task", task, "--cpu")
    assert found.code != 0 and "which is not run" in found.err, found.err
    assert not (checkpoint.parent / "canary").exists()


def test_a_folder(tmp_path: Path) -> None:
    folder, canary = tmp_path / "model", tmp_path / "canary"
    assert main(["export", str(GOLDEN / "gated" / "checkpoint.pt"), str(folder), "--data", str(NOISY)]) == 0
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model_flags"]["adaptive_softmax_cutoff"] = program(canary)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(UserError, match="the flag adaptive_softmax_cutoff of the model is a program"):
        lev_plugins.load(folder)
    assert not canary.exists()


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda text: {"encoder_layers": text},
        lambda text: Namespace(encoder_layers=f" \t{text}"),
        lambda text: {"encoder_xformers_att_config": text, "decoder_layers": 2},
        lambda text: OmegaConf.create({"optimizer": {"adam_betas": text}}),
        lambda text: OmegaConf.create({"encoder": {"xformers_att_config": text}}),
    ],
)
def test_however_it_is_wrapped(wrapped: Callable[[str], Any]) -> None:
    with pytest.raises(UserError, match="is a program"):
        checkpoints.require_no_programs(wrapped("print(1)"))
    for harmless in ("[(512, 3)] * 20", "True", "100,200", "not (even Python"):
        checkpoints.require_no_programs(wrapped(harmless))


@pytest.mark.parametrize("wrap", [str.encode, lambda text: bytearray(text.encode()), lambda text: np.array(text)])
def test_text_in_another_type_is_not_read(wrap: Callable[[str], Any]) -> None:
    with pytest.raises(UserError, match="the flag encoder_layers of the model is a program"):
        checkpoints.require_no_programs({"encoder_layers": wrap("[(512, 3)]")})


@pytest.mark.parametrize(
    "text",
    [
        "[print(1)] \\\n\n",  # what follows the backslash counts
        "(" * 150 + "print(1)" + ")" * 150,
        "[[0 for f.__class_getitem__ in [exec]], f['exit()']]",  # a call without parentheses
        "[9 ** 9 ** 9]",
        "[0] * 1000000",
        "[0] * 1000 * 1000",
        "1000 * (1000 * [0])",
        "[0] * (500 + 500)",
        "[[0] * 9] * 9",
        "lambda: 0",
        "exit",
    ],
)
def test_what_calls_nothing_may_be_a_program(text: str) -> None:
    with pytest.raises(UserError, match="is a program"):
        checkpoints.require_no_programs({"encoder_layers": text})


@pytest.mark.parametrize(
    "text",
    ["[(512, 10, 5)] + [(512, 3, 2)] * 4 + [(512, 2, 2)]", "3 * [(-1, 0.5)]", "{'name': 'linear'}", "None", "5,10"],
)
def test_what_models_of_fairseq_write_is_data(text: str) -> None:
    assert not checkpoints.is_program(text)


def test_all_that_fairseq_evaluates_is_known() -> None:
    """As far as its source names it."""
    folder = Path(fairseq.__file__).parent
    found = {
        name.rpartition(".")[2]
        for part in ("models", "modules", "tasks", "model_parallel", "criterions", "optim", "data")
        for path in (folder / part).rglob("*.py")
        for name in EVALUATES.findall(path.read_text(encoding="utf-8"))
    }
    assert found - LINES <= checkpoints.EVALUATED
    assert len(found) > 10
