#!/usr/bin/env python3
"""Training speed of a LevT beside fairseq's LevT: collating a batch, drawing its noise, forward, backward and Adam."""

import copy
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq import utils
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import levt, timing
from bench.levt import System, Weights
from lev_plugins.levt.dataset import RollIn, TextEditingDataset

GOAL = 1.2
LEARNING_RATE = 1e-7  # the model hardly changes, so every repetition does the same work


def update(system: System, dataset: Any, device: torch.device) -> Callable[[], None]:
    """Returns one update on all sentences of ``dataset``: everything between two batches of one process."""
    model = copy.deepcopy(system.model).to(device)
    options = FairseqAdamConfig(adam_betas="(0.9, 0.98)", tpu=False, lr=[LEARNING_RATE])
    optimizer = FairseqAdam(options, list(model.parameters()))

    def work() -> None:
        batch = dataset.collater([dataset[i] for i in range(len(dataset))])
        if device.type == "cuda":
            batch = utils.move_to_cuda(batch, device)
        optimizer.zero_grad()
        with levt.silence():
            system.task.train_step(batch, model, system.criterion, optimizer, update_num=1)
        optimizer.step()

    return work


def measure(weights: Weights, tokens: int, words: int, repetitions: int, device: torch.device) -> dict[str, Any]:
    rows = levt.one_batch(levt.sentences(tokens, words, seed=2), tokens)
    pair = levt.copy_task(rows, weights.dictionary)
    ours = TextEditingDataset(pair, rollin=RollIn(1))
    jobs = [(update(levt.fairseq_system(weights), pair, device), update(levt.our_system(weights), ours, device))]
    times, _ = timing.alternate(timing.Clock(device), jobs, repetitions, "training")
    count = sum(row.numel() for row in rows)
    return {
        "tokens": count,
        "goal": GOAL,
        "peer_per_second": count * repetitions / sum(times.peer),
        "ours_per_second": count * repetitions / sum(times.ours),
        **times.summary(),
    }


def main(arguments: list[str] | None = None) -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--narrow", action="store_true", help="128 wide, 2 + 2 blocks, not 512 wide, 6 + 6")
    flags.add_argument("--tokens", metavar="N", type=int, default=4000, help="target tokens per batch (default: 4000)")
    args = flags.parse_args(arguments)
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    device = timing.device_of(args.device)
    size = levt.QUICK if args.quick else levt.NARROW if args.narrow else levt.BASE
    untrained = Weights(levt.levt_options(size), {}, levt.dictionary(size.words))
    untrained.state = levt.fairseq_system(untrained).model.state_dict()
    weights = levt.grow(untrained, size)
    tokens, repetitions = (200, 2) if args.quick else (args.tokens, 9 if args.narrow else 3)
    line = measure(weights, tokens, size.words, repetitions, device)
    rates = [f"{line[f'{side}_per_second']:.0f} tokens/s" for side in ("peer", "ours")]
    titles = ["training", "fairseq", "ours", "ratio (quartiles)", "goal"]
    page = timing.table(titles, [[f"{line['tokens']} tokens", *rates, timing.quartiles(line["ratio"]), GOAL]])
    timing.report({"machine": timing.machine(device), "size": vars(size), "training": line}, page, args.out)


if __name__ == "__main__":
    timing.run(main)
