"""Checkpoints behind the interface of an editor and a labeller: what the graphs of a model folder are compared with."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fairseq.data.data_utils import collate_tokens

from lev_plugins.editor.editor import Editor, form_of
from lev_plugins.editor.labeller import Labeller
from lev_plugins.editor.levt_segments import LevTSegments
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.editor.scorer import Scorer
from lev_plugins.editor.segments import SegmentDecoder
from lev_plugins.editor.seq2seq_segments import Seq2SeqSegments
from lev_plugins.edits.batch_words import look_up_words, with_pieces
from lev_plugins.edits.refinement import ALTERNATIVES, Sentence
from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.export.exporting import bpe_of
from lev_plugins.export.load_model import read_checkpoints
from lev_plugins.labelling.criterion import answers_of
from lev_plugins.labelling.examples import Example, ExampleEncoder
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingTask
from lev_plugins.levt.model import LevT
from lev_plugins.text.ids import Array, Rows, padded
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.training.batch import Batch, NetInput
from lev_plugins.training.scores import score_sentences
from lev_plugins.utils.model_folder import SEARCH_FLAGS


def set_up(model: SegmentDecoder, decoder: CheckpointDecoder, max_tokens: int, spells: bool = False) -> None:
    dictionaries = decoder.task.source_dictionary, decoder.task.target_dictionary
    SegmentDecoder.__init__(model, dictionaries, decoder.max_positions, max_tokens, spells)


class TorchLevT(LevTSegments):
    """Edits segments with a levt in torch."""

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int) -> None:
        set_up(self, decoder, max_tokens, decoder.task.word_index is not None)
        self.decoder, self.lexicon = decoder, decoder.task.lexicon
        self.keep_bias = decoder.generator.options.keep_bias

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        batch, lengths = self.batch(sources, unknown), [*map(len, sources)]
        words = batch.get("words")
        return self.decoder.generator.refine(batch["src_tokens"], lengths, drafts, marks, words, ALTERNATIVES)

    def batch(self, sources: Rows, unknown: list[str]) -> NetInput:
        index, batch = self.decoder.task.word_index, NetInput(src_tokens=torch.from_numpy(padded(sources)))
        if index is not None:
            batch["words"] = with_pieces(look_up_words(unknown, index), batch["src_tokens"], unknown, index)
        return batch


class TorchSeq2Seq(Seq2SeqSegments):
    """Edits segments with a model of ``text_correction`` in torch."""

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int) -> None:
        set_up(self, decoder, max_tokens)
        self.decoder = decoder

    def sample(self, sources: Rows) -> Batch:
        """Returns the sources as a batch of fairseq."""
        task = self.decoder.task
        pad, left_pad = task.source_dictionary.pad(), task.cfg.left_pad_source
        tokens = collate_tokens([torch.tensor(source) for source in sources], pad, left_pad=left_pad)
        return {"net_input": NetInput(src_tokens=tokens, src_lengths=tokens.ne(pad).sum(1))}

    def write(self, sources: Rows) -> Rows:
        decoder = self.decoder
        results = decoder.task.inference_step(decoder.generator, decoder.models, self.sample(sources))
        return [best["tokens"].tolist() for best, *_ in results]

    def score(self, sources: Rows, outputs: Rows) -> list[float]:
        rows = [torch.tensor(output) for output in outputs]
        words = self.decoder.task.target_dictionary
        hypotheses = score_sentences(self.decoder.models, self.sample(sources), rows, words)
        return [float(hypothesis["positional_scores"].sum()) for hypothesis in hypotheses]


class TorchScorer(Scorer):
    """Scores labels with a model in torch."""

    def __init__(self, task: TextLabellingTask, model: EncT5) -> None:
        self.task, self.model, self.info, self.labels = task, model.eval(), task.info, task.labels
        self.encoder = ExampleEncoder(task.info, task.info.tokeniser(task.folder), task.dictionary, task.labels)
        self.interaction = any("self_attn" in name for name, _ in model.decoder.named_modules())
        task.prepare_for_decoding([model])

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        dataset = self.task.dataset_of(examples)
        dataset.request = replace(dataset.request, labels=labels or dataset.request.labels)
        sample = dataset.collater([dataset[i] for i in range(len(dataset))])
        with torch.no_grad():
            scores = answers_of(self.model(**sample["net_input"]).float(), self.info.kind).numpy()
        order = sample["id"].tolist()  # rows with several examples have them in another order
        by_index = dict(zip(order, self.split_by_example(scores, [examples[i] for i in order]), strict=True))
        return [by_index[i] for i in range(len(examples))]


def editor_of(
    checkpoint: Path,
    data: Path,
    options: EditOptions = EditOptions(),
    bpe: Namespace | None = None,
) -> Editor:
    """Returns an editor that decodes a checkpoint, as fairseq-generate does with the same flags."""
    options.check()
    overrides = {**options.given("keep_bias"), "data": str(data)}
    decoder = CheckpointDecoder([checkpoint], overrides, options.given(*SEARCH_FLAGS), "cpu")
    kind: Any = TorchLevT if isinstance(decoder.models[0], LevT) else TorchSeq2Seq
    options.check_for(kind.task)
    model = kind(decoder, options.max_tokens)
    return Editor(model, Tokeniser(bpe_of(decoder.task, bpe)), options, form_of(model.words))


def labeller_of(checkpoint: Path, data: Path, options: LabelOptions = LabelOptions()) -> Labeller:
    """Returns a labeller that computes with a checkpoint."""
    loaded = read_checkpoints([checkpoint], {"pack": False, "data": str(data)})
    return Labeller(TorchScorer(loaded.task, loaded.models[0]), options)
