"""``lev-plugins average``: selection, averages and refusals."""

import pytest
import torch

from lev_plugins.cli import average
from lev_plugins.cli.main import main
from lev_plugins.training import checkpoints
from tests.helpers import mentions


def write_constant(path, number, **changes):
    """Saves a checkpoint whose weights are all ``number``."""
    model = {
        "weight": torch.full((2, 3), float(number)),
        "half": torch.full((2,), float(number), dtype=torch.float16),
        "counter": torch.tensor(number),
    }
    state = {
        "model": {**model, **changes},
        "cfg": {"checkpoint": {}},
        "last_optimizer_state": {"state": number},
        "extra_state": {"number": number},
    }
    checkpoints.save(state, path)
    return path


@pytest.fixture
def checkpoint_folder(tmp_path):
    """A folder with checkpoints of epochs 1 to 11 and of updates, whose weights are 100 larger."""
    for number in range(1, 12):
        write_constant(tmp_path / f"checkpoint{number}.pt", number)
        write_constant(tmp_path / f"checkpoint_{number}_{number * 1000}.pt", number + 100)
    write_constant(tmp_path / "checkpoint_last.pt", 1000)
    write_constant(tmp_path / "checkpoint_best.pt", 1000)
    return tmp_path


def average_value(capsys, *arguments):
    """Runs the command and returns the value of all averaged weights."""
    output = arguments[arguments.index("--output") + 1]
    assert main(["average", *(str(argument) for argument in arguments)]) == 0
    out, err = capsys.readouterr()
    assert str(output) in out
    assert err == ""  # not a terminal: no progress bar
    state = checkpoints.load(output)
    assert state["model"]["weight"].unique().numel() == 1
    return state["model"]["weight"][0, 0].item()


def test_average_selects_files_or_the_last_epochs(capsys, checkpoint_folder):
    assert average_value(capsys, checkpoint_folder, "--last", 3, "--output", checkpoint_folder / "mean.pt") == 10.0
    files = [checkpoint_folder / "checkpoint1.pt", checkpoint_folder / "checkpoint_3_3000.pt"]
    assert average_value(capsys, *files, "--output", checkpoint_folder / "new" / "mean.pt") == 52.0


def test_average_overwrites_no_checkpoint(refusal, checkpoint_folder):
    files = [checkpoint_folder / "checkpoint1.pt", checkpoint_folder / "checkpoint2.pt"]
    contents_before = {path: path.read_bytes() for path in checkpoint_folder.iterdir()}
    for output in (files[0], checkpoint_folder / "checkpoint_best.pt"):
        message = refusal("average", *files, "--output", output)
        assert f"--output {output} exists" in message
        message = refusal("import-levt", files[0], output)
        assert f"OUT.pt {output} exists" in message
    assert {path: path.read_bytes() for path in checkpoint_folder.iterdir()} == contents_before


def test_average_keeps_types_and_the_last_state(checkpoint_folder, tmp_path):
    state = average.average([checkpoint_folder / "checkpoint1.pt", checkpoint_folder / "checkpoint4.pt"])
    assert torch.equal(state["model"]["weight"], torch.full((2, 3), 2.5))
    assert torch.equal(state["model"]["half"], torch.full((2,), 2.5, dtype=torch.float16))
    assert torch.equal(state["model"]["counter"], torch.tensor(4))  # integers: the last one's
    assert state["last_optimizer_state"] is None
    assert state["extra_state"] == {"number": 4}
    big = torch.tensor([60000.0], dtype=torch.float16)  # the sum of two is more than a float16 can hold
    files = [write_constant(tmp_path / f"{n}.pt", 1, half=big) for n in range(3)]
    assert average.average(files)["model"]["half"].item() == 60000.0


@pytest.mark.parametrize("changes", [{"weight": torch.zeros(5)}, {"bias": torch.zeros(5)}])
def test_average_refuses_different_models(refusal, tmp_path, changes):
    files = [write_constant(tmp_path / "a.pt", 1), write_constant(tmp_path / "b.pt", 2, **changes)]
    message = refusal("average", *files, "--output", tmp_path / "mean.pt")
    assert f"b.pt and {files[0]} " in message and next(iter(changes)) in message
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--last", "12"], "--last 12 {folder} 11"),
        (["--last", "0"], "--last 0"),
        ([], "--last N"),
        (["{folder}/checkpoint1.pt", "--last", "1"], "--last folder"),
    ],
)
def test_wrong_flags_of_average_are_refused(refusal, checkpoint_folder, flags, message):
    flags = [flag.format(folder=checkpoint_folder) for flag in flags]
    error = refusal("average", "--output", checkpoint_folder / "mean.pt", checkpoint_folder, *flags)
    assert mentions(error, message.format(folder=checkpoint_folder))
