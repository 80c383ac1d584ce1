"""fairseq's Levenshtein Transformer and ours with the same weights.

The decoding speed of a Levenshtein Transformer depends on the length of its outputs and on its number of iterations.
Untrained weights would measure nothing useful, and training a model of base size on a CPU takes days. So a model a
quarter as wide, with a third of the blocks, is trained for minutes to repeat random sentences, and then grown:
repeating each channel four times (with weights divided accordingly) and adding blocks that add zero to the residual
stream gives the same outputs at the cost of base size.
"""

import contextlib
import io
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from fairseq.data.data_utils import collate_tokens
from fairseq.models.nat.levenshtein_transformer import LevenshteinTransformerModel, levenshtein_base_architecture
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.tasks.translation_lev import TranslationLevenshteinConfig, TranslationLevenshteinTask
from torch import Tensor, nn
from tqdm import tqdm

from lev_plugins.cli.import_levt import convert
from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.levt.config import LevTConfig
from lev_plugins.levt.criterion import DualPolicyConfig, DualPolicyCriterion
from lev_plugins.levt.model import LevT
from lev_plugins.levt.task import TextEditingConfig, TextEditingTask
from lev_plugins.training import checkpoints
from lev_plugins.utils.errors import require

POSITIONS = 256  # rows of the learned position tables; sentences here are much shorter
LABEL_SMOOTHING = 0.1
MIN_WORDS, MAX_WORDS = 8, 30  # of a synthetic sentence
CLIP_NORM = 1.0
ATTENTION_SCALE = 2.0  # sharpness of the attention that training starts with


@dataclass(frozen=True)
class Size:
    """The model that is trained, and the size that it grows to."""

    dim: int
    ffn_dim: int
    heads: int
    layers: int
    words: int
    updates: int = 120  # enough for most words: a perfect copy would never take a third iteration
    sentences: int = 32  # per update
    learning_rate: float = 1e-3
    widening: int = 1
    grown_layers: int = 0  # 0: as trained
    grown_words: int = 0

    def training(self) -> dict[str, Any]:
        """The settings on which the trained weights depend."""
        return {name: vars(self)[name] for name in ("dim", "layers", "words", "updates", "sentences", "learning_rate")}


NARROW = Size(dim=128, ffn_dim=512, heads=2, layers=2, words=504)
BASE = Size(**{**vars(NARROW), "widening": 4, "grown_layers": 6, "grown_words": 8000})
QUICK = Size(16, 32, 2, 1, 60, updates=250, sentences=8, learning_rate=1e-2, widening=2, grown_layers=2, grown_words=80)


@dataclass
class Weights:
    """A trained ``levenshtein_transformer`` of fairseq, with the settings that rebuild it."""

    options: dict[str, Any]
    state: dict[str, Tensor]
    dictionary: Dictionary


@dataclass
class System:
    """One side of a comparison."""

    task: Any
    model: nn.Module
    criterion: Any


# ---- sentences -------------------------------------------------------------------------------------------------------


def dictionary(words: int) -> Dictionary:
    """Returns a dictionary with ``words`` entries, the special ones included."""
    entries = EditingDictionary()
    for i in range(words - len(entries)):
        entries.add_symbol(f"w{i}")
    return entries


def sentences(count: int, words: int, seed: int) -> list[Tensor]:
    """Draws random sentences between <s> and </s>; word frequencies fall as 1 / rank."""
    random, symbols = np.random.default_rng(seed), Dictionary()
    share = 1 / np.arange(1, words - symbols.nspecial + 1)
    lengths = random.integers(MIN_WORDS, MAX_WORDS + 1, count)
    rows = [symbols.nspecial + random.choice(share.size, n, p=share / share.sum()) for n in lengths]
    return [torch.tensor([symbols.bos(), *row.tolist(), symbols.eos()]) for row in rows]


def copy_task(rows: list[Tensor], vocabulary: Dictionary) -> LanguagePairDataset:
    """Returns the synthetic task: repeat the source."""
    sizes = np.array([row.numel() for row in rows])
    side = ListDataset(rows, sizes)
    return LanguagePairDataset(
        side, sizes, vocabulary, side, sizes, vocabulary, left_pad_source=True, left_pad_target=False
    )


def one_batch(rows: list[Tensor], tokens: int) -> list[Tensor]:
    """Returns rows of similar, medium length with at most ``tokens`` tokens together, as fairseq batches them."""
    rows = sorted(rows, key=len)[len(rows) // 2 :]
    total = np.cumsum([row.numel() for row in rows])
    return rows[: max(1, int((total <= tokens).sum()))]


# ---- the two systems -------------------------------------------------------------------------------------------------


def levt_options(size: Size) -> dict[str, Any]:
    """Returns the settings of fairseq's own recipe for the Levenshtein Transformer at this size, with pre-norm."""
    sides = {"embed_dim": size.dim, "ffn_embed_dim": size.ffn_dim, "attention_heads": size.heads, "layers": size.layers}
    options = Namespace(
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()},
        **{f"{side}_{name}": True for side in ("encoder", "decoder") for name in ("normalize_before", "learned_pos")},
        share_all_embeddings=True,
        dropout=0.1,
        label_smoothing=LABEL_SMOOTHING,
        max_source_positions=POSITIONS,
        max_target_positions=POSITIONS,
        arch="levenshtein_transformer",
        early_exit=",".join([str(size.layers)] * 3),
    )
    levenshtein_base_architecture(options)
    return vars(options)


def fairseq_system(weights: Weights) -> System:
    """Builds fairseq's model, task and loss."""
    cfg = TranslationLevenshteinConfig(data="", source_lang="source", target_lang="target")
    task = TranslationLevenshteinTask(cfg, weights.dictionary, weights.dictionary)
    model = LevenshteinTransformerModel.build_model(Namespace(**weights.options), task)
    if weights.state:
        model.load_state_dict(weights.state)
    return System(task, model, LabelSmoothedDualImitationCriterion(task, LABEL_SMOOTHING))


def our_system(weights: Weights) -> System:
    """Builds this package's, with the weights imported as ``lev-plugins import-levt`` does."""
    imported = convert({"args": None, "cfg": {"model": weights.options, "task": {}}, "model": weights.state})
    fields = LevTConfig.__dataclass_fields__
    cfg = LevTConfig(**{name: value for name, value in imported["cfg"]["model"].items() if name in fields})
    settings = TextEditingConfig(data="", source_lang="source", target_lang="target")
    task = TextEditingTask(settings, weights.dictionary, weights.dictionary)
    model = LevT.build_model(cfg, task)
    model.load_state_dict(imported["model"])
    return System(task, model, DualPolicyCriterion(DualPolicyConfig(label_smoothing=LABEL_SMOOTHING), task))


def transformer(weights: Weights) -> nn.Module:
    """Builds fairseq's ``transformer`` of the same size, untrained."""
    options = Namespace(**{**weights.options, "arch": "transformer"})
    base_architecture(options)
    task = TranslationLevenshteinTask(TranslationLevenshteinConfig(data=""), weights.dictionary, weights.dictionary)
    return TransformerModel.build_model(options, task)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Discards the line that fairseq prints for each labelled batch, because printing must not be measured."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


# ---- the weights -----------------------------------------------------------------------------------------------------


def grown_weights(size: Size, file: Path | None) -> Weights:
    """Trains a small model, or reads it from ``file`` if that exists, and grows it."""
    if file is not None and file.exists():
        state = checkpoints.load(file)
        require(
            state["cfg"]["training"] == size.training(),
            f"--weights {file} has a model of another size or training: give another file, or delete this one",
        )
        weights = Weights(state["cfg"]["model"], state["model"], dictionary(size.words))
    else:
        weights = train(size)
        if file is not None:
            cfg = {"model": weights.options, "training": size.training()}
            checkpoints.save({"args": None, "cfg": cfg, "model": weights.state}, file)
    return grow(weights, size)


def train(size: Size, seed: int = 1) -> Weights:
    """Trains fairseq's own model with its own loss and noise on the synthetic task."""
    torch.manual_seed(seed)
    vocabulary = dictionary(size.words)
    weights = Weights(levt_options(size), {}, vocabulary)
    system = fairseq_system(weights)
    favour_copying(system.model)
    optimizer = torch.optim.Adam(system.model.parameters(), lr=size.learning_rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, size.learning_rate, size.updates + 1, pct_start=0.2)
    system.model.train()
    for update in tqdm(range(size.updates), desc="training weights", disable=None):
        rows = sentences(size.sentences, size.words, seed=1000 + update)
        sample = copy_task(rows, vocabulary).collater([{"id": i, "source": r, "target": r} for i, r in enumerate(rows)])
        with silence():
            sample["prev_target"] = half_empty(system.task.inject_noise(sample["target"]), vocabulary)
            loss, _, _ = system.criterion(system.model, sample)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(system.model.parameters(), CLIP_NORM)
        optimizer.step()
        schedule.step()
    state = {name: value.detach().clone() for name, value in system.model.state_dict().items()}
    return Weights(weights.options, state, vocabulary)


def half_empty(tokens: Tensor, vocabulary: Dictionary) -> Tensor:
    """Makes every other row <s> </s>, the initial state of decoding, which fairseq's noise seldom draws."""
    tokens = tokens.clone()
    tokens[::2, 1] = vocabulary.eos()
    tokens[::2, 2:] = vocabulary.pad()
    return tokens


def favour_copying(model: Any) -> None:
    """Lets equal positions attend to each other and their values pass through, so that copying is learnt quickly."""
    positions = model.encoder.embed_positions.weight
    with torch.no_grad():
        positions.normal_()
        model.decoder.embed_positions.weight.copy_(positions)
        for layer in model.decoder.layers:
            attention = layer.encoder_attn
            attention.q_proj.weight.mul_(ATTENTION_SCALE)
            attention.k_proj.weight.copy_(attention.q_proj.weight)
            attention.out_proj.weight.copy_(attention.v_proj.weight.T)


def grow(weights: Weights, size: Size) -> Weights:
    """Repeats every channel ``size.widening`` times and adds blocks and words; the model must be pre-norm.

    The width of a head stays the same; the number of heads grows. Every weight that reads channels reads each of them
    as often as it is repeated and is divided by that, so activations do not change. Only the logits of the words
    grow, by the square root of the widening, because their table is also the input table, which fairseq scales by the
    square root of the width; the best word stays the best. New words are never written.
    """
    layers, factor = size.grown_layers or size.layers, size.widening
    words = size.grown_words or size.words
    widths = ("embed_dim", "ffn_embed_dim", "attention_heads", "input_dim", "output_dim")
    options = {
        name: value * factor if name.split("_", 1)[-1] in widths else value for name, value in weights.options.items()
    }
    options |= {"early_exit": ",".join([str(layers)] * 3), "encoder_layers": layers, "decoder_layers": layers}
    state = {name: widened(name, value, factor) for name, value in weights.state.items()}
    for name in state:
        if name.endswith(("embed_tokens.weight", "output_projection.weight")):
            state[name] = F.pad(state[name], (0, 0, 0, words - size.words))  # a row of zeros scores 0
    for name, value in list(state.items()):
        side, kind, *rest = name.split(".")
        if kind == "layers" and rest[0] == "0":  # new blocks copy the first one, but their sub-layers write zeros
            silent = any(part in rest for part in ("out_proj", "fc2"))
            for number in range(layers):
                new = ".".join([side, kind, str(number), *rest[1:]])
                state.setdefault(new, torch.zeros_like(value) if silent else value.clone())
    return Weights(options, state, dictionary(words))


def widened(name: str, value: Tensor, factor: int) -> Tensor:
    """Returns one weight of the widened model."""
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


def collated(rows: list[Tensor], dictionary: Dictionary, device: torch.device) -> dict[str, Any]:
    """Returns the ``net_input`` of a batch of sources."""
    return {
        "src_tokens": collate_tokens(rows, dictionary.pad(), left_pad=True).to(device),
        "src_lengths": torch.tensor([row.numel() for row in rows], device=device),
    }
