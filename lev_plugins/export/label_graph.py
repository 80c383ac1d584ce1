"""The graph of an ``enct5``: texts -> the scores of their labels."""

from collections.abc import Mapping

import torch
from torch import Tensor

from lev_plugins.edits.embedding import WordFeatures
from lev_plugins.export.tracing import (
    LARGER_SIZES,
    SIZES,
    Groups,
    Ngrams,
    SourceInputs,
    SpellingGraph,
    Traced,
    example,
)
from lev_plugins.labelling.criterion import answers_of
from lev_plugins.labelling.model import EncT5

FEATURES = 4  # the fields of ``WordFeatures`` that an ``NgramEmbedding`` has


class Label(SpellingGraph):
    """Scores the labels of texts."""

    def __init__(self, model: EncT5) -> None:
        super().__init__(model.encoder.tokens)
        self.model = model

    def forward(self, texts: SourceInputs, batch: dict[str, Tensor]) -> Tensor:
        """Returns the scores of texts; ``batch``: the other parameters of ``EncT5.forward``."""
        if texts.ngrams is not None:
            vector_of = self.vectors(self.ngram_means(texts.ngrams)).vector_of
            batch = {**batch, "words": self.table.combine(WordFeatures(*texts.words.unbind(0)), vector_of)}
        return answers_of(self.model(texts.words[0], **batch).logits, self.model.spec.kind)


def enct5_graphs(model: EncT5) -> dict[str, Traced]:
    """Returns the graph of an enct5."""
    inputs, larger_inputs = (example_inputs(model, sizes) for sizes in (SIZES, LARGER_SIZES))
    return {"label": Traced(Label(model), inputs, larger_inputs, ["scores"])}


def example_inputs(model: EncT5, sizes: Mapping[str, int]) -> Groups:
    kind, latents = model.spec.kind, sizes["B"] * sizes["T"]
    batch = {"latents": example("B T", sizes), "where": torch.arange(latents)}
    if kind == "multilabel":
        batch["asked"] = torch.zeros(latents, dtype=torch.long)
    if kind == "tagging":
        batch |= {name: example("B T", sizes) for name in ("decoder_segments", "latent_encdec_segments")}
        batch["encdec_segments"] = example("B S", sizes)
    if model.word_index is None:
        return SourceInputs(example("1 B S", sizes)), batch
    return SourceInputs(example(f"{FEATURES} B S", sizes), Ngrams.example(sizes)), batch
