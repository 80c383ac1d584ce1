"""Dictionaries: one for both sides, and one that can print a symbol more than it holds, the placeholder."""

from __future__ import annotations

from typing import Any

from fairseq.data import Dictionary

from lev_plugins.errors import require

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


def require_one_dictionary(task: Any, what: str, instead: str) -> None:
    """``what`` needs source and target to have the same words; ``instead`` says how to do without."""
    require(
        task.source_dictionary == task.target_dictionary,
        f"{what} needs one dictionary for both sides, but dict.{task.cfg.source_lang}.txt and "
        f"dict.{task.cfg.target_lang}.txt differ: run fairseq-preprocess with --joined-dictionary, or {instead}",
    )
