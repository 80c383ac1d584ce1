"""Toy folders and models of EncT5 that the tests share."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.labelling.config import EncT5Config
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingConfig, TextLabellingTask

WORDS = ["sun", "rain", "snow", "wind", "fog", "ice", "hail", "storm"]
TINY = {"embed_dim": 16, "ffn_embed_dim": 24, "layers": 2, "attention_heads": 2, "head_dim": 8, "dropout": 0.0}


def row(kind: str, draw: random.Random) -> str:
    words = draw.choices(WORDS, k=draw.randint(1, 7))
    present = sorted({word[0] for word in words})
    labels = {
        "classification": "wet" if {"rain", "hail", "storm"} & set(words) else "dry",
        "regression": f"{sum(len(word) for word in words) / 10:.1f}",
        "multilabel": ",".join(letter for letter in present if letter in "srw"),
        "tagging": " ".join("LONG" if len(word) > 3 else "SHORT" for word in words),
    }
    return f"{' '.join(words)}\t{labels[kind]}"


def write_text(folder: Path, kind: str, lines: int = 40, valid: int = 20) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split, number in (("train", lines), ("valid", valid)):
        draw = random.Random(f"{split} {kind}")
        text = "".join(f"{row(kind, draw)}\n" for _ in range(number))
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")


def prepare(folder: Path, kind: str, *flags: object) -> Path:
    """Runs ``prepare-labels`` on the train.tsv of the folder, and on its valid.tsv if there is one."""
    words = ["prepare-labels", "--label-kind", kind, "--dest", folder / "data", *flags]
    for name in ("train", "valid"):
        if (folder / f"{name}.tsv").exists():
            words += [f"--{name}", folder / f"{name}.tsv"]
    assert main([str(word) for word in words]) == 0
    return folder / "data"


def folder_of(folder: Path, kind: str, *flags: object, lines: int = 40) -> Path:
    """Prepares random text, by default cut into letters, so that tags have spans of several pieces."""
    write_text(folder, kind, lines)
    return prepare(folder, kind, *(flags or ["--bpe", "characters"]))


def task_of(data: Path, **options: Any) -> TextLabellingTask:
    task = TextLabellingTask.setup_task(TextLabellingConfig(data=str(data), **{"train_subset": "train", **options}))
    for split in ("train", "valid"):
        task.load_dataset(split)
    return task


def model_of(task: TextLabellingTask, seed: int = 1, **options: Any) -> EncT5:
    torch.manual_seed(seed)
    config = OmegaConf.structured(EncT5Config(_name="enct5", **{**TINY, **options}))
    model = task.build_model(config)
    for split in list(task.datasets):
        task.load_dataset(split)  # they ask what the model has latents for
    return model.eval()


def batch_of(
    task: TextLabellingTask, split: str = "train", number: int = 8, labels: tuple[int, ...] = ()
) -> dict[str, Any]:
    """Returns a batch; in multilabel, ``labels`` are the ids of those of interest, or empty for all."""
    dataset = task.dataset_of(task.datasets[split].examples)
    dataset.request = replace(dataset.request, labels=labels or dataset.request.labels)
    return dataset.collater([dataset[i] for i in range(number)])
