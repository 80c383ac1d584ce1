"""A dictionary that can print one symbol more than it holds: the placeholder."""

from __future__ import annotations

from fairseq.data import Dictionary

PLACEHOLDER = "<plh>"


class EditingDictionary(Dictionary):
    """The index after the last word is the placeholder of a model with a symbol of its own for it.

    It is no entry: files, lengths and vocabularies stay what ``fairseq-preprocess`` wrote, so an autoregressive
    model trained on the same data works with the same dictionary. Only a generation history ever prints it.
    """

    def __getitem__(self, index: int) -> str:
        return PLACEHOLDER if index == len(self.symbols) else super().__getitem__(index)
