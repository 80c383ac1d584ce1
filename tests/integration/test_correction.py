"""Correct noisy text with ``pbd`` and fairseq's ``transformer``: the real command lines on a toy task."""

import re
from pathlib import Path

import pytest

from tests.commands import ADAM, QUIET, TRAINED, USER_DIR, exact_matches, hypotheses, lines, same_hypotheses, succeed
from tests.helpers import part_of_fairseq

TASK = ["--user-dir", USER_DIR, "--task", "text_correction", "--cpu"]
PBD = ["--arch", "pbd_tiny", "--share-all-embeddings", "--criterion", "label_smoothed_cross_entropy"]
FEW = ["--max-tokens", 500, "--max-update", 2]
SCORES = ["--eval-exact-match", "--eval-wrr", "--eval-bleu", "--eval-bleu-args", '{"beam": 2}']
SCORES += ["--best-checkpoint-metric", "exact_match", "--maximize-best-checkpoint-metric"]
CORRECTOR = TRAINED / "pbd.pt"
WIDE = ["--beam", 5, "--batch-size", 64]


def train(data: Path, save_dir: Path, *flags: object) -> list[object]:
    return ["fairseq-train", data, *TASK, *ADAM, *QUIET, "--save-dir", save_dir, *flags]


def generated(data: Path, path: object, *flags: object) -> str:
    return succeed("fairseq-generate", data, *TASK, "--path", path, "--gen-subset", "test", *flags).out


@pytest.fixture(scope="module")
def corrected(noisy: Path) -> str:
    """What fairseq-generate says of the test set."""
    return generated(noisy, CORRECTOR, *WIDE)


def assert_learned(log: str) -> None:
    """Of all 100 lines: 64 and 36 make no batches of multiples of 8."""
    assert len(hypotheses(log)) == 100 and exact_matches(log) >= 0.85


def test_correcting_has_been_learned(corrected: str) -> None:
    assert_learned(corrected)


@pytest.mark.slow
def test_correcting_is_learned(noisy: Path, tmp_path: Path) -> None:
    schedule = ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", 40, "--clip-norm", 1, "--max-tokens", 2000]
    schedule += ["--max-update", 350, "--validate-interval", 8, "--save-interval", 8]
    log = succeed(*train(noisy, tmp_path, *PBD, "--future-dropout", 0.1, *schedule, *SCORES))
    assert_logged_is_decoded(log.both, noisy, tmp_path)
    assert_learned(generated(noisy, tmp_path / "checkpoint_best.pt", *WIDE))


def test_a_training_from_a_checkpoint_is_chosen_by_the_best_score(noisy: Path, tmp_path: Path) -> None:
    few = ["--max-tokens", 2000, "--max-update", 2, "--save-interval-updates", 1, "--lr", 1e-4]
    log = succeed(*train(noisy, tmp_path, *PBD, "--finetune-from-model", CORRECTOR, *few, *SCORES))
    assert_logged_is_decoded(log.both, noisy, tmp_path)


def assert_logged_is_decoded(log: str, data: Path, folder: Path) -> None:
    """What was logged while training is what the saved model says when it decodes."""
    seen = re.findall(r"valid on .* exact_match ([\d.]+) \| wrr ([\d.]+) .* bleu ([\d.]+)", log)
    exact, wrr, _ = (float(number) for number in max(seen, key=lambda scores: float(scores[0])))
    assert wrr > exact > 80
    path = ["--path", folder / "checkpoint_best.pt", "--gen-subset", "valid", "--beam", 2]
    text = succeed("fairseq-generate", data, *TASK, *path).out
    assert 100 * exact_matches(text) == pytest.approx(exact)


def test_interactive_is_generate_whatever_the_batch(noisy: Path, corrected: str) -> None:
    text = (noisy.parent / "test.noisy").read_text(encoding="utf-8")
    path = ["--path", CORRECTOR, "--beam", 5]
    for batch in (1, 25):
        sizes = ["--buffer-size", 100, "--batch-size", batch]
        same_hypotheses(corrected, succeed("fairseq-interactive", noisy, *TASK, *path, *sizes, stdin=text).out)


def test_translation_takes_a_pbd_and_r_drop_trains_it(noisy: Path, tmp_path: Path) -> None:
    part_of_fairseq("fairseq.criterions.label_smoothed_cross_entropy_with_rdrop")
    flags = ["--user-dir", USER_DIR, "--task", "translation", "--cpu"]
    arch = ["--arch", "pbd_tiny", "--criterion", "label_smoothed_cross_entropy_with_rdrop", "--rdrop-alpha", 1]
    succeed("fairseq-train", noisy, *flags, *arch, *ADAM, *QUIET, *FEW, "--save-dir", tmp_path, "--disable-validation")
    path = ["--path", tmp_path / "checkpoint_last.pt", "--gen-subset", "valid", "--batch-size", 50, "--max-len-b", 9]
    assert lines(succeed("fairseq-generate", noisy, *flags, *path).out, "H")
