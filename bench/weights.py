"""Weights for the measurements: a small model trained for minutes, then grown without changing its outputs.

The decoding speed of a Levenshtein Transformer depends on the length of its outputs and the number of iterations, so
untrained weights would measure nothing useful, and training a base-size model on a CPU takes days. A model a quarter as
wide with a third of the blocks takes minutes. Repeating each of its channels four times (with weights divided
accordingly) and adding blocks that add zero to the residual stream gives the same outputs at the cost of base size.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from fairseq.data.data_utils import collate_tokens
from fairseq.tasks.translation import load_langpair_dataset
from torch import Tensor
from tqdm import tqdm

from bench.systems import POSITIONS, Size, Weights, levt_options, silence, theirs
from lev_plugins import checkpoints
from lev_plugins.data.words import EditingDictionary
from lev_plugins.errors import require

SHORTEST, LONGEST = 8, 30  # words of a synthetic sentence
CLIP = 1.0
WRONG = 0.15  # share of the words of a draft from which deletions are learned
SHARPNESS = 2.0  # of the attention that training starts with


def dictionary(words: int) -> Dictionary:
    """``words`` entries, the special ones included."""
    made = EditingDictionary()
    for i in range(words - len(made)):
        made.add_symbol(f"w{i}")
    return made


def sentences(count: int, words: int, seed: int) -> list[Tensor]:
    """Random sentences between <s> and </s>, word frequencies falling as 1 / rank."""
    random, marks = np.random.default_rng(seed), Dictionary()
    share = 1 / np.arange(1, words - marks.nspecial + 1)
    lengths = random.integers(SHORTEST, LONGEST + 1, count)
    rows = [marks.nspecial + random.choice(share.size, n, p=share / share.sum()) for n in lengths]
    return [torch.tensor([marks.bos(), *row.tolist(), marks.eos()]) for row in rows]


def pair(rows: list[Tensor], vocabulary: Dictionary) -> LanguagePairDataset:
    """The synthetic task: repeat the source."""
    sizes = np.array([row.numel() for row in rows])
    side = ListDataset(rows, sizes)
    return LanguagePairDataset(
        side, sizes, vocabulary, side, sizes, vocabulary, left_pad_source=True, left_pad_target=False
    )


def train_narrow(size: Size, updates: int, batch: int, rate: float, seed: int = 1, deleting: bool = False) -> Weights:
    """fairseq's own model, loss and noise on the synthetic task.

    fairseq learns deletions from the model's own output alone; ``deleting`` also from drafts with wrong words.
    """
    torch.manual_seed(seed)
    vocabulary = dictionary(size.words)
    weights = Weights(levt_options(size), {}, vocabulary, vocabulary)
    system = theirs(weights)
    head_start(system.model)
    optimizer = torch.optim.Adam(system.model.parameters(), lr=rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, updates + 1, pct_start=0.2)
    system.model.train()
    with tqdm(total=updates, desc="training weights", disable=None) as bar:
        for update in range(updates):
            sample = batch_of(sentences(batch, size.words, seed=1000 + update), vocabulary)
            with silence():
                sample["prev_target"] = half_empty(system.task.inject_noise(sample["target"]), vocabulary)
                loss, _, log = system.criterion(system.model, sample)
            if deleting:
                loss = loss + deletion_loss(system.model, sample, vocabulary, seed=2000 + update)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(system.model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            bar.update()
            bar.set_postfix({key: f"{value:.2f}" for key, value in log.items() if key.endswith("-loss")})
    state = {key: value.detach().clone() for key, value in system.model.state_dict().items()}
    return Weights(weights.options, state, vocabulary, vocabulary)


def spoilt(tokens: Tensor, share: float, vocabulary: Dictionary, seed: int) -> Tensor:
    """Replaces some words with random ones."""
    random = torch.Generator().manual_seed(seed)
    words = torch.randint(vocabulary.nspecial, len(vocabulary), tokens.shape, generator=random)
    wrong = (torch.rand(tokens.shape, generator=random) < share) & tokens.ge(vocabulary.nspecial)
    return torch.where(wrong, words, tokens)


def deletion_loss(model: Any, sample: dict[str, Any], vocabulary: Dictionary, seed: int) -> Tensor:
    target = sample["target"]
    draft, real = spoilt(target, WRONG, vocabulary, seed), target.ne(vocabulary.pad())
    source = model.encoder(**sample["net_input"])
    logits, _ = model.decoder.forward_word_del(normalize=False, encoder_out=source, prev_output_tokens=draft)
    return F.cross_entropy(logits[real], draft.ne(target)[real].long())


def half_empty(tokens: Tensor, vocabulary: Dictionary) -> Tensor:
    """Every other row becomes <s> </s>, the initial state of decoding, which fairseq's noise seldom draws."""
    emptied = tokens.clone()
    emptied[::2, 1] = vocabulary.eos()
    emptied[::2, 2:] = vocabulary.pad()
    return emptied


def kept_or_trained(
    kept: Path | None, size: Size, updates: int, batch: int, rate: float, deleting: bool = False
) -> Weights:
    """The weights in the file ``kept``; if it does not exist, trains new weights and saves them there."""
    vocabulary = dictionary(size.words)
    training = {"updates": updates, "batch": batch, "rate": rate, "deleting": deleting}
    if kept is not None and kept.exists():
        state = checkpoints.load(kept)
        require(
            state["cfg"]["model"] == levt_options(size) and state["cfg"].get("training") == training,
            f"--weights {kept} has a model of another size or training: give another file, or delete this one",
        )
        return Weights(state["cfg"]["model"], state["model"], vocabulary, vocabulary)
    trained = train_narrow(size, updates, batch, rate, deleting=deleting)
    if kept is not None:
        task = {"source_lang": "source", "target_lang": "target"}
        cfg = {"model": trained.options, "task": task, "training": training}
        checkpoints.save({"args": None, "cfg": cfg, "model": trained.state}, kept)
    return trained


def head_start(model: Any) -> None:
    """Equal positions attend to each other and their values pass through, so copying is learnt quickly."""
    positions = model.encoder.embed_positions.weight
    with torch.no_grad():
        positions.normal_()
        model.decoder.embed_positions.weight.copy_(positions)
        for layer in model.decoder.layers:
            attention = layer.encoder_attn
            attention.q_proj.weight.mul_(SHARPNESS)
            attention.k_proj.weight.copy_(attention.q_proj.weight)
            attention.out_proj.weight.copy_(attention.v_proj.weight.T)


def one_batch(side: LanguagePairDataset, tokens: int) -> LanguagePairDataset:
    """Pairs of similar, medium length with at most ``tokens`` target tokens together, as fairseq batches them."""
    order = np.argsort(side.tgt_sizes, kind="stable")
    order = order[len(order) // 2 :]
    rows = order[: max(1, int((np.cumsum(side.tgt_sizes[order]) <= tokens).sum()))].tolist()
    sources, targets = [side.src[i] for i in rows], [side.tgt[i] for i in rows]
    sizes = [np.array([row.numel() for row in part]) for part in (sources, targets)]
    return LanguagePairDataset(
        ListDataset(sources, sizes[0]),
        sizes[0],
        side.src_dict,
        ListDataset(targets, sizes[1]),
        sizes[1],
        side.tgt_dict,
        left_pad_source=True,
        left_pad_target=False,
    )


def batch_of(rows: list[Tensor], vocabulary: Dictionary) -> dict[str, Any]:
    pad = vocabulary.pad()
    return {
        "nsentences": len(rows),
        "ntokens": sum(row.numel() for row in rows),
        "net_input": {
            "src_tokens": collate_tokens(rows, pad, left_pad=True),
            "src_lengths": torch.tensor([row.numel() for row in rows]),
        },
        "target": collate_tokens(rows, pad),
    }


def grow(weights: Weights, factor: int, layers: tuple[int, int], words: int) -> Weights:
    """Repeat every channel ``factor`` times, extend to ``layers`` blocks (encoder, decoder) and ``words`` words; needs
    pre-norm. All heads read the last block of the decoder, as they do of ``weights``.

    The width of a head stays the same; the number of heads grows. Every weight that reads channels reads each of them
    ``factor`` times and is divided by it, so activations do not change. Only the logits of the words grow by
    sqrt(factor), because their table is also the input table, which fairseq scales by the square root of the width; the
    best word stays the best. New words are never output.
    """
    grown = ("embed_dim", "ffn_embed_dim", "attention_heads", "input_dim", "output_dim")
    options = {
        key: value * factor if key.split("_", 1)[-1] in grown else value for key, value in weights.options.items()
    }
    options["early_exit"] = ",".join([str(layers[1])] * 3)
    options["encoder_layers"], options["decoder_layers"] = layers
    state = {key: widened(key, value, factor) for key, value in weights.state.items()}
    for key in state:
        if key.endswith(("embed_tokens.weight", "output_projection.weight")):
            state[key] = F.pad(state[key], (0, 0, 0, words - len(weights.target)))  # a row of zeros scores 0
    vocabulary = dictionary(words)
    return Weights(options, deepened(state, layers), vocabulary, vocabulary)


def deepened(state: dict[str, Tensor], layers: tuple[int, int]) -> dict[str, Tensor]:
    """New blocks copy the first one, with an output of zero from its three sub-layers."""
    made = dict(state)
    for key, value in state.items():
        side, kind, *rest = key.split(".")
        if kind != "layers" or rest[0] != "0":
            continue
        silent = any(name in rest for name in ("out_proj", "fc2"))
        for number in range(layers[0] if side == "encoder" else layers[1]):
            name = ".".join([side, kind, str(number), *rest[1:]])
            made.setdefault(name, torch.zeros_like(value) if silent else value.clone())
    return made


def widened(name: str, value: Tensor, factor: int) -> Tensor:
    module = name.split(".")[-2] if "." in name else ""
    if value.dim() == 1:  # a bias or a layer norm
        return value.repeat(factor) if value.numel() > 1 else value
    if module == "embed_positions":
        return value.repeat(1, factor)
    if module in ("embed_tokens", "output_projection"):
        return value.repeat(1, factor) / factor**0.5
    if module == "embed_word_del":
        return value.repeat(1, factor) / factor
    if module == "embed_mask_ins":  # reads two neighbours, one after the other
        return value.unflatten(1, (2, -1)).repeat(1, 1, factor).flatten(1) / factor
    return value.repeat(factor, factor) / factor


def from_checkpoint(path: Path, data: Path) -> tuple[Weights, LanguagePairDataset, LanguagePairDataset]:
    """A real ``levenshtein_transformer``, its test set and its training set."""
    state = checkpoints.load(path)
    if state.get("args") is not None:
        options = task = vars(state["args"])
    else:  # fairseq stores the settings of a model without a dataclass as a Namespace
        options, task = (
            vars(part) if isinstance(part, Namespace) else dict(part)
            for part in (state["cfg"]["model"], state["cfg"]["task"])
        )
    languages = task["source_lang"], task["target_lang"]
    source, target = (EditingDictionary.load(str(data / f"dict.{language}.txt")) for language in languages)
    test, train = (binarised(data, split, languages, source, target) for split in ("test", "train"))
    return Weights(options, state["model"], source, target), test, train


def binarised(
    data: Path, split: str, languages: tuple[str, str], source: Dictionary, target: Dictionary
) -> LanguagePairDataset:
    return load_langpair_dataset(
        str(data),
        split,
        languages[0],
        source,
        languages[1],
        target,
        combine=False,
        dataset_impl=None,
        upsample_primary=1,
        left_pad_source=True,
        left_pad_target=False,
        max_source_positions=POSITIONS,
        max_target_positions=POSITIONS,
        prepend_bos=True,
    )
