"""Toy dictionaries, data and models that the tests share, and the slow references more than one of them needs."""

import gc
import os
import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from hypothesis import settings
from torch import Tensor
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from lev_plugins.correction.pbd import PBD, PBDConfig
from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.levt.config import LevTConfig
from lev_plugins.levt.criterion import DualPolicyConfig, DualPolicyCriterion
from lev_plugins.levt.dataset import RollIn, TextEditingDataset
from lev_plugins.levt.model import LevT, LevTOutput
from lev_plugins.levt.post_edit import PostEditTransformer
from lev_plugins.levt.task import TextEditingConfig, TextEditingTask
from lev_plugins.levt.words import Learning
from lev_plugins.noise import Corruption, NoiseOptions, build_corruption
from lev_plugins.training.encoder_decoder import EncoderDecoderConfig, both_sides

BOS, PAD, EOS, UNK = 0, 1, 2, 3
FIRST_WORD = 4
PLACEHOLDER = 99  # in tests that need no model

# kinds of noise
SAME_NUMBER = ["random", "insert", "delete", "substitute", "keyboard", "shift", "accent", "swap", "swap-words", "ocr"]
BUILT_IN = [*SAME_NUMBER, "run-on", "split"]

Refusal = Callable[..., str]  # the fixture of conftest.py
Run = Callable[..., tuple[int, bytes, str]]  # the fixture of unit/cli/conftest.py

# the same examples in every run, and no database of examples in the working folder
thorough = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def licensed_data(variable: str, folder: str) -> Path:
    """Returns a folder of separately licensed data: that of the variable, or one beside the checkout."""
    return Path(os.environ.get(variable, Path(__file__).resolve().parents[2] / "shared" / "data" / folder))


def part_of_fairseq(module: str) -> Any:
    """Imports a module that fairseq 0.12.2 of the package index lacks, or skips the test."""
    return pytest.importorskip(module, reason=f"this fairseq has no {module}", exc_type=ModuleNotFoundError)


needs_libnat = pytest.mark.skipif(find_spec("fairseq.libnat") is None, reason="this fairseq has no fairseq.libnat")


def file_contents(folder: Path) -> dict[str, bytes]:
    """Returns the contents of all files below a folder by their path in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mentions(message: str, words: str) -> bool:
    """Returns whether a message contains all words, such as a flag and its value."""
    return all(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|[.,]\d)", message) for word in words.split())


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def growth(action: Callable[[int], object], size: int) -> float:
    """Returns the processor time of an action at four times a size, relative to that at the size: 4 if it is linear.

    Each time is the minimum of three runs. On a busy machine, even that varies: what looks quadratic is measured again.
    """

    def seconds(number: int) -> float:
        start = time.process_time()
        action(number)
        return time.process_time() - start

    ratio = inf
    for _ in range(3):
        small, large = (min(seconds(number) for _ in range(3)) for number in (size, 4 * size))
        ratio = min(ratio, large / small)
        if ratio < 7:
            break
    return ratio


class Malicious:
    """Creates a folder when it is unpickled."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.folder),)


def rows_to_tensor(rows: list[list[int]]) -> Tensor:
    """Pads the rows on the right: (B, longest)."""
    width = max(len(row) for row in rows)
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def tensor_to_rows(tokens: Tensor) -> list[list[int]]:
    return [[token for token in row if token != PAD] for row in tokens.tolist()]


def toy_dictionary(words: int = 20) -> EditingDictionary:
    dictionary = EditingDictionary()
    for number in range(words):
        dictionary.add_symbol(f"w{number}")
    dictionary.placeholder_index = len(dictionary)
    return dictionary


def toy_task(source: Dictionary | None = None, target: Dictionary | None = None, **options: Any) -> TextEditingTask:
    source = source or toy_dictionary()
    cfg = TextEditingConfig(data=".", source_lang="source", target_lang="target", seed=1, required_seq_len_multiple=1)
    cfg.train_subset, cfg.dataset_impl = "train", None
    cfg.best_checkpoint_metric, cfg.maximize_best_checkpoint_metric = "loss", False
    for name, value in options.items():
        assert hasattr(cfg, name), name
        setattr(cfg, name, value)
    return TextEditingTask(cfg, source, target or source)


def toy_sizes() -> dict[str, Any]:
    """Returns the sizes of toy models: 16 wide, 2 + 2 blocks, no dropout."""
    small = both_sides(embed_dim=16, ffn_embed_dim=32, layers=2, attention_heads=2)
    return {**small, "max_source_positions": 64, "max_target_positions": 64, "dropout": 0.0}


def toy_config(**options: Any) -> LevTConfig:
    return LevTConfig(**{**toy_sizes(), "max_insertions": 8, **options})


def toy_post_editor(task: TextEditingTask | None = None, **options: Any) -> PostEditTransformer:
    torch.manual_seed(1)
    config = EncoderDecoderConfig(**{**toy_sizes(), **options})
    return PostEditTransformer.build_model(config, task or toy_task()).eval()


def toy_transformer(task: Any = None, seed: int = 1, **options: Any) -> TransformerModel:
    """Returns a Transformer of fairseq."""
    torch.manual_seed(seed)
    args = Namespace(**{**toy_sizes(), **options})
    base_architecture(args)
    return TransformerModel.build_model(args, task or toy_task()).eval()


def toy_model(task: TextEditingTask | None = None, seed: int = 1, **options: Any) -> LevT:
    torch.manual_seed(seed)
    return LevT.build_model(toy_config(**options), task or toy_task())


def lively_model(task: TextEditingTask | None = None, seed: int = 3, **options: Any) -> LevT:
    """Returns a model with random weights that edits for a varying number of iterations."""
    return livened(toy_model(task, seed, **{"max_insertions": 4, **options}).eval())


def livened(model: LevT) -> LevT:
    decoder = model.decoder
    direction = torch.nn.functional.normalize(torch.randn(decoder.deletion_head.in_features), dim=0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("proj.weight"):
                parameter.mul_(3)
        norms = [decoder.norm] if isinstance(decoder.norm, torch.nn.LayerNorm) else []
        for head, stack in decoder.sharing.items() if not norms else ():
            norms.append(decoder.stacks[stack][decoder.depths[head] - 1].ffn_residual.norm)
        for norm in {id(norm): norm for norm in norms}.values():
            norm.bias.add_(direction)
        decoder.deletion_head.weight[0] += 1.5 * direction
        decoder.placeholder_head.weight[0] += 0.3 * torch.cat([direction, direction])
    return model


def toy_pbd(task: Any = None, **options: Any) -> PBD:
    """Returns a PBD of 16 channels and 2 + 2 blocks without dropout, with weights that edit the source."""
    torch.manual_seed(1)
    small = {"embed_dim": 16, "ffn_embed_dim": 32, "layers": 2, "attention_heads": 2, "dropout": 0.0}
    positions = {"max_source_positions": 64, "max_target_positions": 64}
    model = PBD.build_model(PBDConfig(**{**small, **positions, **options}), task or toy_task()).eval()
    head = model.decoder.token_head
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("proj.weight", "segments.weight")):
                parameter.mul_(2)
        head.weight[EOS] *= 2  # so that outputs end somewhere
    return model


def assert_search_adds_up(model: Any, sources: Tensor, beam: int) -> None:
    """Asserts that the scores of beam search, which reorders caches at every step, are those of a forward pass."""
    generator = SequenceGenerator([model], toy_dictionary(), beam_size=beam, max_len_b=8)
    groups = generator.generate([model], {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}})
    for source, hypotheses in zip(sources, groups, strict=True):
        words = source[source.ne(PAD)][None]
        assert len(hypotheses) == beam
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"]
            decoder_input = torch.cat([tokens.new_tensor([EOS]), tokens[:-1]])[None]
            output = model(words, torch.tensor([words.size(1)]), decoder_input)
            expected = model.get_normalized_probs(output, log_probs=True)[0].gather(1, tokens[:, None])[:-1, 0]
            # the last may be forced
            torch.testing.assert_close(hypothesis["positional_scores"][:-1], expected, atol=1e-4, rtol=0)


@torch.no_grad()
def sentence_score(models: list[Any], source: list[int], text: list[int]) -> float:
    """Returns the log-probability of a text under the mean of left-to-right models, by teacher forcing."""
    previous = torch.tensor([[EOS, *text[:-1]]])
    probabilities = [
        model(torch.tensor([source]), torch.tensor([len(source)]), previous)[0][0].softmax(1) for model in models
    ]
    mean = torch.stack(probabilities).mean(0)
    return float(sum(mean[n, token].log() for n, token in enumerate(text)))


def left_padded(rows: list[list[int]]) -> Tensor:
    width = max(len(row) for row in rows)
    return torch.tensor([[PAD] * (width - len(row)) + row for row in rows])


def with_placeholders(tokens: Tensor, counts: Tensor, placeholder: int) -> Tensor:
    """Inserts ``counts`` placeholders into the slots of each row."""
    rows = []
    for row, numbers in zip(tensor_to_rows(tokens), counts.tolist(), strict=True):
        slots = zip(row[1:], numbers, strict=False)
        rows.append([row[0], *(symbol for token, n in slots for symbol in [*[placeholder] * n, token])])
    return rows_to_tensor(rows)


def random_rows(count: int, seed: int, shortest: int = 0, longest: int = 10) -> list[list[int]]:
    """Returns sentences with both boundaries and a random number of inner words."""
    random = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(count):
        length = int(torch.randint(shortest, longest + 1, (), generator=random))
        inner = torch.randint(FIRST_WORD, FIRST_WORD + 20, (length,), generator=random)
        rows.append([BOS, *inner.tolist(), EOS])
    return rows


def list_dataset(rows: list[list[int]]) -> ListDataset:
    return ListDataset([torch.tensor(row) for row in rows], [len(row) for row in rows])


def toy_pairs(
    sources: list[list[int]], targets: list[list[int]] | None, words: Dictionary | None = None, **options: Any
) -> LanguagePairDataset:
    """Returns pairs of rows that share one dictionary."""
    words = words or toy_dictionary()
    sides = [(list_dataset(rows), [len(row) for row in rows], words) for rows in (sources, targets) if rows is not None]
    return LanguagePairDataset(*[part for side in sides for part in side], **options)


def collated(dataset: Any, rows: Iterable[int] | None = None) -> dict[str, Any]:
    return dataset.collater([dataset[i] for i in (range(len(dataset)) if rows is None else rows)])


def toy_dataset(
    sources: list[list[int]],
    targets: list[list[int]] | None = None,
    drafts: list[list[int]] | None = None,
    rollin: RollIn | None = None,
    left_pad_source: bool = True,
    teacher_forcing: bool = False,
) -> TextEditingDataset:
    pair = toy_pairs(sources, targets, left_pad_source=left_pad_source)
    draft = list_dataset(drafts) if drafts is not None else None
    return TextEditingDataset(pair, draft, rollin, teacher_forcing=teacher_forcing)


def toy_batch(count: int = 6, seed: int = 1, drafts: bool = False) -> dict:
    """Returns a training batch of ``count`` random sentences."""
    sides = random_rows(count, seed, shortest=1), random_rows(count, seed + 1, shortest=2)
    drafted = random_rows(count, seed + 2) if drafts else None
    return collated(toy_dataset(*sides, drafted, RollIn(seed, alpha=0.5, beta=0.5)))


def run_model(model: LevT, batch: dict[str, Any], **options: Any) -> LevTOutput:
    return model(**batch["net_input"], learning=Learning(**options))


def toy_criterion(task: TextEditingTask | None = None, **options: Any) -> DualPolicyCriterion:
    plain = dict.fromkeys(("label_smoothing", "placeholder_label_smoothing", "deletion_label_smoothing"), 0.0)
    settings = {**plain, "deletion_rollin": "argmax", "loss_average": "counts", **options}
    return DualPolicyCriterion(DualPolicyConfig(**settings), task or toy_task())


def slow_alignment(tokens: list[int], target: list[int]) -> tuple[list[bool], list[bool]]:
    """Returns kept tokens and matched target tokens, computed cell by cell; ties: insert before delete before keep."""
    n, m = len(tokens), len(target)
    cost = [[i + j for j in range(m + 1)] for i in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i][j] = 1 + min(cost[i - 1][j], cost[i][j - 1])
            if tokens[i - 1] == target[j - 1]:
                cost[i][j] = min(cost[i][j], cost[i - 1][j - 1])
    kept_tokens, matched = [False] * n, [False] * m
    i, j = n, m
    while i or j:
        if j and cost[i][j] == cost[i][j - 1] + 1:
            j -= 1
        elif i and cost[i][j] == cost[i - 1][j] + 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            kept_tokens[i] = matched[j] = True
    return kept_tokens, matched


def epochs_of(dataset: Any, rows: Callable[[dict], list[list[int]]], workers: int) -> list[dict[int, list[int]]]:
    """Returns the rows of three epochs by sentence, as fairseq's loader passes them to a trainer."""
    batches = toy_task().get_batch_iterator(dataset, max_sentences=4, seed=1, num_workers=workers)
    epochs: list[dict[int, list[int]]] = []
    for _ in range(3):
        epochs.append({})
        for batch in batches.next_epoch_itr(shuffle=True):
            epochs[-1] |= dict(zip(batch["id"].tolist(), rows(batch), strict=True))
    # the garbage collector waits 5 s for each worker that still runs
    for loader in gc.get_objects():
        if isinstance(loader, _MultiProcessingDataLoaderIter):
            loader._shutdown_workers()
    return epochs


def noise(kind: str, word_rate: float | None = None, char_rate: float | None = None, **options: object) -> Corruption:
    return build_corruption(NoiseOptions(kind, word_rate, char_rate, **options))  # type: ignore[arg-type]
