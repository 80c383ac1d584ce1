"""Checkpoints of models with random weights, as fairseq writes them, and the triples that they read."""

import random
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

import lev_plugins  # noqa: F401  registers
from lev_plugins.cli.main import main
from lev_plugins.training import checkpoints

SMALL = [
    f"--{side}-{name}={size}"
    for side in ("encoder", "decoder")
    for name, size in (("layers", 1), ("embed-dim", 32), ("ffn-embed-dim", 32), ("attention-heads", 2))
]
TRANSFORMER = ["--task", "translation", "--arch", "transformer", *SMALL]
LEVT = ["--task", "text_editing", "--arch", "levt", "--criterion", "dual_policy", *SMALL]
WORDS = [f"w{number}" for number in range(12)]


def random_triples(folder: Path, lines: dict[str, int], long: tuple[str, int] | None = None) -> Path:
    """Prepares random sources, drafts and targets; ``long`` names the part and the line of one long sentence."""
    draw = random.Random(1)
    words = ["prepare", "-s", "en", "-d", "mt", "-t", "de", "--joined-dictionary", "--dest", str(folder / "data")]
    for part, count in lines.items():
        text = [draw.choices(WORDS, k=draw.randint(1, 9)) for _ in range(count)]
        if long and long[0] == part:
            text[long[1]] = WORDS * 3
        for side, change in (("en", 1), ("mt", 2), ("de", -1)):
            (folder / f"{part}.{side}").write_text("".join(f"{' '.join(row[::change])}\n" for row in text))
        words += [f"--{part}-prefix", str(folder / part)]
    assert main(words) == 0
    return folder / "data"


def config(*flags: object) -> Any:
    """Returns the configuration that fairseq-train makes of its flags."""
    with mock.patch.object(sys, "argv", ["fairseq-train"]):  # where fairseq looks for --user-dir
        parsed = options.parse_args_and_arch(options.get_training_parser(), [str(flag) for flag in flags])
        return convert_namespace_to_omegaconf(parsed)


def write_teacher(path: Path, data: Path, *flags: object, seed: int = 1) -> Path:
    cfg = config(data, *flags, "--optimizer", "adam")
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(seed)
    model = task.build_model(cfg.model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "proj" in name or "fc" in name:
                parameter.mul_(3)  # with fairseq's own, a model repeats itself whatever the source says
    state = {
        "cfg": OmegaConf.to_container(cfg, resolve=True, enum_to_str=True),
        "args": None,
        "model": model.state_dict(),
        "optimizer_history": [{"num_updates": 1, "optimizer_name": "adam", "lr_scheduler_state": {}}],
        "extra_state": {"epoch": 1, "train_iterator": {"epoch": 1, "iterations_in_epoch": 0}, "val_loss": None},
        "last_optimizer_state": None,
    }
    checkpoints.save(state, path)
    return path
