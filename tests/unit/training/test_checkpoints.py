"""Checkpoints are read without running what is in them, and written whole or not at all."""

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
from tests.helpers import Malicious
from tests.systems import GOLDEN, SYSTEMS
from tests.unit.utils.test_damaged_folders import entry

GOOD = {"model": {"weight": torch.arange(4.0)}, "args": argparse.Namespace(arch="levt"), "cfg": None}


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "checkpoint.pt"
    checkpoints.save(GOOD, path)
    state = checkpoints.load(path)
    assert torch.equal(state["model"]["weight"], GOOD["model"]["weight"])
    assert state["args"] == GOOD["args"]
    assert [file.name for file in path.parent.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize(
    ("save", "reason"),
    [
        (torch.save, r": it contains posix\.mkdir"),
        (partial(torch.save, _use_new_zipfile_serialization=False), r": it contains posix\.mkdir"),
        (lambda state, path: path.write_bytes(pickle.dumps(state["extra_state"])), "and nothing in it was executed"),
    ],
)
def test_a_malicious_pickle_is_not_executed(save: Callable[[Any, Path], object], reason: str, tmp_path: Path) -> None:
    path, canary = tmp_path / "bad.pt", tmp_path / "canary"
    save({**GOOD, "extra_state": Malicious(canary)}, path)
    with pytest.raises(UserError, match=rf"bad\.pt was not loaded, .*{reason}"):
        checkpoints.load(path)
    assert not canary.exists()


@pytest.mark.parametrize("content", [0.2, 0.6, 0.99, b"", b"hello\n", b"\x80\x02garbage", bytes(1000)])
def test_a_part_of_a_checkpoint_or_another_file(content: float | bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.pt"
    checkpoints.save({"model": {"weight": torch.zeros(10_000)}}, path)
    whole = path.read_bytes()
    path.write_bytes(content if isinstance(content, bytes) else whole[: int(content * len(whole))])
    with pytest.raises(UserError, match=r"other\.pt was not loaded, .*: it is truncated, .* use an older one"):
        checkpoints.load(path)


@pytest.mark.parametrize("name", ["absent.pt", "."])
def test_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="there is no checkpoint"):
        checkpoints.load(tmp_path / name)


def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.pt"
    checkpoints.save(GOOD, path)

    def fail(state: object, file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="No space left on device"):
        checkpoints.save({"model": {}}, path)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]
    assert torch.equal(checkpoints.load(path)["model"]["weight"], GOOD["model"]["weight"])


# ---- complete as a file, but not what fairseq writes -----------------------------------------------------------------


State = dict[str, Any]
WHOLE = GOLDEN / "levt" / "checkpoint.pt"
DAMAGES: dict[str, tuple[Callable[[State], object], str]] = {  # and what is said
    "a list": (lambda state: [1, 2], "is truncated, or is not a checkpoint|it has no entry 'model'"),
    "no model": (lambda state: state.pop("model") and state, "has no entry 'model'"),
    "a model that is a list": (lambda state: {**state, "model": [1, 2]}, "has no table of weights"),
    "a number for a weight": (lambda state: {**state, "model": {"w": 3}}, "has no table of weights"),
    "no table of settings": (lambda state: {**state, "cfg": 3}, "or none of settings|not a checkpoint"),
    "a text for a table of settings": (lambda state: {**state, "cfg": "text"}, "none of settings|has no settings of"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_refused_in_one_line(tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, (change, message) = tmp_path / "damaged.pt", DAMAGES[damage]
    torch.save(change(torch.load(WHOLE, weights_only=True)), path)
    for read in (checkpoints.load, checkpoint_utils.load_checkpoint_to_cpu):
        with pytest.raises(UserError, match=rf"{path} .*({message})"):
            read(str(path))
    out = tmp_path / "out.pt"
    for command in (["import-levt", path, out], ["average", path, WHOLE, "--output", out]):
        assert main([str(word) for word in command]) == 2
        assert str(path) in capsys.readouterr().err


def test_what_fairseq_alone_needs(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint_last.pt"
    state = torch.load(WHOLE, weights_only=True)
    del state["optimizer_history"]
    torch.save(state, path)
    with pytest.raises(UserError, match=r"checkpoint_last.pt .*\(KeyError: .*replace it with an older checkpoint"):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


# ---- NumPy's numbers: as they were, and nothing but numbers ----------------------------------------------------------


def through_a_file(value: Any) -> Any:
    file = io.BytesIO()
    torch.save({"value": value}, file)
    file.seek(0)
    with checkpoints.only_plain_classes():
        return torch.load(file, weights_only=True)["value"]


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", ">f8"])
def test_numbers_come_back(kind: str) -> None:
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(3, 2)), np.array(7)):
        given = array.astype(kind)
        found = through_a_file(given)
        assert found.dtype.kind == given.dtype.kind and found.shape == given.shape and (found == given).all()
        again = pickle.loads(pickle.dumps(found))  # for those who read it without this package
        assert type(again) is np.ndarray and (again == given).all()
    (number,) = np.array([2.0], kind)
    assert through_a_file(number) == number


@pytest.mark.parametrize(
    "value",
    [np.array(["a"]), np.array([object()]), np.zeros(3, "i8,i8"), np.array([True]), np.array([1j]), np.str_("a")],
)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(pickle.UnpicklingError):
        through_a_file(value)


@pytest.mark.parametrize(
    "state",
    [
        (3, "<", (np.dtype("O"), ()), None, None, -1, -1, 0),  # looks like numbers, and its bytes are objects
        (3, "<", None, ("a",), {"a": (np.dtype("O"), 0)}, -1, -1, 0),
        (3, "<", None, None, None, 8, 8, 63),
        (3, "|O", None, None, None, -1, -1, 0),
    ],
)
def test_bytes_are_never_read_as_objects(state: Any) -> None:
    kind = arrays.NumberType("f8", False, True)
    kind.__setstate__(state)
    with suppress(pickle.UnpicklingError):
        assert kind.read(b"1" * 8).dtype == np.float64


def test_bytes_have_the_size_of_the_numbers() -> None:
    kind, array = arrays.NumberType("f8"), arrays.NumberArray()
    kind.__setstate__((3, "<", None, None, None, -1, -1, 0))
    for shape, raw in (
        ((2,), b"1" * 8),
        ((1,), b"1" * 7),
        ((-2, -3), b"1" * 48),
        ((2**62, 4), b""),
        ((1.0,), b"1" * 8),
    ):
        with pytest.raises((TypeError, ValueError)):
            array.__setstate__((1, shape, kind, False, raw))
    for text in (b"1" * 7, "1" * 8):
        with pytest.raises(TypeError):
            arrays.scalar(kind, text)


def test_numpys_own_constructors_are_not_allowed() -> None:
    """torch creates what a file names from these alone, whatever other code allows."""
    with torch.serialization.safe_globals([np.dtype, np.ndarray]), checkpoints.only_plain_classes():
        given = torch.serialization.get_safe_globals()
    assert np.dtype not in torch.serialization.get_safe_globals()
    allowed = [each[0] if isinstance(each, tuple) else each for each in given]
    assert not any(each in allowed for each in (np.dtype, np.ndarray, type(np.dtype("f8"))))
    names = {
        argument for _, argument, _ in pickletools.genops(pickle.dumps(np.zeros(2), 2)) if "numpy" in str(argument)
    }
    known = {name for _, name in arrays.STAND_INS}
    assert names and {str(name).replace(" ", ".") for name in names} <= known


# ---- settings that fairseq evaluates as Python: those of a stranger are never run ------------------------------------


NOISY = GOLDEN / "noisy" / "data"


def program(canary: Path) -> str:
    return f"__import__('pathlib').Path({str(canary)!r}).touch() or [10]"


@pytest.fixture(params=["model", "task"])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What its model or its task runs makes the file ``canary``."""
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
def test_a_reference_is_not_followed(model: Any, tmp_path: Path) -> None:
    """It may be data where it is checked, and a program, or a secret of the user, where it is used."""
    state = checkpoints.load(GOLDEN / "gated" / "checkpoint.pt")
    state["cfg"]["model"] = model
    checkpoints.save(state, tmp_path / "checkpoint.pt")
    with pytest.raises(UserError, match=r"the setting \w+ is a program or a reference, '.\{oc"):
        load_model.read_model(tmp_path / "checkpoint.pt", {"data": str(NOISY)})


def test_a_checkpoint(checkpoint: Path) -> None:
    with pytest.raises(UserError, match=r"is a program or a reference, .* which is not run"):
        load_model.read_model(checkpoint, {"data": str(NOISY)})
    assert not (checkpoint.parent / "canary").exists()


@pytest.mark.parametrize("task", ["text_correction", "translation"])
def test_a_checkpoint_for_fairseq_generate(checkpoint: Path, task: str) -> None:
    generate = ["fairseq-generate", NOISY, "--user-dir", Path(lev_plugins.__file__).parent, "--path", checkpoint]
    found = run(*generate, "--task", task, "--cpu")
    assert found.code != 0 and "which is not run" in found.err, found.err
    assert not (checkpoint.parent / "canary").exists()


def test_a_folder(tmp_path: Path) -> None:
    folder, canary = SYSTEMS["gated_trans"](tmp_path).export(tmp_path / "model", "--no-graphs"), tmp_path / "canary"
    entry("model_flags", "adaptive_softmax_cutoff", value=program(canary))(folder)
    with pytest.raises(UserError, match="the setting adaptive_softmax_cutoff is a program"):
        load_model.read_model(folder, {})
    assert not canary.exists()
    entry("model_flags", "adaptive_softmax_cutoff", value=None)(folder)
    entry("task_flags", "source_lang", value="${oc.env:HOME}")(folder)
    with pytest.raises(UserError, match="the setting source_lang is a program or a reference"):
        load_model.read_model(folder, {})


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda text: {"any_name": text},
        lambda text: Namespace(encoder_layers=f" \t{text}"),
        lambda text: {"encoder_xformers_att_config": [text], "decoder_layers": 2},
        lambda text: OmegaConf.create({"optimizer": {"adam_betas": text}}),
    ],
)
def test_a_program_is_refused_in_any_setting(wrapped: Callable[[str], Any]) -> None:
    with pytest.raises(UserError, match="is a program"):
        checkpoints.require_no_programs(wrapped("print(1)"))
    for harmless in ("[(512, 3)]", "True", "100,200", "{'beam': 5}", "not (even Python", "data/bin", "/data (1)/x"):
        checkpoints.require_no_programs(wrapped(harmless))


@pytest.mark.parametrize(
    "value",
    [
        *(b"[(512, 3)]", bytearray(b"[(512, 3)]"), np.array("[(512, 3)]")),  # text in another type is not read
        "[print(1)] \\\n\n",  # what follows the backslash counts
        "(" * 150 + "print(1)" + ")" * 150,
        "[[0 for f.__class_getitem__ in [exec]], f['exit()']]",  # a call without parentheses
        "f'{exit()}'",
        "lambda: 0",
    ],
)
def test_what_calls_nothing_may_be_a_program(value: object) -> None:
    with pytest.raises(UserError, match="the setting encoder_layers is a program"):
        checkpoints.require_no_programs({"encoder_layers": value})


def test_a_buffer_that_fairseq_leaves_uninitialised_is_no_weight() -> None:
    """fairseq 0.12.2 has one in its table of positions; any number may be there."""
    positions = torch.nn.Module()
    model = torch.nn.ModuleDict({"embed_positions": positions, "fc1": torch.nn.Linear(1, 1)})
    positions.register_buffer("_float_tensor", torch.tensor([torch.nan]), persistent=False)
    checkpoints.require_finite_weights(model)
    positions.register_buffer("weights", torch.tensor([torch.inf]))
    with pytest.raises(UserError, match=r"first in embed_positions\.weights"):
        checkpoints.require_finite_weights(model)
