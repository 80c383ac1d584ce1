"""The graph of an ``enct5``: texts -> the scores of their labels."""

import torch
from torch import Tensor

from lev_plugins.editor import names
from lev_plugins.export.tracing import SIZES, Inputs, SpellingGraph, Traced, example, ngram_examples
from lev_plugins.labelling.criterion import answers_of
from lev_plugins.labelling.model import EncT5


class Label(SpellingGraph):
    """Scores the labels of texts."""

    def __init__(self, model: EncT5, input_names: list[str]) -> None:
        """``input_names``: parameters of ``EncT5.forward``."""
        super().__init__(model.encoder.tokens)
        self.model, self.input_names = model, input_names

    def forward(self, words: Tensor, *inputs: Tensor) -> Tensor:
        """Returns the scores of features of texts (F, B, S) and further inputs; with --spelling, n-grams are last."""
        batch = dict(zip(self.input_names, inputs, strict=False))
        if self.model.word_index is not None:
            vectors = self.vectors(words, self.ngram_means(*inputs[len(self.input_names) :]))
            batch["words"] = self.table.look_up(words[0], vectors)
        return answers_of(self.model(words[0], **batch).logits, self.model.spec.kind)


def enct5_graphs(model: EncT5) -> dict[str, Traced]:
    """Returns the graph of an enct5."""
    kind, features = model.spec.kind, 1 if model.word_index is None else 4  # see ``WordFeatures``
    latents = SIZES["B"] * SIZES["T"]
    inputs: Inputs = {"latents": example("B T"), "where": (torch.arange(latents), {0: "n"})}
    if kind == "multilabel":
        inputs["asked"] = example("T")[0], {0: "L"}
    if kind == "tagging":
        inputs |= {name: example("B T") for name in ("decoder_segments", "latent_encdec_segments")}
        inputs["encdec_segments"] = example("B S")
    words = {names.WORDS: example(f"{features} B S")}
    label = Label(model, list(inputs))
    return {names.LABEL: Traced(label, {**words, **inputs, **ngram_examples(model)}, [names.SCORES])}
