"""``--cpu-bf16`` on the command line: every system learns as it does in 32 bits."""

import re
from pathlib import Path

import pytest
import torch

from tests.integration.commands import ADAM, QUIET, USER_DIR, succeed

SYSTEMS = {
    "levt": ["--task", "text_editing", "--arch", "levt_tiny", "--criterion", "dual_policy"],
    "pbd": ["--task", "text_correction", "--arch", "pbd_tiny", "--criterion", "cross_entropy"],
    "gated": ["--task", "text_correction", "--arch", "gated_trans_tiny", "--criterion", "cross_entropy"],
}


def losses(log: str) -> list[float]:
    return [float(found) for found in re.findall(r"train_inner .*? loss=([\d.]+)", log)]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_it_learns_the_same(system: str, toy: Path, tmp_path: Path) -> None:
    logs = []
    for name, flags in (("whole", []), ("half", ["--cpu-bf16"])):
        done = succeed(
            *("fairseq-train", toy, "--user-dir", USER_DIR, *SYSTEMS[system], "--share-all-embeddings", *ADAM, *QUIET),
            *("--lr-scheduler", "fixed", "--max-update", 40, "--log-interval", 20, "--max-tokens", 400, "--cpu"),
            *("--save-dir", tmp_path / name, "--num-workers", 0, "--disable-validation", "--dropout", 0, *flags),
        )
        logs.append(losses(done.both))
    whole, half = logs
    assert len(whole) == len(half) == 2 and whole[1] < whole[0]
    assert half == pytest.approx(whole, rel=0.03) and half != whole
    weights = torch.load(tmp_path / "half" / "checkpoint_last.pt", weights_only=False)["model"].values()
    assert {each.dtype for each in weights if each.is_floating_point()} == {torch.float32}
