"""A checkpoint that is complete as a file, but not what fairseq writes, ends a command in one line that says so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq import checkpoint_utils

from lev_plugins import checkpoints, registration  # noqa: F401  fairseq reads checkpoints as the plug-ins do
from lev_plugins.cli.main import main
from lev_plugins.errors import UserError
from tests.integration.commands import run
from tests.systems import GOLDEN

State = dict[str, Any]
WHOLE = GOLDEN / "levt" / "checkpoint.pt"
DAMAGES: dict[str, tuple[Callable[[State], object], str]] = {  # and what is said
    "a list": (lambda state: [1, 2], "is truncated, or is not a checkpoint|it has no entry 'model'"),
    "no model": (lambda state: state.pop("model") and state, "has no entry 'model'"),
    "a model that is a list": (lambda state: {**state, "model": [1, 2]}, "has no table of weights"),
    "a number for a weight": (lambda state: {**state, "model": {"w": 3}}, "has no table of weights"),
    "no table of settings": (
        lambda state: {**state, "cfg": 3},
        "has no table of weights, or none of settings|not a che",
    ),
}


def damaged(tmp_path: Path, damage: str) -> Path:
    path = tmp_path / "damaged.pt"
    torch.save(DAMAGES[damage][0](torch.load(WHOLE, weights_only=True)), path)
    return path


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_refused_in_one_line(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = damaged(tmp_path, damage)
    for read in (checkpoints.load, checkpoint_utils.load_checkpoint_to_cpu):
        with pytest.raises(UserError, match=rf"{path} .*({DAMAGES[damage][1]})"):
            read(str(path))
    for command in (
        ["import-levt", path, tmp_path / "out.pt"],
        ["average", path, WHOLE, "--output", tmp_path / "a.pt"],
    ):
        assert main([str(word) for word in command]) == 2
        assert str(path) in capsys.readouterr().err


def test_what_fairseq_alone_needs(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint_last.pt"
    state = torch.load(WHOLE, weights_only=True)
    del state["optimizer_history"]
    torch.save(state, path)
    with pytest.raises(UserError, match=r"checkpoint_last.pt .*\(KeyError: .*replace it with an older checkpoint"):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


def test_a_command_of_fairseq(tmp_path: Path) -> None:
    path = damaged(tmp_path, "no model")
    interactive = [
        "fairseq-interactive",
        GOLDEN / "levt" / "data",
        "--user-dir",
        "lev_plugins",
        "--cpu",
        "--path",
        path,
    ]
    result = run(*interactive, "--task", "text_editing")
    assert result.code == 1 and result.verdict.startswith(f"lev-plugins: error: {path} is a torch file but not a")
