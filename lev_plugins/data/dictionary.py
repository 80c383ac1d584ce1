"""A dictionary that can print one symbol more than it holds: the placeholder."""

from __future__ import annotations

from typing import Any

from fairseq.data import Dictionary

PLACEHOLDER = "<plh>"


class EditingDictionary(Dictionary):
    """The index after the last word of the file is the placeholder of a model with a symbol of its own for it.

    It is no entry: files, lengths and vocabularies stay what ``fairseq-preprocess`` wrote, so an autoregressive
    model trained on the same data works with the same dictionary. Only a generation history ever prints it.
    The index is taken down when the file is read: ``fairseq-generate --remove-bpe`` adds the words of its
    output to the dictionary as it goes.
    """

    placeholder_index: int | None = None

    @classmethod
    def load(cls, *args: Any, **kwargs: Any) -> EditingDictionary:
        dictionary = super().load(*args, **kwargs)
        dictionary.placeholder_index = len(dictionary)
        return dictionary

    def __getitem__(self, index: int) -> str:
        return PLACEHOLDER if index == self.placeholder_index else super().__getitem__(index)
