"""A checkpoint that is complete as a file, but not what fairseq writes, ends a command in one line that says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lev_plugins.cli.main import main
from lev_plugins.errors import explained
from tests.integration.commands import run
from tests.teachers import LEVT

State = dict[str, Any]
Damage = Callable[[State], object]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for side in ("en", "de"):
        (folder / f"train.{side}").write_text("w1 w2\nw3 w4 w5\n", encoding="utf-8")
    words = ["prepare", "-s", "en", "-t", "de", "--train-prefix", folder / "train", "--valid-prefix", folder / "train"]
    assert main([str(word) for word in [*words, "--dest", folder / "made"]]) == 0
    return folder / "made"


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert run(*TRAIN, data, "--save-dir", folder, "--no-epoch-checkpoints").code == 0
    return folder / "checkpoint_last.pt"


def without(name: str) -> Callable[[State], object]:
    return lambda state: {key: value for key, value in state.items() if key != name}


def with_text(*path: str) -> Callable[[State], object]:
    """Text where a number is expected; ``path`` leads to it."""

    def damage(state: State) -> object:
        inner = state
        for name in path[:-1]:
            inner = inner[int(name)] if isinstance(inner, list) else inner[name]
        inner[path[-1]] = "three"
        return state

    return damage


@pytest.mark.parametrize(
    ("damage", "averaged"),
    [
        (lambda state: {**state, "model": [1]}, False),
        (lambda state: {**state, "model": {"w": 3}}, False),
        (lambda state: {**state, "cfg": 3}, False),
        (lambda state: {"model": {}}, False),
        # of the settings, average looks at nothing
        (lambda state: {**state, "cfg": {**state["cfg"], "model": {"_name": "levenshtein_transformer"}}}, True),
    ],
)
def test_commands_of_ours_say_what_is_wrong(
    whole: Path, tmp_path: Path, damage: Damage, averaged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.pt"
    torch.save(damage(torch.load(whole, weights_only=True)), bad)
    assert main(["import-levt", str(bad), str(tmp_path / "out.pt")]) == 2
    assert str(bad) in capsys.readouterr().err
    assert main(["average", str(bad), str(whole), "--output", str(tmp_path / "mean.pt")]) == (0 if averaged else 2)
    assert (str(bad) in capsys.readouterr().err) != averaged


DAMAGED_UPDATES = ("optimizer_history", "0", "num_updates")
EVERYWHERE = ("--restore-file", "--finetune-from-model", "fairseq-interactive")
# what is done to it, where that shows, and what is said; elsewhere the damaged part is not looked at
DAMAGES: dict[str, tuple[Damage, tuple[str, ...], str]] = {
    "a list": (lambda state: [1, 2], EVERYWHERE, "TypeError: list indices must be integers"),
    "no model": (without("model"), EVERYWHERE, "KeyError: 'model'"),
    "a model that is a list": (lambda state: {**state, "model": [1, 2]}, EVERYWHERE[:1], "AttributeError: 'list'"),
    "no optimizer history": (without("optimizer_history"), EVERYWHERE[:1], "KeyError: 'best_loss'"),
    "text for a weight": (
        with_text("model", "decoder.deletion_head.weight"),
        EVERYWHERE,
        'RuntimeError: .* "decoder.deletion_head.weight", expected torch.Tensor',
    ),
    "text for a size": (with_text("cfg", "model", "encoder_layers"), EVERYWHERE[2:], r"Val\w+Error: .*three"),
    "text for the number of updates": (with_text(*DAMAGED_UPDATES), EVERYWHERE[:1], "TypeError"),
}
TRAIN = ["fairseq-train", "--user-dir", "lev_plugins", *LEVT, "-s", "en", "-t", "de", "--optimizer", "adam", "--cpu"]
TRAIN += ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", 1]
TRAIN += ["--max-update", 1, "--max-tokens", 100, "--disable-validation", "--no-progress-bar"]
COMMANDS: dict[str, Callable[[Path, Path, Path], list[object]]] = {
    "--restore-file": lambda data, path, other: [*TRAIN, data, "--no-save", "--restore-file", path],
    "--finetune-from-model": lambda data, path, other: [
        *(*TRAIN, data, "--no-save", "--finetune-from-model", path, "--save-dir", other)
    ],
    "fairseq-interactive": lambda data, path, other: [
        *("fairseq-interactive", data, "--user-dir", "lev_plugins", "--task", "text_editing", "--path", path),
        *("-s", "en", "-t", "de", "--cpu", "--input", data / "missing"),
    ],
}


def refusal(data: Path, folder: Path, command: str, state: object) -> str:
    path = folder / "damaged.pt"
    torch.save(state, path)
    result = run(*COMMANDS[command](data, path, folder / "other"))
    assert result.code == 1
    return result.verdict


@pytest.mark.parametrize(("damage", "command"), [(name, where) for name in DAMAGES for where in DAMAGES[name][1]])
def test_it_is_refused_in_one_line(data: Path, whole: Path, tmp_path: Path, command: str, damage: str) -> None:
    change, _, reason = DAMAGES[damage]
    found = refusal(data, tmp_path, command, change(torch.load(whole, weights_only=True)))
    told = r"damaged.pt cannot be loaded: it is damaged, is not a fairseq checkpoint, or was made with other settings"
    assert re.search(rf"{told} \({reason}", found), found


def test_text_for_the_epoch(data: Path, whole: Path, tmp_path: Path) -> None:
    """fairseq takes it out of the checkpoint and hands it to the task."""
    state = with_text("extra_state", "train_iterator", "epoch")(torch.load(whole, weights_only=True))
    found = refusal(data, tmp_path, "--restore-file", state)
    assert found == "lev-plugins: error: the epoch in the checkpoint must be a number, but is 'three'"


def test_text_for_the_number_of_updates_where_the_schedule_does_not_look(
    data: Path, whole: Path, tmp_path: Path
) -> None:
    state = with_text(*DAMAGED_UPDATES)(torch.load(whole, weights_only=True))
    torch.save(state, tmp_path / "damaged.pt")
    flags = ["--no-save", "--restore-file", tmp_path / "damaged.pt", "--reset-lr-scheduler", "--max-update", 2]
    result = run(*TRAIN, data, *flags, "--lr-scheduler", "fixed", "--warmup-updates", 0)
    assert "the number of updates in the checkpoint is not a number: it is damaged" in result.verdict


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--checkpoint-shard-count", 0], "--checkpoint-shard-count must be at least 1, but is 0"),
        (
            ["--model-overrides", "{'encoder_layers': 'six'}"],
            r"checkpoint_last.pt cannot be loaded: .* or does not take the settings \{'encoder_layers': 'six'\} \(",
        ),
    ],
)
def test_a_wrong_flag_is_not_put_down_to_the_checkpoint(
    data: Path, whole: Path, tmp_path: Path, flags: list[object], told: str
) -> None:
    result = run(*COMMANDS["fairseq-interactive"](data, whole, tmp_path), *flags)
    assert re.search(told, result.verdict)


def test_an_error_from_elsewhere_is_not_put_down_to_a_checkpoint() -> None:
    with pytest.raises(KeyError) as caught:
        {}["model"]
    assert explained(caught.value)[1] is None
