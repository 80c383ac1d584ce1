"""Training: one update of each system on the same sentences, and the share of the expert's labels in its cost."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from fairseq import utils
from fairseq.data import LanguagePairDataset
from fairseq.models.nat.levenshtein_utils import _get_del_targets, _get_ins_targets
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from torch import Tensor

from bench import systems
from bench.clock import Clock, alternate, peak_memory
from bench.systems import System, Weights, silence
from lev_plugins.data.drafts.dataset import RollIn, TextEditingDataset
from lev_plugins.edits.expert import align, insertion_labels, random_deletions

GOAL, LABELS_GOAL = 1.2, 0.03
SEED = 1
LEARNING_RATE = 1e-7  # the model hardly changes, so every repetition does the same work


def measure(
    theirs: System, ours: System, pair: LanguagePairDataset, repetitions: int, device: torch.device
) -> dict[str, Any]:
    """All sentences of ``pair`` make one batch."""
    jobs = [(update(theirs, pair, device), update(ours, with_rollin(pair), device))]
    pairs, _ = alternate(Clock(device), jobs, repetitions, "training")
    words = int(pair.tgt_sizes.sum())
    return {
        "tokens": words,
        "sentences": len(pair),
        **pairs.summary(),
        "goal": GOAL,
        "ours_words_per_second": words * repetitions / sum(pairs.ours),
        "fairseq_words_per_second": words * repetitions / sum(pairs.theirs),
    }


def memory(weights: Weights, pair: LanguagePairDataset, device: torch.device) -> dict[str, Any]:
    sides = {"ours": (systems.ours, with_rollin(pair)), "fairseq": (systems.theirs, pair)}
    return {
        f"{side}_peak_bytes": peak_memory(
            device, partial(build, weights), partial(update, dataset=dataset, device=device)
        )
        for side, (build, dataset) in sides.items()
    }


def with_rollin(pair: LanguagePairDataset) -> TextEditingDataset:
    return TextEditingDataset(pair, rollin=RollIn(SEED))


def update(system: System, dataset: Any, device: torch.device) -> Callable[[], None]:
    """Collate, draw noise, forward, backward, optimizer step: everything between two batches of one process."""
    model = copy.deepcopy(system.model).to(device)
    options = FairseqAdamConfig(adam_betas="(0.9, 0.98)", tpu=False, lr=[LEARNING_RATE])
    optimizer = FairseqAdam(options, list(model.parameters()))

    def work() -> None:
        batch = dataset.collater([dataset[i] for i in range(len(dataset))])
        if device.type == "cuda":
            batch = utils.move_to_cuda(batch, device)
        optimizer.zero_grad()
        with silence():
            system.task.train_step(batch, model, system.criterion, optimizer, update_num=1)
        optimizer.step()

    return work


def measure_labels(theirs: System, pair: LanguagePairDataset, repetitions: int, device: torch.device) -> dict[str, Any]:
    """Noise and expert labels alone, on the same batch as ``measure``; the model's insertions are random words."""
    pad, unk = pair.tgt_dict.pad(), pair.tgt_dict.unk()
    target = pair.collater([pair[i] for i in range(len(pair))])["target"].to(device)
    edited = noised(target, pad, len(pair.tgt_dict))

    def their_labels() -> None:
        with silence():
            _get_ins_targets(theirs.task.inject_noise(target), target, pad, unk)
            _get_del_targets(edited.clone(), target, pad)

    rollin, on_host = RollIn(SEED), target.cpu()

    def our_labels() -> None:
        missing = torch.zeros(on_host.shape, dtype=torch.bool)
        for index in range(len(pair)):
            length = int(pair.tgt_sizes[index])
            missing[index, :length] = random_deletions(length, rollin.generator(1, index))
        insertion_labels(on_host, missing, pad)
        align(edited, target, pad)

    pairs, _ = alternate(Clock(device), [(their_labels, our_labels)], repetitions, "expert labels")
    return pairs.summary()


def noised(target: Tensor, pad: int, words: int) -> Tensor:
    """Like the model's insertions early in training: half of the words are wrong."""
    random = torch.Generator().manual_seed(SEED)
    replaced = torch.rand(target.shape, generator=random) < 0.5
    others = torch.randint(4, words, target.shape, generator=random)
    inner = target.ne(pad) & target.ge(4)
    return torch.where(replaced.to(target.device) & inner, others.to(target.device), target)


def shares(labels: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    """Median cost of the labels over the median cost of the update they are part of."""
    return {
        "ours_share": labels["ours_seconds"]["median"] / step["ours_seconds"]["median"],
        "fairseq_share": labels["fairseq_seconds"]["median"] / step["fairseq_seconds"]["median"],
        "goal": LABELS_GOAL,
        **labels,
    }
