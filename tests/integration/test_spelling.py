"""The commands of an editor that spells, from clean text to edited text."""

import random
from pathlib import Path

from tests.commands import USER_DIR, outputs, succeed
from tests.teachers import SMALL

VOCABULARY = ["value", "values", "function", "the", "of", "form", "from", "matrix", "sort", "rows"]
NOISY_TO_CLEAN = ["-s", "noisy", "-t", "clean", "--draft-lang", "draft"]
COMMON = ["--user-dir", USER_DIR, "--task", "text_editing", *NOISY_TO_CLEAN, "--cpu"]


def prepare_clean_text(folder: Path, sizes: dict[str, int]) -> Path:
    """Prepares clean training text, and other sets with noise in source and draft, whose text is in ``folder``."""
    draw = random.Random(1)
    for split, count in sizes.items():
        clean = "".join(f"{' '.join(draw.choices(VOCABULARY, k=draw.randint(3, 8)))}.\n" for _ in range(count))
        (folder / f"{split}.clean").write_text(clean)
        if split != "train":
            noise = ["lev-plugins", "noise", "--kind", "swap,delete", "--word-rate", 0.4, "--seed", 2]
            noisy = succeed(*noise, stdin=clean.encode()).out
            for side in ("noisy", "draft"):
                (folder / f"{split}.{side}").write_text(noisy)
    prefixes = [f"--{split}-prefix={folder / split}" for split in sizes]
    flags = ["--bpe", "words", "--joined-dictionary", "--clean-train", "--dest", folder / "data"]
    succeed("lev-plugins", "prepare", "-s", "noisy", "-d", "draft", "-t", "clean", *prefixes, *flags)
    return folder / "data"


def train_speller(data: Path, save_dir: Path, *flags: object) -> None:
    words = ["--arch", "levt_tiny", "--spelling", "--spelling-buckets", 2000, "--share-all-embeddings", "--dropout", 0]
    words += ["--rollin-alpha", 1, "--rollin-beta", 1, "--max-insertions", 3, "--criterion", "dual_policy"]
    words += ["--noise-kind", "swap,delete", "--noise-word-rate", 0.4, "--bpe", "words", "--num-workers", 1]
    words += ["--optimizer", "adam", "--max-tokens", 1000, "--no-epoch-checkpoints", "--save-dir", save_dir]
    succeed("fairseq-train", data, *COMMON, *words, *flags)


def test_generate_interactive_and_edit_give_the_same_texts(tmp_path: Path) -> None:
    data = prepare_clean_text(tmp_path, {"train": 200, "valid": 20, "test": 20})
    train_speller(data, tmp_path, *SMALL, "--lr", 0.01, "--max-update", 40)
    checkpoint = tmp_path / "checkpoint_best.pt"
    path = ["--path", checkpoint, "--bpe", "words", "--iter-decode-max-iter", 2]
    log = succeed("fairseq-generate", data, *COMMON, *path, "--gen-subset", "test", "--batch-size", 7)
    generated = list(outputs(log.out).values())
    noisy, clean = ((tmp_path / f"test.{side}").read_text().splitlines() for side in ("noisy", "clean"))
    typed = "".join(f"{line}\t{line}\n" for line in noisy)
    interactive = succeed("fairseq-interactive", data, *COMMON, *path, stdin=typed.encode())
    assert list(outputs(interactive.out).values()) == generated
    flags = ["--data", data, "--bpe", "words", "--iter-decode-max-iter", 2, "--trainable"]  # with graphs in 32 bits
    succeed("lev-plugins", "export", checkpoint, tmp_path / "out", *flags)
    lines = "\n".join([*noisy, ""]).encode()
    edited = succeed("lev-plugins", "edit", tmp_path / "out", "--whole-lines", stdin=lines)
    assert edited.err == ""
    assert edited.out.splitlines() == generated
    noisy_matches, matches = (sum(a == b for a, b in zip(texts, clean, strict=True)) for texts in (noisy, generated))
    assert matches > noisy_matches + 5
