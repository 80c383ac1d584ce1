"""Checkpoints are read without executing their contents, and written completely or not at all."""

import argparse
import io
import pickle
import pickletools
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils
from omegaconf import OmegaConf

import lev_plugins
from lev_plugins import registration  # noqa: F401  fairseq reads checkpoints as the plug-ins do
from lev_plugins.cli.main import main
from lev_plugins.export import load_model
from lev_plugins.training import checkpoints
from lev_plugins.utils import arrays
from lev_plugins.utils.errors import UserError
from tests.commands import run
from tests.helpers import Malicious, Refusal, mentions
from tests.systems import GOLDEN, SYSTEMS
from tests.unit.utils.test_damaged_folders import entry

SAVED_STATE = {"model": {"weight": torch.arange(4.0)}, "args": argparse.Namespace(arch="levt"), "cfg": None}


def test_a_saved_state_is_loaded_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "checkpoint.pt"
    checkpoints.save(SAVED_STATE, path)
    state = checkpoints.load(path)
    assert torch.equal(state["model"]["weight"], SAVED_STATE["model"]["weight"])
    assert state["args"] == SAVED_STATE["args"]
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize(
    ("save", "reason"),
    [
        (torch.save, r"posix\.mkdir"),
        (partial(torch.save, _use_new_zipfile_serialization=False), r"posix\.mkdir"),
        (lambda state, path: path.write_bytes(pickle.dumps(state["extra_state"])), "and nothing in it was executed"),
    ],
)
def test_a_malicious_pickle_is_not_executed(save: Callable[[Any, Path], object], reason: str, tmp_path: Path) -> None:
    path, canary = tmp_path / "bad.pt", tmp_path / "canary"
    save({**SAVED_STATE, "extra_state": Malicious(canary)}, path)
    with pytest.raises(UserError, match=rf"bad\.pt was not loaded, .*{reason}"):
        checkpoints.load(path)
    assert not canary.exists()


@pytest.mark.parametrize("content", [0.2, 0.6, 0.99, b"", b"hello\n", b"\x80\x02garbage", bytes(1000)])
def test_a_truncated_checkpoint_and_another_file_are_refused(content: float | bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    checkpoints.save({"model": {"weight": torch.zeros(10_000)}}, path)
    whole = path.read_bytes()
    path.write_bytes(content if isinstance(content, bytes) else whole[: int(content * len(whole))])
    with pytest.raises(UserError, match=r"other\.pt .*truncated"):
        checkpoints.load(path)


@pytest.mark.parametrize("name", ["absent.pt", "."])
def test_a_missing_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="there is no checkpoint"):
        checkpoints.load(tmp_path / name)


def test_a_failed_save_keeps_the_previous_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.pt"
    checkpoints.save(SAVED_STATE, path)

    def fail(state: object, file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save({"model": {}}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]
    assert torch.equal(checkpoints.load(path)["model"]["weight"], SAVED_STATE["model"]["weight"])


# ---- complete files that are no checkpoints of fairseq ---------------------------------------------------------------


State = dict[str, Any]
GOLDEN_CHECKPOINT = GOLDEN / "levt" / "checkpoint.pt"
DAMAGED_STATES: dict[str, tuple[Callable[[State], object], str]] = {  # with the expected message
    "a list": (lambda state: [1, 2], "not a checkpoint|no entry 'model'"),
    "no model": (lambda state: state.pop("model") and state, "no entry 'model'"),
    "a model that is a list": (lambda state: {**state, "model": [1, 2]}, "table of weights"),
    "a number for a weight": (lambda state: {**state, "model": {"w": 3}}, "table of weights"),
    "a weight without numbers": (
        lambda state: {**state, "model": {"w": torch.zeros(1, device="meta")}},
        "table of weights|not a checkpoint",
    ),
    "a sparse weight": (lambda state: {**state, "model": {"w": torch.eye(2).to_sparse()}}, "table of weights"),
    "no table of settings": (lambda state: {**state, "cfg": 3}, "or none of settings|not a checkpoint"),
    "a text for a table of settings": (lambda state: {**state, "cfg": "text"}, "none of settings|has no settings of"),
}


@pytest.mark.parametrize("damage", DAMAGED_STATES)
def test_a_damaged_state_is_refused(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, (change, message) = tmp_path / "damaged.pt", DAMAGED_STATES[damage]
    torch.save(change(torch.load(GOLDEN_CHECKPOINT, weights_only=True)), path)
    for load in (checkpoints.load, checkpoint_utils.load_checkpoint_to_cpu):
        with pytest.raises(UserError, match=rf"{path} .*({message})"):
            load(str(path))
    out = tmp_path / "out.pt"
    for command in (["import-levt", path, out], ["average", path, GOLDEN_CHECKPOINT, "--output", out]):
        assert main([str(word) for word in command]) == 2
        assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize("setting", [{"_name": None}, {"_name": 5}, {"layers": "2; import os"}, {"layers": None}])
def test_settings_that_build_no_model_are_refused(setting: dict[str, Any], tmp_path: Path, refusal: Refusal) -> None:
    state = checkpoints.load(GOLDEN / "pbd" / "checkpoint.pt")
    state["cfg"]["model"].update(setting)
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    words = ["export", tmp_path / "checkpoint.pt", tmp_path / "out", "--data", NOISY_DATA, "--bpe", "chars"]
    assert mentions(refusal(*words), "checkpoint.pt older")


def test_weights_that_are_nan_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    state = checkpoints.load(GOLDEN / "pbd" / "checkpoint.pt")
    next(iter(state["model"].values())).fill_(float("nan"))
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    words = ["export", tmp_path / "checkpoint.pt", tmp_path / "out", "--data", NOISY_DATA, "--bpe", "chars"]
    assert mentions(refusal(*words), "NaN weights")


def test_a_missing_entry_that_only_fairseq_reads_is_named(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint_last.pt"
    state = torch.load(GOLDEN_CHECKPOINT, weights_only=True)
    del state["optimizer_history"]
    torch.save(state, path)
    with pytest.raises(UserError, match=r"checkpoint_last.pt .*KeyError"):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


# ---- NumPy's numbers, and nothing else of NumPy ----------------------------------------------------------------------


def saved_and_loaded(value: Any) -> Any:
    file = io.BytesIO()
    torch.save({"value": value}, file)
    file.seek(0)
    with checkpoints.only_plain_classes():
        return torch.load(file, weights_only=True)["value"]


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", ">f8"])
def test_numpy_numbers_are_loaded_unchanged(kind: str) -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(3, 2)), np.array(7)):
        expected = array.astype(kind)
        loaded = saved_and_loaded(expected)
        assert loaded.dtype.kind == expected.dtype.kind and np.array_equal(loaded, expected)
        pickled = pickle.loads(pickle.dumps(loaded))  # as in a process without this package
        assert type(pickled) is np.ndarray and (pickled == expected).all()
    (number,) = np.array([2.0], kind)
    assert saved_and_loaded(number) == number


@pytest.mark.parametrize(
    "value",
    [np.array(["a"]), np.array([object()]), np.zeros(3, "i8,i8"), np.array([True]), np.array([1j]), np.str_("a")],
)
def test_numpy_values_that_are_no_numbers_are_refused(value: Any) -> None:
    with pytest.raises(pickle.UnpicklingError):
        saved_and_loaded(value)


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", (np.dtype("O"), ()), None, None, -1, -1, 0),  # a type of numbers whose bytes are objects
        (3, "<", None, ("a",), {"a": (np.dtype("O"), 0)}, -1, -1, 0),
        (3, "<", None, None, None, 8, 8, 63),
        (3, "|O", None, None, None, -1, -1, 0),
    ],
)
def test_a_number_type_never_reads_bytes_as_objects(state: Any) -> None:
    kind = arrays.NumberType("f8", False, True)
    kind.__setstate__(state)
    with suppress(pickle.UnpicklingError):
        assert kind.read(b"1" * 8).dtype == np.float64


def test_arrays_whose_bytes_do_not_match_their_shape_are_refused() -> None:
    kind, array = arrays.NumberType("f8"), arrays.NumberArray()
    kind.__setstate__((3, "<", None, None, None, -1, -1, 0))
    sizes: list[tuple[Any, int]] = [((2,), 8), ((1,), 7), ((-2, -3), 48), ((2**62, 4), 0), ((1.0,), 8)]
    for shape, size in sizes:
        with pytest.raises((TypeError, ValueError)):
            array.__setstate__((1, shape, kind, False, b"1" * size))
    for text in (b"1" * 7, "1" * 8):
        with pytest.raises(TypeError):
            arrays.scalar(kind, text)


def test_numpys_constructors_are_not_among_the_allowed_globals() -> None:
    """Other code may have allowed them before the plug-ins load a file."""
    with torch.serialization.safe_globals([np.dtype, np.ndarray]), checkpoints.only_plain_classes():
        safe_globals = torch.serialization.get_safe_globals()
    assert np.dtype not in torch.serialization.get_safe_globals()
    allowed = [entry[0] if isinstance(entry, tuple) else entry for entry in safe_globals]
    assert not any(constructor in allowed for constructor in (np.dtype, np.ndarray, type(np.dtype("f8"))))
    names = {
        argument for _, argument, _ in pickletools.genops(pickle.dumps(np.zeros(2), 2)) if "numpy" in str(argument)
    }
    stand_ins = {name for _, name in arrays.STAND_INS}
    assert names and {str(name).replace(" ", ".") for name in names} <= stand_ins


# ---- settings that fairseq would evaluate as Python ------------------------------------------------------------------


NOISY_DATA = GOLDEN / "noisy" / "data"


def program(canary: Path) -> str:
    return f"__import__('pathlib').Path({str(canary)!r}).touch() or [10]"


@pytest.fixture(params=["model", "task"])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Saves a checkpoint with a program that creates the file ``canary`` in the settings of its model or task."""
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    flags = vars(state["cfg"]["model"]) if request.param == "model" else state["cfg"]["task"]
    flags[{"model": "adaptive_softmax_cutoff", "task": "left_pad_source"}[request.param]] = program(tmp_path / "canary")
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize(
    "model",
    [
        {"_name": "wav2vec2", "z": "[(8, 3)]", "conv_feature_layers": '${oc.select:model.z,"[exit()]"}'},
        Namespace(_name="gated_trans", adaptive_softmax_cutoff=["${oc.env:HOME}"]),
    ],
)
def test_an_omegaconf_reference_in_a_setting_is_refused(model: Any, tmp_path: Path) -> None:
    """A reference may resolve to data when it is checked, but to a program or a secret when it is used."""
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    state["cfg"]["model"] = model
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(UserError, match=r"setting \w+ .*'.\{oc"):
        load_model.read_model(tmp_path / "checkpoint.pt", {"data": str(NOISY_DATA)})


def test_export_refuses_a_checkpoint_with_a_program_in_a_setting(checkpoint: Path) -> None:
    with pytest.raises(UserError, match="a program"):
        load_model.read_model(checkpoint, {"data": str(NOISY_DATA)})
    assert not (checkpoint.parent / "canary").exists()


def test_files_of_word_vectors_that_a_checkpoint_names_are_not_read(tmp_path: Path) -> None:
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    vars(state["cfg"]["model"]).update(encoder_embed_path=str(tmp_path), decoder_embed_path=str(tmp_path / "missing"))
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    assert load_model.read_model(tmp_path / "checkpoint.pt", {"data": str(NOISY_DATA)}).models


@pytest.mark.parametrize("task", ["text_correction", "translation"])
def test_fairseq_generate_refuses_a_checkpoint_with_a_program_in_a_setting(checkpoint: Path, task: str) -> None:
    generate = ["fairseq-generate", NOISY_DATA, "--user-dir", Path(lev_plugins.__file__).parent, "--path", checkpoint]
    result = run(*generate, "--task", task, "--cpu")
    assert result.code != 0 and "is a program" in result.err, result.err
    assert not (checkpoint.parent / "canary").exists()


def test_a_model_folder_with_a_program_or_a_reference_in_a_setting_is_refused(tmp_path: Path) -> None:
    folder, canary = SYSTEMS["gated_trans"](tmp_path).export(tmp_path / "model", "--no-graphs"), tmp_path / "canary"
    entry("model_flags", "adaptive_softmax_cutoff", value=program(canary))(folder)
    with pytest.raises(UserError, match="adaptive_softmax_cutoff is a program"):
        load_model.read_model(folder, {})
    assert not canary.exists()
    entry("model_flags", "adaptive_softmax_cutoff", value=None)(folder)
    entry("task_flags", "source_lang", value="${oc.env:HOME}")(folder)
    with pytest.raises(UserError, match=r"source_lang is .*a reference"):
        load_model.read_model(folder, {})


@pytest.mark.parametrize(
    "settings_with",
    [
        lambda text: {"any_name": text},
        lambda text: Namespace(encoder_layers=f" \t{text}"),
        lambda text: {"encoder_xformers_att_config": [text], "decoder_layers": 2},
        lambda text: OmegaConf.create({"optimizer": {"adam_betas": text}}),
    ],
)
def test_a_program_is_refused_in_nested_settings_and_plain_values_are_not(settings_with: Callable[[str], Any]) -> None:
    with pytest.raises(UserError, match="is a program"):
        checkpoints.require_no_programs(settings_with("print(1)"))
    for harmless in ("[(512, 3)]", "True", "100,200", "{'beam': 5}", "not (even Python", "data/bin", "/data (1)/x"):
        checkpoints.require_no_programs(settings_with(harmless))


@pytest.mark.parametrize(
    "value",
    [
        *(b"[(512, 3)]", bytearray(b"[(512, 3)]"), np.array("[(512, 3)]")),  # text of other types
        "[print(1)] \\\n\n",  # with a line continuation
        "(" * 150 + "print(1)" + ")" * 150,
        "[[0 for f.__class_getitem__ in [exec]], f['exit()']]",  # a call without parentheses
        "f'{exit()}'",
        "lambda: 0",
    ],
)
def test_programs_in_other_types_and_without_calls_are_refused(value: object) -> None:
    with pytest.raises(UserError, match="encoder_layers is a program"):
        checkpoints.require_no_programs({"encoder_layers": value})


def test_an_uninitialized_buffer_of_fairseq_is_not_checked_for_nan() -> None:
    """The sinusoidal positions of fairseq 0.12.2 have such a buffer."""
    positions = torch.nn.Module()
    model = torch.nn.ModuleDict({"embed_positions": positions, "fc1": torch.nn.Linear(1, 1)})
    positions.register_buffer("_float_tensor", torch.tensor([torch.nan]), persistent=False)
    checkpoints.require_finite_weights(model)
    positions.register_buffer("weights", torch.tensor([torch.inf]))
    with pytest.raises(UserError, match=r"embed_positions\.weights"):
        checkpoints.require_finite_weights(model)
