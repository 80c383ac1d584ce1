"""Edits and labels without torch and fairseq, by the graphs of a model folder."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lev_plugins import model_folder
from lev_plugins.data.labels.examples import Example, LabelRequest, collate
from lev_plugins.data.labels.folder import WORDS, LabellingInfo
from lev_plugins.edits.mark_bits import KEEP
from lev_plugins.edits.options import FAIRSEQ_FLAGS, TASK_FLAGS, RefinementOptions
from lev_plugins.errors import UserError, require
from lev_plugins.generators.refinement import Refiner, Sentence
from lev_plugins.inference.scorer import Scorer
from lev_plugins.inference.segments import RefinedSegments, WrittenSegments
from lev_plugins.model_folder import ModelConfig
from lev_plugins.onnx.beam_search import Writer
from lev_plugins.onnx.folder import LABEL, StoredIndex, Vocabulary
from lev_plugins.onnx.refinement import GraphPolicies, Graphs
from lev_plugins.onnx.session import Session
from lev_plugins.onnx.word_features import MeantBatch, SpeltBatch
from lev_plugins.ranges import check as check_ranges
from lev_plugins.text.ids import BOS, EOS, PAD, UNK, Rows, numbered

Made = TypeVar("Made")
TOGETHER = 256  # tokens of a batch: on one core, more only need more padding
FLAGS = FAIRSEQ_FLAGS | TASK_FLAGS


def editor_of(config: ModelConfig, flags: Collection[str]) -> type[LightRefinement] | type[LightWriting] | None:
    """Which of the classes below edits, with these flags of decoding; None: only torch can."""
    kind = LightRefinement if config.task == LightRefinement.task else LightWriting
    can = kind.flags >= set(flags) and config.task_flags.get("min_edit_confidence") is None
    return kind if can else None


def light(make: Callable[..., Made], folder: Path, *how: Any) -> Made:
    """One of the classes below, for a folder that may come from a stranger."""
    try:
        return make(folder, *how)
    except UserError:
        raise
    except Exception as error:  # whatever fails in trying out a model is a fault of the folder
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"{folder} cannot be loaded ({reason}): {model_folder.AGAIN}") from error


class LightRefinement(RefinedSegments):
    flags = FLAGS.keys()

    def __init__(self, folder: Path, config: ModelConfig, flags: dict[str, Any], bits: int, max_tokens: int):
        """``flags``: some of ``FLAGS``."""
        check_ranges(Namespace(**flags))
        model: dict[str, Any] = config.model_flags
        spells = bool(model.get("spelling"))  # older checkpoints lack the flag
        super().__init__(*dictionaries_of(folder, config), min(max_tokens, TOGETHER), spells)
        placeholder = self.words.size if model["placeholder"] == "plh" else UNK
        every: dict[str, Any] = {**config.task_flags, **flags}
        options = RefinementOptions(**{FLAGS[name]: value for name, value in every.items() if name in FLAGS})
        self.graphs = Graphs(folder, bits, self.words.size, placeholder)
        self.spelt = StoredIndex(self.words, folder, config) if spells else None
        self.refiner = Refiner(replace(options, max_iter=0), placeholder, model["max_target_positions"])
        last = self.words.size - 1
        draft, marks = [BOS, last, placeholder, EOS], [0, KEEP, KEEP, 0]
        self.refine([[BOS, self.source.size - 1, EOS]], [draft], [marks], [])  # each graph, with the last of the words
        self.refiner = Refiner(options, placeholder, model["max_target_positions"])

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        policies = GraphPolicies(self.graphs, sources, None if self.spelt is None else MeantBatch(self.spelt, unknown))
        return self.refiner.refine(policies, map(len, sources), drafts, marks)


class LightWriting(WrittenSegments):
    flags = {"beam", "keep_bias"}

    def __init__(self, folder: Path, config: ModelConfig, flags: dict[str, Any], bits: int, max_tokens: int):
        check_ranges(Namespace(**flags))
        super().__init__(*dictionaries_of(folder, config), min(max_tokens, TOGETHER))
        model: dict[str, Any] = config.model_flags
        self.writer = Writer(folder, bits, 2, **flags)
        source = [[self.source.size - 1, EOS]]
        self.written(source)  # each graph, with the last of the words
        self.scored(source, [[self.words.size - 1, EOS]])
        self.writer.positions = model["max_target_positions"]

    def written(self, sources: Rows) -> Rows:
        return self.writer.write(sources, [[self.words.index(self.source[word]) for word in row] for row in sources])

    def scored(self, sources: Rows, outputs: Rows) -> list[float]:
        return self.writer.score(sources, outputs)


def dictionaries_of(folder: Path, config: ModelConfig) -> tuple[tuple[Vocabulary, Vocabulary], list[int]]:
    """The dictionaries and positions of source and target."""
    names = [f"dict.{config.task_flags[side]}.txt" for side in ("source_lang", "target_lang")]
    for name in names:
        model_folder.require_listed(config, folder, name)
    words = Vocabulary(folder / names[1])
    source = words if config.files[names[0]] == config.files[names[1]] else Vocabulary(folder / names[0])
    sides = ("max_source_positions", "max_target_positions")
    model: dict[str, Any] = config.model_flags
    task: dict[str, Any] = config.task_flags
    return (source, words), [min(model[side], task[side]) for side in sides]


class LightScorer(Scorer):
    def __init__(self, folder: Path, config: ModelConfig, bits: int):
        info, words, flags = LabellingInfo.of(config, folder), Vocabulary(folder / WORDS), config.model_flags
        super().__init__(info, words, info.labels(folder), folder)
        self.label, self.first = Session(folder, LABEL, bits), words.size + 1
        self.spelt = StoredIndex(words, folder, config) if flags.get("spelling") else None
        every = tuple(range(len(self.labels or ()))) if info.kind == "multilabel" else ()
        self.request = LabelRequest(info.kind, every, bool(every) and flags["latents"] == "label")
        asked_together = not flags["no_label_interaction"] and flags.get("pool", "no") == "no"
        self.interaction = self.request.latent_per_label and asked_together and len(every) > 1
        (scores,) = self.scores([Example("", [words.size - 1, EOS], [], [1])])  # with the last of the words
        fits = scores.shape[-1:] == (() if self.labels is None else (len(self.labels),))
        require(fits, f"{self.label.path} does not give a score to each label: {model_folder.AGAIN}")

    def batch(self, examples: list[Example], asked: tuple[int, ...]) -> list[Any]:
        request, unknown, groups = self.request, dict[str, int](), dict[str, Any]()
        if self.spelt is not None:
            examples = [replace(e, tokens=numbered(e.tokens, e.unknown, unknown, self.first)) for e in examples]
        request = replace(request, labels=asked) if asked else request
        given = collate(examples, [[i] for i in range(len(examples))], request, PAD, packed=False)
        tokens = given.pop("src_tokens")
        words = tokens[None]
        if self.spelt is not None:
            batch = SpeltBatch(self.spelt, list(unknown))
            words, groups = batch.read(tokens), batch.groups
        return self.apart(self.label(words=words, **groups, **given)[0], examples)
