"""Train, generate, average, ensembles: the real command lines on a toy task."""

import re
import shutil
from pathlib import Path

import pytest

from tests.commands import LEVT, exact_matches, generate, hypotheses, lines, same_hypotheses, succeed, train


@pytest.fixture(scope="module")
def decoded(toy: Path) -> str:
    """Returns the log of fairseq-generate for the test set."""
    return succeed(*generate(toy, LEVT, "--print-step", "--batch-size", 32)).out


def assert_learned(log: str) -> None:
    """Asserts that at least 90 of 100 unseen lines are correct, after fewer than 3 iterations on average."""
    steps = [int(step) for step in lines(log, "I").values()]
    assert len(steps) == 100 and exact_matches(log) >= 0.9 and sum(steps) / len(steps) < 3


def test_the_stored_levt_solves_the_toy_task(decoded: str) -> None:
    assert_learned(decoded)


BLEU = ["--eval-bleu", "--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric", "--dropout", 0]


@pytest.mark.slow
def test_training_solves_the_toy_task(toy: Path, tmp_path: Path) -> None:
    schedule = ["--lr-scheduler", "polynomial_decay", "--total-num-update", 500, "--warmup-updates", 50]
    schedule += ["--max-tokens", 2000, "--max-update", 500, "--clip-norm", 1, "--save-interval", 10]
    succeed(*train(toy, tmp_path, *schedule, "--validate-interval", 10, *BLEU))
    best = tmp_path / "checkpoint_best.pt"
    assert_learned(succeed(*generate(toy, best, "--print-step", "--batch-size", 32)).out)


def test_a_training_from_a_checkpoint_logs_every_policy_and_bleu(toy: Path, tmp_path: Path) -> None:
    few = ["--max-tokens", 2000, "--max-update", 3, "--log-interval", 1, "--lr", 1e-5]
    log = succeed(*train(toy, tmp_path, "--finetune-from-model", LEVT, *few, *BLEU)).both
    for name in ("deletion", "placeholder", "token"):
        for kind in ("loss", "nll", "accuracy"):
            assert re.search(rf" {name}_{kind}=[\d.]+", log), (name, kind)
    assert re.search(r" wps=[\d.]+", log)
    bleu = re.search(r"valid on 'valid' subset .* bleu ([\d.]+)", log)
    assert bleu and float(bleu[1]) > 90


def test_outputs_do_not_depend_on_batch_size_or_padding_side(toy: Path, decoded: str) -> None:
    unbatched = succeed(*generate(toy, LEVT, "--batch-size", 1, "--print-step")).out
    right = succeed(*generate(toy, LEVT, "--batch-size", 32, "--print-step", "--left-pad-source")).out
    for batched in (decoded, right):
        same_hypotheses(unbatched, batched)
        assert lines(unbatched, "I") == lines(batched, "I")


def test_history_shows_placeholders(toy: Path) -> None:
    flags = ["--retain-iter-history", "--remove-bpe"]  # --remove-bpe makes fairseq enlarge the dictionary
    log = succeed(*generate(toy, LEVT, *flags)).out
    states = re.findall(r"^E-7_(\d+)\t(.*)$", log, re.MULTILINE)
    assert [int(step) for step, _ in states] == list(range(len(states)))
    assert (len(states) - 1) % 3 == 0
    assert states[0][1] == "" and set(states[2][1].split()) == {"<plh>"}
    assert states[-1][1] == hypotheses(log)[7][1]


def test_average_and_ensemble_of_a_model_with_itself_change_nothing(toy: Path, tmp_path: Path, decoded: str) -> None:
    average = tmp_path / "average.pt"
    for number in (1, 2):
        shutil.copy(LEVT, tmp_path / f"checkpoint{number}.pt")
    succeed("lev-plugins", "average", tmp_path, "--last", 2, "--output", average)
    same_hypotheses(decoded, succeed(*generate(toy, average)).out)
    same_hypotheses(decoded, succeed(*generate(toy, f"{LEVT}:{average}")).out)
