"""The graph of an ``enct5``: texts -> the scores of their labels."""

import torch
from torch import Tensor

from lev_plugins.edits.embedding import WordFeatures
from lev_plugins.export.tracing import SIZES, SourceInputs, SpellingGraph, Traced, example, ngram_examples
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
        return answers_of(self.model(texts.words[0], **batch), self.model.spec.kind)


def enct5_graphs(model: EncT5) -> dict[str, Traced]:
    """Returns the graph of an enct5."""
    kind, texts = model.spec.kind, SourceInputs(example("1 B S"))
    if model.word_index is not None:
        texts = SourceInputs(example(f"{FEATURES} B S"), ngram_examples())
    batch = {"latents": example("B T"), "where": torch.arange(SIZES["n"])}
    if kind == "multilabel":
        batch["asked"] = example("n")
    if kind == "tagging":
        batch |= {name: example("B T") for name in ("decoder_segments", "latent_encdec_segments")}
        batch["encdec_segments"] = example("B S")
    axes = {"asked": {0: "L"}} if "asked" in batch else {}
    return {"label": Traced(Label(model), (texts, batch), ["scores"], axes)}
