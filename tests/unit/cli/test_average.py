"""``lev-plugins average``: what is chosen, what is averaged, and what is refused."""

import pytest
import torch

from lev_plugins.cli import average
from lev_plugins.cli.main import main
from lev_plugins.training import checkpoints


def write(path, number, **changes):
    """A checkpoint whose weights are all ``number``."""
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
def folder(tmp_path):
    """Epochs 1 to 11, and by updates what has 100 more."""
    for number in range(1, 12):
        write(tmp_path / f"checkpoint{number}.pt", number)
        write(tmp_path / f"checkpoint_{number}_{number * 1000}.pt", number + 100)
    write(tmp_path / "checkpoint_last.pt", 1000)
    write(tmp_path / "checkpoint_best.pt", 1000)
    return tmp_path


def averaged(capsys, *arguments):
    """Runs the command; the value that all weights have in what it wrote."""
    output = arguments[arguments.index("--output") + 1]
    assert main(["average", *(str(argument) for argument in arguments)]) == 0
    out, err = capsys.readouterr()
    assert str(output) in out
    assert err == ""  # not a terminal: no progress bar
    state = checkpoints.load(output)
    assert state["model"]["weight"].unique().numel() == 1
    return state["model"]["weight"][0, 0].item()


def test_which_are_averaged(capsys, folder):
    """Those with the highest number, or files as they are given."""
    assert averaged(capsys, folder, "--last", 3, "--output", folder / "mean.pt") == 10.0
    files = [folder / "checkpoint1.pt", folder / "checkpoint_3_3000.pt"]
    assert averaged(capsys, *files, "--output", folder / "new" / "mean.pt") == 52.0


def test_no_checkpoint_is_overwritten(refusal, folder):
    files = [folder / "checkpoint1.pt", folder / "checkpoint2.pt"]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for output in (files[0], folder / "checkpoint_best.pt"):
        message = refusal("average", *files, "--output", output)
        assert f"--output {output} exists: name another file, or remove it first" in message
        message = refusal("import-levt", files[0], output)
        assert f"OUT.pt {output} exists: name another file, or remove it first" in message
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_types_and_what_is_no_weight(folder, tmp_path):
    state = average.average([folder / "checkpoint1.pt", folder / "checkpoint4.pt"])
    assert torch.equal(state["model"]["weight"], torch.full((2, 3), 2.5))
    assert torch.equal(state["model"]["half"], torch.full((2,), 2.5, dtype=torch.float16))
    assert torch.equal(state["model"]["counter"], torch.tensor(4))  # integers: the last one's
    assert state["last_optimizer_state"] is None
    assert state["extra_state"] == {"number": 4}
    big = torch.tensor([60000.0], dtype=torch.float16)  # the sum of two is more than a float16 can hold
    files = [write(tmp_path / f"{n}.pt", 1, half=big) for n in range(3)]
    assert average.average(files)["model"]["half"].item() == 60000.0


@pytest.mark.parametrize("changes", [{"weight": torch.zeros(5)}, {"bias": torch.zeros(5)}])
def test_another_model_is_refused_by_file_and_name(refusal, tmp_path, changes):
    files = [write(tmp_path / "a.pt", 1), write(tmp_path / "b.pt", 2, **changes)]
    message = refusal("average", *files, "--output", tmp_path / "mean.pt")
    assert f"b.pt and {files[0]} belong to different models: they differ in {next(iter(changes))}" in message
    assert not (tmp_path / "mean.pt").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--last", "12"], "--last 12, but {folder} has 11 checkpoints called checkpointEPOCH.pt"),
        (["--last", "0"], "--last must be at least 1, but is 0"),
        ([], "is a folder: add --last N, or name its files"),
        (["{folder}/checkpoint1.pt", "--last", "1"], "--last chooses from one folder"),
    ],
)
def test_what_cannot_work(refusal, folder, flags, message):
    flags = [flag.format(folder=folder) for flag in flags]
    assert message.format(folder=folder) in refusal("average", "--output", folder / "mean.pt", folder, *flags)
