"""Correct noisy text with ``pbd`` and fairseq's ``transformer``: the real command lines on a toy task."""

import re
from pathlib import Path

import pytest

from tests.commands import ADAM, QUIET, TRAINED, USER_DIR, exact_matches, hypotheses, lines, same_hypotheses, succeed
from tests.helpers import part_of_fairseq

CORRECTING = ["--user-dir", USER_DIR, "--task", "text_correction", "--cpu"]
PBD_FLAGS = ["--arch", "pbd_tiny", "--share-all-embeddings", "--criterion", "label_smoothed_cross_entropy"]
SHORT_RUN = ["--max-tokens", 500, "--max-update", 2]
SCORE_FLAGS = ["--eval-exact-match", "--eval-wrr", "--eval-bleu", "--eval-bleu-args", '{"beam": 2}']
SCORE_FLAGS += ["--best-checkpoint-metric", "exact_match", "--maximize-best-checkpoint-metric"]
PBD_CHECKPOINT = TRAINED / "pbd.pt"
WIDE = ["--beam", 5, "--batch-size", 64]


def train_pbd(data: Path, save_dir: Path, *flags: object) -> list[object]:
    return ["fairseq-train", data, *CORRECTING, *ADAM, *QUIET, "--save-dir", save_dir, *flags]


def generate_corrections(data: Path, path: object, *flags: object) -> str:
    return succeed("fairseq-generate", data, *CORRECTING, "--path", path, "--gen-subset", "test", *flags).out


@pytest.fixture(scope="module")
def corrected(noisy: Path) -> str:
    """The log of fairseq-generate on the test set."""
    return generate_corrections(noisy, PBD_CHECKPOINT, *WIDE)


def assert_corrections_learned(log: str) -> None:
    """Asserts that all 100 lines were decoded (64 and 36 are not multiples of 8), and most of them correctly."""
    assert len(hypotheses(log)) == 100 and exact_matches(log) >= 0.85


def test_a_trained_pbd_corrects(corrected: str) -> None:
    assert_corrections_learned(corrected)


@pytest.mark.slow
def test_training_learns_to_correct(noisy: Path, tmp_path: Path) -> None:
    schedule = ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", 40, "--clip-norm", 1, "--max-tokens", 2000]
    schedule += ["--max-update", 350, "--validate-interval", 8, "--save-interval", 8]
    log = succeed(*train_pbd(noisy, tmp_path, *PBD_FLAGS, "--future-dropout", 0.1, *schedule, *SCORE_FLAGS))
    assert_logged_is_decoded(log.both, noisy, tmp_path)
    assert_corrections_learned(generate_corrections(noisy, tmp_path / "checkpoint_best.pt", *WIDE))


def test_fine_tuning_keeps_the_checkpoint_with_the_best_score(noisy: Path, tmp_path: Path) -> None:
    few = ["--max-tokens", 2000, "--max-update", 2, "--save-interval-updates", 1, "--lr", 1e-4]
    log = succeed(*train_pbd(noisy, tmp_path, *PBD_FLAGS, "--finetune-from-model", PBD_CHECKPOINT, *few, *SCORE_FLAGS))
    assert_logged_is_decoded(log.both, noisy, tmp_path)


def assert_logged_is_decoded(log: str, data: Path, folder: Path) -> None:
    """Asserts that the logged scores of the best checkpoint are those of its decoding."""
    seen = re.findall(r"valid on .* exact_match ([\d.]+) \| wrr ([\d.]+) .* bleu ([\d.]+)", log)
    exact, wrr, _ = (float(number) for number in max(seen, key=lambda scores: float(scores[0])))
    assert wrr > exact > 80
    path = ["--path", folder / "checkpoint_best.pt", "--gen-subset", "valid", "--beam", 2]
    text = succeed("fairseq-generate", data, *CORRECTING, *path).out
    assert 100 * exact_matches(text) == pytest.approx(exact)


def test_interactive_agrees_with_generate_at_any_batch_size(noisy: Path, corrected: str) -> None:
    text = (noisy.parent / "test.noisy").read_text(encoding="utf-8")
    path = ["--path", PBD_CHECKPOINT, "--beam", 5]
    for batch in (1, 25):
        sizes = ["--buffer-size", 100, "--batch-size", batch]
        same_hypotheses(corrected, succeed("fairseq-interactive", noisy, *CORRECTING, *path, *sizes, stdin=text).out)


def test_pbd_trains_with_r_drop_in_the_translation_task(noisy: Path, tmp_path: Path) -> None:
    part_of_fairseq("fairseq.criterions.label_smoothed_cross_entropy_with_rdrop")
    flags = ["--user-dir", USER_DIR, "--task", "translation", "--cpu"]
    arch = ["--arch", "pbd_tiny", "--criterion", "label_smoothed_cross_entropy_with_rdrop", "--rdrop-alpha", 1]
    arch += [*ADAM, *QUIET, *SHORT_RUN, "--disable-validation"]
    succeed("fairseq-train", noisy, *flags, *arch, "--save-dir", tmp_path)
    path = ["--path", tmp_path / "checkpoint_last.pt", "--gen-subset", "valid", "--batch-size", 50, "--max-len-b", 9]
    assert lines(succeed("fairseq-generate", noisy, *flags, *path).out, "H")
