"""Lines that are typed at the prompt of ``fairseq-interactive``: ``source`` or ``source<TAB>draft``.

Of a batch, fairseq hands on two tensors: the sources, and as ``constraints`` what follows the TABs, here the drafts. It
prints hypotheses when it has decoded a whole buffer of lines, from ids alone. So the target's dictionary learns the
unknown words of the lines (``EditingDictionary.learn``), and their ids are the same in all batches. ``typed_batch``
turns the two tensors into the batch that binarised files with the same lines would give.

Shapes: B batch, S source length, N length of the drafts.
"""

from collections.abc import Iterable

import torch
from fairseq import utils
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from torch import Tensor

from lev_plugins.edits.batch_words import EditingDictionary, SpeltRow
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.levt.dataset import TextEditingDataset
from lev_plugins.levt.notes import refuse_marks
from lev_plugins.text.ids import BOS, PAD, UNK
from lev_plugins.training.batch import Batch
from lev_plugins.utils.errors import require


def split_line(line: str) -> tuple[str, str]:
    """Splits a line at its TAB into source and draft, which is empty if there is no TAB.

    >>> split_line("ein Haus\\ta hose "), split_line("ein Haus")
    (('ein Haus', 'a hose'), ('ein Haus', ''))
    """
    source, *drafts = line.split("\t")
    require(
        len(drafts) <= 1,
        f"an input line must be `source` or `source<TAB>draft`, but this one has {len(drafts)} TABs: {line!r}",
    )
    return source.strip(), refuse_marks("".join(drafts), "typed drafts", "use lev-plugins edit").strip()


def typed_row(words: Iterable[str], dictionary: EditingDictionary) -> Tensor:
    """Returns the ids of words and of </s>; the dictionary learns those that it lacks.

    >>> dictionary = EditingDictionary()
    >>> ids = typed_row(["Zürich", "</s>", "Zürich"], dictionary)
    >>> ids, spelt_row(ids, dictionary)[:2]
    (tensor([5, 6, 5, 2]), (tensor([3, 3, 3, 2]), ['Zürich', '</s>', 'Zürich']))
    """
    row = dictionary.draft(words)
    learned = iter(dictionary.learn(row.unknown))
    return torch.tensor([next(learned) if i == UNK else i for i in row.ids[1:].tolist()])


def spelt_row(ids: Tensor, dictionary: EditingDictionary) -> SpeltRow:
    """Returns a text with <unk> for the words that the dictionary has learned, and their spelling."""
    return SpeltRow(dictionary.unknown_to_unk(ids), [dictionary[i] for i in ids.tolist() if i > dictionary.size])


def typed_batch(
    src_tokens: Tensor,
    drafts: Tensor | None,
    src_dict: Dictionary,
    tgt_dict: EditingDictionary,
    left_pad_source: bool = True,
    index: WordIndex | None = None,
) -> Batch:
    """Returns the batch of typed lines, on the device of ``src_tokens``.

    Args:
        src_tokens: the sources (B, S), padded on either side
        drafts: the drafts (B, N) without <s>, padded with 0, as fairseq does; None: there are none
        src_dict: the dictionary of the sources
        tgt_dict: the dictionary of the drafts
        left_pad_source: on which side sources are padded in the batch
        index: the words of the dictionary, for models that spell
    """
    sources = [row[row != PAD] for row in src_tokens.cpu()]
    texts = sources if index is None else [spelt_row(row, tgt_dict) for row in sources]
    lengths = [len(row) for row in sources]
    pair = LanguagePairDataset(texts, lengths, src_dict, tgt_dict=tgt_dict, left_pad_source=left_pad_source)
    rows = None
    if drafts is not None:
        bos = torch.tensor([BOS])
        rows = [spelt_row(torch.cat([bos, row[row != 0]]), tgt_dict) for row in drafts.cpu()]
    drafted = rows and ListDataset(rows, [len(row.ids) for row in rows])
    dataset = TextEditingDataset(pair, drafted, index=index)
    return utils.move_to_cuda(dataset.collater([dataset[i] for i in range(len(dataset))]), src_tokens.device)
