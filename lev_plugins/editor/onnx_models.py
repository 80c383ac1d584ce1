"""Models that edit or label with the graphs of a model folder, without torch and fairseq."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lev_plugins.editor.beam_search import BeamSearch
from lev_plugins.editor.folder import StoredIndex, Vocabulary, whole_number
from lev_plugins.editor.onnx_refinement import GraphPolicies, Graphs
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.scorer import Scorer
from lev_plugins.editor.segments import LevTSegments, Seq2SeqSegments
from lev_plugins.editor.session import Session
from lev_plugins.editor.word_features import IntendedWordFeatures, NgramFeatures
from lev_plugins.edits.options import FAIRSEQ_FLAGS, REFINEMENT_TASK_FLAGS, RefinementOptions
from lev_plugins.edits.refinement import Refiner, Sentence
from lev_plugins.labelling.examples import Example, LabelRequest, collate
from lev_plugins.labelling.folder import WORDS, LabellingInfo
from lev_plugins.text.ids import BOS, EOS, PAD, UNK, Array, Rows, padded, with_unknown_ids
from lev_plugins.text.mark_bits import KEEP
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import SEARCH_FLAGS, ModelConfig
from lev_plugins.utils.ranges import check_ranges

# tokens in a batch at most, even if ``max_tokens`` of the options is larger: one core takes as long for a larger batch,
# which only needs more padding
BATCH_TOKENS = 256
REFINEMENT_FLAGS = FAIRSEQ_FLAGS | REFINEMENT_TASK_FLAGS
BEAM_SEARCH_FLAGS = {"beam", "keep_bias"}
Model = TypeVar("Model", bound="OnnxLevT | OnnxSeq2Seq | OnnxScorer")


def load_onnx_editor(folder: Path, config: ModelConfig, options: EditOptions) -> OnnxLevT | OnnxSeq2Seq | None:
    """Loads the graphs of an editor; None: its settings need torch."""
    flags = {**options.given("keep_bias", *SEARCH_FLAGS), **options.task_flags, **options.search_flags}
    is_levt = config.task == OnnxLevT.task
    supported = flags.keys() <= (REFINEMENT_FLAGS.keys() if is_levt else BEAM_SEARCH_FLAGS)
    if not supported or config.task_flags.get("min_edit_confidence") is not None:
        return None
    kind = OnnxLevT if is_levt else OnnxSeq2Seq
    return tried(kind(folder, config, flags, options), folder)


def tried(model: Model, folder: Path) -> Model:
    """Returns a model after all its graphs have run once: what fails is a fault of the folder, which may be hostile."""
    try:
        model.try_out()
    except UserError:
        raise
    except (IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UserError(f"the graphs in {folder} do not fit its model ({reason}): {model_folder.AGAIN}") from error
    return model


class OnnxLevT(LevTSegments):
    """Edits segments with the graphs of a levt."""

    source: Vocabulary
    words: Vocabulary

    def __init__(self, folder: Path, config: ModelConfig, flags: Mapping[str, object], options: EditOptions) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        flags: settings of decoding, some of ``REFINEMENT_FLAGS``
        options: the size of a batch, and the bits of the products of the graphs
        """
        settings = {name: value for name, value in {**config.task_flags, **flags}.items() if name in REFINEMENT_FLAGS}
        check_ranges(Namespace(**settings))
        spells = bool(config.model_flags.get("spelling"))  # older checkpoints lack the flag
        super().__init__(*dictionaries_of(folder, config), min(options.max_tokens, BATCH_TOKENS), spells)
        self.placeholder = self.words.size if config.model_flags.get("placeholder") == "plh" else UNK
        self.index = StoredIndex(self.words, folder, config) if spells else None
        self.graphs = Graphs(folder, options.bits, self.words.size, self.placeholder)
        refinement: dict[str, Any] = {REFINEMENT_FLAGS[name]: value for name, value in settings.items()}
        positions = whole_number(config.model_flags, "max_target_positions")
        self.refiner = Refiner(RefinementOptions(**refinement), self.placeholder, positions)

    def try_out(self) -> None:
        """Runs each graph once, with the last word of each dictionary."""
        refiner = Refiner(replace(self.refiner.options, max_iter=0), self.placeholder, self.refiner.max_tokens)
        draft, marks = [BOS, self.words.size - 1, self.placeholder, EOS], [0, KEEP, KEEP, 0]
        refiner.refine(self.policies([[BOS, self.source.size - 1, EOS]], []), [3], [draft], [marks])

    def policies(self, sources: Rows, unknown: list[str]) -> GraphPolicies:
        spelling = None if self.index is None else IntendedWordFeatures(self.index, unknown)
        return GraphPolicies(self.graphs, sources, spelling)

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        return self.refiner.refine(self.policies(sources, unknown), map(len, sources), drafts, marks)


class OnnxSeq2Seq(Seq2SeqSegments):
    """Edits segments with the graphs of a model of ``text_correction``."""

    source: Vocabulary
    words: Vocabulary

    def __init__(self, folder: Path, config: ModelConfig, flags: Mapping[str, object], options: EditOptions) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        flags: settings of decoding, some of ``BEAM_SEARCH_FLAGS``
        options: the size of a batch, and the bits of the products of the graphs
        """
        check_ranges(Namespace(**flags))
        super().__init__(*dictionaries_of(folder, config), min(options.max_tokens, BATCH_TOKENS))
        settings: dict[str, Any] = {**flags}
        positions = whole_number(config.model_flags, "max_target_positions")
        self.search = BeamSearch(folder, options.bits, positions, **settings)
        self.scorer = Session(folder, "score", options.bits)

    def try_out(self) -> None:
        """Runs each graph once, with the last word of each dictionary."""
        source = [[self.source.size - 1, EOS]]
        self.search.write(source, self.copies(source), longest=1)
        self.score(source, [[self.words.size - 1, EOS]])

    def copies(self, sources: Rows) -> Rows:
        """Returns the sources in ids of the target dictionary."""
        return [[self.words.index(self.source[word]) for word in source] for source in sources]

    def write(self, sources: Rows) -> Rows:
        return self.search.write(sources, self.copies(sources))

    def score(self, sources: Rows, outputs: Rows) -> list[float]:
        return self.scorer({"words": padded(sources), "texts": padded(outputs)})[0].tolist()


def dictionaries_of(folder: Path, config: ModelConfig) -> tuple[tuple[Vocabulary, Vocabulary], list[int]]:
    """Reads the dictionaries of source and target, and how many positions each side may have."""
    files = [f"dict.{config.task_flags.get(side)}.txt" for side in ("source_lang", "target_lang")]
    if config.model_flags.get("spelling") and files[0] not in config.files:  # both sides then have the same words
        files[0] = files[1]
    for file in files:
        model_folder.require_listed(config, folder, file)
    words = Vocabulary(folder / files[1])
    source = words if config.files[files[0]] == config.files[files[1]] else Vocabulary(folder / files[0])
    limits = ("max_source_positions", "max_target_positions")
    return (source, words), [
        min(whole_number(flags, name) for flags in (config.model_flags, config.task_flags)) for name in limits
    ]


class OnnxScorer(Scorer):
    """Scores labels with the graph of an enct5."""

    def __init__(self, folder: Path, config: ModelConfig, bits: int) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        bits: those of the products of the graph, 32 or 8
        """
        info, words, flags = LabellingInfo.of(config, folder), Vocabulary(folder / WORDS), config.model_flags
        super().__init__(info, words, info.labels(folder), folder)
        self.graph, self.words = Session(folder, "label", bits), words
        self.index = StoredIndex(words, folder, config) if flags.get("spelling") else None
        every = tuple(range(len(self.labels or ()))) if info.kind == "multilabel" else ()
        self.request = LabelRequest(info.kind, every, bool(every) and flags.get("latents") == "label")
        attends = not flags.get("no_label_interaction") and flags.get("pool", "no") == "no"
        self.interaction = self.request.latent_per_label and attends and len(every) > 1

    def try_out(self) -> None:
        """Runs the graph once, with the last word of the dictionary."""
        (scores,) = self.scores([Example("", [self.words.size - 1, EOS], [], [1])])
        has_score_per_label = scores.shape[-1:] == (() if self.labels is None else (len(self.labels),))
        require(has_score_per_label, f"{self.graph.path} does not give a score to each label: {model_folder.AGAIN}")

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        unknown, offset = dict[str, int](), self.words.size + 1
        if self.index is not None:
            examples = [replace(e, tokens=with_unknown_ids(e.tokens, e.unknown, unknown, offset)) for e in examples]
        request = replace(self.request, labels=labels) if labels else self.request
        inputs = collate(examples, [[i] for i in range(len(examples))], request, PAD, packed=False)
        tokens = inputs.pop("src_tokens")
        if self.index is None:
            inputs["words"] = tokens[None]
        else:
            spelling = NgramFeatures(self.index, list(unknown))
            inputs |= {"words": spelling.read(tokens), **spelling.ngrams}
        return self.split_by_example(self.graph(inputs)[0], examples)
