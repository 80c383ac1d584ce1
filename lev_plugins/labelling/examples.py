"""Texts to label as the inputs of an EncT5: ids and latents; without torch and fairseq.

Shapes: B rows, S source length, T latents of a row; n counts examples, or words for tagging.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lev_plugins.labelling.folder import LabellingInfo
from lev_plugins.labelling.text import Labels, number_of
from lev_plugins.text.ids import EOS, UNK, TokenDictionary, ids_of
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils.errors import require


@dataclass
class Example:
    """A text as ids, with its labels."""

    where: str  # for messages: "FILE, line N", or "PART INDEX" of a prepared folder
    tokens: list[int]  # ending with </s>
    labels: list[int] | list[float]
    spans: list[int] = field(default_factory=list)  # tagging: the number of pieces of each word
    cut: bool = False  # whether the text was cut off
    unknown: list[str] = field(default_factory=list)  # spelling of each <unk> in ``tokens``


def tokenised_row(texts: list[str], info: LabellingInfo, tokeniser: Tokeniser) -> list[list[str]]:
    """Returns the pieces of each word (tagging), of each column, or of the text that a template makes of the columns.

    >>> tokenised_row(["a b", "c"], LabellingInfo("classification", 2), Tokeniser(None))
    [['a', 'b'], ['c']]
    >>> tokenised_row(["a b", "c"], LabellingInfo("classification", 2, template="{1} {0}"), Tokeniser(None))
    [['c', 'a', 'b']]
    """
    if info.kind == "tagging":
        return tokeniser.words(texts)
    if info.template is not None:
        texts = [info.template.format(*texts)]
    return [tokeniser.pieces(text) for text in texts]


class ExampleEncoder:
    """Turns rows into examples, for preparing a folder and for labelling new text alike."""

    def __init__(
        self, info: LabellingInfo, tokeniser: Tokeniser, dictionary: TokenDictionary, labels: Labels | None
    ) -> None:
        self.info, self.tokeniser, self.dictionary, self.labels = info, tokeniser, dictionary, labels

    def examples(self, texts: list[str], labels: list[str], where: str) -> list[Example]:
        """Returns one example, or several for a text to be tagged that is too long."""
        ids = [self._id_of(label, where) for label in labels]
        pieces_of_texts, longest = tokenised_row(texts, self.info, self.tokeniser), self.info.longest
        if self.info.kind == "tagging":
            spans = [len(pieces) for pieces in pieces_of_texts]
            too_long = next((word for word, span in zip(texts, spans, strict=True) if span >= longest), None)
            require(
                too_long is None,
                f"{where}: the word {str(too_long)[:40]!r} alone has more pieces than --longest {longest} allows",
            )
            examples = []
            for a, b in runs_within(longest - 1, spans):
                tokens, unknown = self._encode([[piece for word in pieces_of_texts[a:b] for piece in word]])
                examples.append(Example(where, tokens, ids[a:b], spans[a:b], unknown=unknown))
            return examples
        tokens, unknown = self._encode(pieces_of_texts)
        if len(tokens) <= longest:
            return [Example(where, tokens, ids, unknown=unknown)]
        require(
            self.info.longer == "cut",
            f"{where} has {len(tokens):,} tokens, including </s>, but --longest of prepare-labels is {longest:,}: "
            "shorten it, or prepare labels with a larger --longest, or with --longer cut, which cuts off such texts",
        )
        tokens = [*tokens[: longest - 1], EOS]
        return [Example(where, tokens, ids, cut=True, unknown=unknown[: tokens.count(UNK)])]

    def _id_of(self, label: str, where: str) -> float:
        """Returns the id of a label, or the number that a label of a regression is."""
        return number_of(label, where) if self.labels is None else self.labels.id_of(label, where)

    def _encode(self, texts: list[list[str]]) -> tuple[list[int], list[str]]:
        """Returns the ids of some texts, each with </s>, and the pieces that are <unk>."""
        ids = [[*ids_of(pieces, self.dictionary), EOS] for pieces in texts]
        pairs = [pair for pieces, row in zip(texts, ids, strict=True) for pair in zip(pieces, row, strict=False)]
        return [i for row in ids for i in row], [piece for piece, i in pairs if i == UNK]


def runs_within(room: float, spans: Sequence[int], max_spans: int | None = None) -> list[tuple[int, int]]:
    """Cuts ``spans`` into runs that fit into ``room``, each of at most ``max_spans``; returns their starts and ends.

    A span that is too long is a run of its own.

    >>> runs_within(4, [2, 1, 3, 1])
    [(0, 2), (2, 4)]
    """
    runs, start, used = [], 0, 0
    for i, span in enumerate(spans):
        if i > start and (used + span > room or i - start == max_spans):
            runs.append((start, i))
            start, used = i, 0
        used += span
    return [*runs, (start, len(spans))]


# ---- batches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelRequest:
    """Which labels the model predicts for each example, and by how many latents."""

    kind: str
    labels: tuple[int, ...] = ()  # multilabel: ids of the labels of interest
    latent_per_label: bool = False  # ... each with its own latent

    def latents(self, example: Example) -> list[int]:
        """Returns the inputs of the decoder, ``decoder_input_tokens`` in the paper.

        >>> LabelRequest("multilabel", (0, 2), True).latents(Example("", [5, 2], []))
        [0, 2]
        >>> LabelRequest("tagging").latents(Example("", [5, 6, 7, 2], [], spans=[2, 1]))
        [0, 0]
        """
        if self.kind == "tagging":
            return [0] * len(example.spans)
        return list(self.labels) if self.latent_per_label else [0]


def first_fit(lengths: Sequence[int], width: int) -> list[list[int]]:
    """Returns the examples of each row of ``width`` tokens: longest first, each in the first row with enough room.

    >>> first_fit([3, 9, 4, 2, 1], width=8)
    [[1], [2, 0, 4], [3]]
    """
    rows: list[list[int]] = []
    room: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        row = next((r for r, free in enumerate(room) if free >= lengths[i]), None)
        if row is None:
            row = len(rows)
            rows.append([])
            room.append(width)
        rows[row].append(i)
        room[row] -= lengths[i]
    return rows


def collate(
    examples: list[Example], rows: list[list[int]], request: LabelRequest, pad: int, packed: bool
) -> dict[str, NDArray[np.int64]]:
    """Returns the arguments of ``EncT5.forward`` except ``words``; ``rows`` lists the examples in each row.

    Segments number the examples, or words, of a row from 1. 0 is padding, or </s> in ``encdec_segments``. Those that no
    mask needs are left out: ``encoder_segments`` unless rows are packed, those of words except in tagging, and
    ``decoder_segments`` if rows are neither packed nor, in tagging, of different numbers of words.
    """
    latents_of = {i: request.latents(example) for i, example in enumerate(examples)}
    width = max(sum(len(examples[i].tokens) for i in row) for row in rows)
    latents_of_row = max(sum(len(latents_of[i]) for i in row) for row in rows)
    tokens = np.full((len(rows), width), pad, dtype=np.int64)  # (B, S)
    segments, spans = np.zeros_like(tokens), np.zeros_like(tokens)
    latents = np.zeros((len(rows), latents_of_row), dtype=np.int64)  # (B, T)
    latent_segments, latent_spans = np.zeros_like(latents), np.zeros_like(latents)
    for r, row in enumerate(rows):
        at = latent_at = 0
        for number, i in enumerate(row, 1):
            example, end, latent_end = examples[i], at + len(examples[i].tokens), latent_at + len(latents_of[i])
            tokens[r, at:end] = example.tokens
            segments[r, at:end] = number
            latents[r, latent_at:latent_end] = latents_of[i]
            latent_segments[r, latent_at:latent_end] = number
            if request.kind == "tagging":  # words are numbered along the row; </s> belongs to no word
                words = np.arange(latent_at + 1, latent_end + 1)
                spans[r, at : end - 1] = np.repeat(words, example.spans)
                latent_spans[r, latent_at:latent_end] = words
            at, latent_at = end, latent_end
    batch = {"src_tokens": tokens, "latents": latents, "where": latent_segments.reshape(-1).nonzero()[0]}
    if packed:
        batch["encoder_segments"] = segments
    if packed or request.kind == "tagging":
        batch["decoder_segments"] = latent_segments
    if request.kind == "tagging":
        batch |= {"encdec_segments": spans, "latent_encdec_segments": latent_spans}
    if request.labels:
        batch["asked"] = np.array(request.labels)
    return batch
