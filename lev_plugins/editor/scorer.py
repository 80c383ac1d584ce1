"""Scores of labels with the graph of an enct5."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lev_plugins.editor.folder import StoredIndex, Vocabulary
from lev_plugins.editor.options import LabelOptions
from lev_plugins.editor.session import Session
from lev_plugins.editor.word_features import NgramFeatures
from lev_plugins.labelling.examples import Example, ExampleEncoder, LabelRequest, collate
from lev_plugins.labelling.folder import WORDS, LabellingInfo
from lev_plugins.text.ids import EOS, PAD, Array, with_unknown_ids
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import ModelConfig

BATCH = 32  # examples


class Scorer:
    """Scores the labels of examples: (labels,), (words, tags), or the number of a regression for each example."""

    def __init__(self, folder: Path, config: ModelConfig, options: LabelOptions) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        options: settings of computation
        """
        self.info, self.words, flags = LabellingInfo.of(config, folder), Vocabulary(folder / WORDS), config.model_flags
        self.labels = self.info.labels(folder)
        self.encoder = ExampleEncoder(self.info, self.info.tokeniser(folder), self.words, self.labels)
        self.graph = Session(folder, "label", options.bits, options.device)
        self.index = StoredIndex(self.words, folder, config) if flags.get("spelling") else None
        label_ids = tuple(range(len(self.labels or ()))) if self.info.kind == "multilabel" else ()
        self.request = LabelRequest(self.info.kind, label_ids, bool(label_ids) and flags.get("latents") == "label")
        # whether the score of a label depends on which others are scored: latents attend to each other in the decoder
        has_self_attention = not flags.get("no_label_interaction") and flags.get("pool", "no") == "no"
        self.interaction = self.request.latent_per_label and has_self_attention and len(label_ids) > 1

    def try_out(self) -> None:
        """Runs the graph once, with the last word of the dictionary."""
        (scores,) = self.scores([Example("", [self.words.size - 1, EOS], [], [1])])
        has_score_per_label = scores.shape[-1:] == (() if self.labels is None else (len(self.labels),))
        require(has_score_per_label, f"{self.graph.path} does not give a score to each label: {model_folder.AGAIN}")

    def scores(self, examples: Sequence[Example], labels: tuple[int, ...] = (), size: int = BATCH) -> list[Array]:
        """Returns the scores of each example.

        examples: texts to label
        labels: the ids of the labels to score; (): all
        size: the number of examples that are scored together
        """
        lengths = [len(example.tokens) for example in examples]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        scores: dict[int, Array] = {}
        for start in range(0, len(order), size):
            indices = order[start : start + size]
            scores |= zip(indices, self.batch([examples[i] for i in indices], labels), strict=True)
        return [scores[i] for i in range(len(lengths))]

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        """Scores examples together."""
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
        rows = sum(len(example.spans) for example in examples) if self.info.kind == "tagging" else len(examples)
        return self.split_by_example(self.graph(inputs, rows)[0], examples)

    def split_by_example(self, scores: Array, examples: list[Example]) -> list[Array]:
        """Splits the scores of a batch into one array per example."""
        if self.info.kind != "tagging":
            return list(scores)
        return np.split(scores, np.cumsum([len(example.spans) for example in examples])[:-1])
